// What the engine does when nobody waits: refreshing and auditing.
#include "engine_internal.h"
#include "larder/cache/compare.h"

namespace larder {

void Engine::refresh(const Call& call, const EntryPtr& entry) noexcept try {
  if (entry->refreshing.exchange(true, std::memory_order_relaxed)) return;
  std::shared_ptr<Call> later = call.detach();
  const bool posted = later && executor_.post([this, later, entry] {
    bool stored = false;
    try {
      stored = refreshNow(*later);
    } catch (...) {  // the stale value is served as long as it may
    }
    // The next request tries again.
    if (!stored) entry->refreshing.store(false, std::memory_order_relaxed);
  });
  if (!posted) entry->refreshing.store(false, std::memory_order_relaxed);
} catch (...) {
  entry->refreshing.store(false, std::memory_order_relaxed);
}

bool Engine::refreshNow(Call& call) {
  const auto& target = call.target();
  const auto now = clock_.monotonic();
  CallContext context(snapshots_, addMillis(now, target.policy->render_timeout));
  if (!observe(context)) return false;
  KeyBuilder builder;
  buildKey(target, call.inputs(), target.inputs->known(), builder);
  const auto key = builder.key(target.partition);
  const auto joined = flights_.join(key.digest, context, now, flights_.landings(key.digest));
  if (!joined.flight) return false;
  if (!joined.leader) {
    flights_.leave(context);
    return false;
  }
  Landing landing(flights_, key.digest, joined.flight);
  Lease lease(context.store_hangs_);
  if (auto* leases = target.manager->leases();
      leases && target.policy->lease > 0 &&
      lease.take(*leases, key, target.policy->lease, context.deadline()) == Lease::Taken::busy)
    return false;  // another process is at it
  count(target, Outcome::refreshes);
  Recorder recorder;
  const auto rendered = render(call, context, recorder, key, {});
  landing.deliver(rendered, clock_.monotonic());
  return rendered.stored;
}

void Engine::audit(const Call& call, const EntryPtr& entry) noexcept try {
  std::shared_ptr<Call> later = call.detach();
  if (!later) return;
  executor_.post([this, later, entry] {
    try {
      auditNow(*later, *entry);
    } catch (...) {  // a render that fails says nothing about the stored value
    }
  });
} catch (...) {
}

void Engine::auditNow(Call& call, const CacheEntry& entry) {
  CallContext context(snapshots_,
                      addMillis(clock_.monotonic(), call.target().policy->render_timeout));
  if (!observe(context)) return;
  Recorder recorder;
  const CacheKey key{entry.key(), entry.digest, entry.partition};
  const auto again = render(call, context, recorder, key, {.store = false});
  // Somebody who has logged out since then sees another page.
  if (again.entry->key() != entry.key()) return;
  compare(call.target(), entry, *again.entry);
}

void Engine::compare(const Target& target, const CacheEntry& stored, const CacheEntry& rendered) {
  if (ledger_.judge(stored) != Verdict::valid || ledger_.judge(rendered) != Verdict::valid) return;
  const auto& policy = *target.policy;
  const auto difference = differenceOf(stored.value, rendered.value, policy.audit_mask);
  count(target, Outcome::audits);
  const bool lost = target.trust && target.trust->audited(difference.empty(), policy.audit_limit);
  if (difference.empty()) return;
  count(target, Outcome::audit_mismatches);
  if (!log_) return;
  const std::string view = "view '" + std::string(target.view) + "' of " + std::string(target.path);
  log_(
      "audit: the stored result of " + view +
      " differs from a new render; it reads something that is neither an input nor a dependency (" +
      difference + "; key: " + describeKey(stored.key()) + ")");
  if (lost) {
    log_("audit: " + view +
         " is not cached until the next reload, because too many of its results differ; if what "
         "differs does not matter, name it in audit_mask");
  }
}

}  // namespace larder
