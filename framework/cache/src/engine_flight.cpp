// One render per key: in this process by flights, over processes by leases.
#include <algorithm>

#include "engine_internal.h"
#include "larder/cache/planted_fault.h"

namespace larder {

namespace {

/// Until when to wait for what somebody else makes: half of what is left, so that there is time to
/// render after waiting in vain.
Millis endOfWait(const Policy& policy, const CallContext& context, Millis now) {
  return addMillis(
      now, std::min(policy.render_timeout, std::max<Millis>(context.deadline() - now, 0) / 2));
}

}  // namespace

Answer Engine::lead(Call& call, CallContext& context, Recorder* parent, const CacheKey& key,
                    Found& found, const std::shared_ptr<Landing>& landing, std::uint64_t arrival) {
  const auto& target = call.target();
  const auto lease = std::make_shared<Lease>(context.store_hangs_);
  const bool softly = waitsSoftly(target, found, parent);
  const auto soft_end =
      softly ? addMillis(clock_.monotonic(), target.policy->soft_timeout) : kForever;
  if (auto answer = takeLease(*lease, call, context, parent, key, found, *landing, soft_end))
    return std::move(*answer);
  bool aside = false;
  if (softly) {
    if (auto answer = renderAside(call, context, found, landing, lease, arrival, soft_end, aside))
      return std::move(*answer);
  }
  return renderAndStore(call, context, parent, key, found, true, aside ? nullptr : landing.get());
}

std::optional<Answer> Engine::follow(Flight& flight, const Call& call, CallContext& context,
                                     Recorder* parent, std::uint64_t arrival, Found& found) {
  const auto& target = call.target();
  const auto now = clock_.monotonic();
  auto until = endOfWait(*target.policy, context, now);
  const bool softly = waitsSoftly(target, found, parent);
  if (softly) until = std::min(until, addMillis(now, target.policy->soft_timeout));
  const bool landed = flight.landed->wait(until);
  flights_.leave(context);
  if (!landed && softly) {
    count(target, Outcome::soft_timeouts);
    auto stale = serveStale(target, context, found, parent);
    if (stale) count(target, Outcome::hit_stale);
    return stale;
  }
  if (!landed) return std::nullopt;
  auto answer = accept(flight, call, context, parent, arrival);
  if (answer) count(call.target(), Outcome::coalesced);
  return answer;
}

// L16: a follower takes the leader's result only if it is right for the follower.
std::optional<Answer> Engine::accept(const Flight& flight, const Call& call, CallContext& context,
                                     Recorder* parent, std::uint64_t arrival) {
  if (!flight.entry) return std::nullopt;
  const auto& target = call.target();
  const CacheEntry& entry = *flight.entry;
  KeyBuilder mine;
  buildKey(target, call.inputs(), flight.names, mine);
  if (mine.bytes() != entry.key() && !planted(Fault::l16_followers_values)) return std::nullopt;
  const bool nested = context.hasSnapshot();
  if (nested && entry.stamp.schema != context.snapshot().stamp().schema) return std::nullopt;
  const auto verdict =
      ledger_.judge(entry, nested ? context.snapshot().stamp().as_of : Ledger::kNoLimit);
  const bool new_enough = !nested && entry.stamp.as_of >= arrival &&
                          entry.stamp.era == ledger_.known().era && verdict != Verdict::history;
  if (verdict != Verdict::valid && !new_enough && !planted(Fault::l16_followers_arrival))
    return std::nullopt;
  if (parent) parent->merge(entry, freshFor(*target.policy, entry));
  Answer answer;
  answer.entry = EntryRef(flight.entry);
  answer.outcome = Outcome::coalesced;
  answer.stored = true;
  return answer;
}

// Rule 31, L24. An answer, if another process made one or this one shall not wait longer; else this
// process renders, with the lease or without. Only outermost calls wait: nested ones could do so in
// a circle.
std::optional<Answer> Engine::takeLease(Lease& lease, const Call& call, CallContext& context,
                                        Recorder* parent, const CacheKey& key, Found& found,
                                        Landing& landing, Millis soft_end) {
  const auto& target = call.target();
  const auto& policy = *target.policy;
  LeaseStore* const leases = target.manager->leases();
  if (!leases || policy.lease == 0 || found.miss == Outcome::miss_error || context.store_hangs_)
    return std::nullopt;
  const bool nested = context.hasSnapshot();
  const auto limit = nested ? context.snapshot().stamp().as_of : Ledger::kNoLimit;
  const auto until = std::min(endOfWait(policy, context, clock_.monotonic()), soft_end);
  const Stamp before = found.entry ? found.entry->stamp : Stamp{};
  constexpr Millis kMostPause = 100;
  for (Millis pause = 2;; pause = std::min(2 * pause, kMostPause)) {
    const auto taken = lease.take(*leases, key, policy.lease, context.deadline());
    if (taken == Lease::Taken::none || (nested && taken == Lease::Taken::busy)) return std::nullopt;
    if (taken == Lease::Taken::busy) {
      if (pause == 2) count(target, Outcome::lease_waits);
      if (clock_.monotonic() >= until) {
        if (until == soft_end) count(target, Outcome::soft_timeouts);
        auto stale = serveStale(target, context, found, parent);
        if (stale) count(target, Outcome::hit_stale);
        return stale;
      }
      executor_.makeEvent()->wait(std::min(until, clock_.monotonic() + pause));
    }
    // Who led before may have stored it between our look-up and our lease, or now.
    if (!nested && !observe(context)) return std::nullopt;
    auto seen = find(target, key, limit, context);
    if (isServable(seen.use)) {
      landing.deliver({.entry = seen.entry.share(),
                       .names = target.inputs->known(),
                       .storable = true,
                       .stored = true,
                       .outcome = Outcome::stores,
                       .detail = {}},
                      clock_.monotonic());
      return serve(call, seen, parent, Outcome::coalesced);
    }
    if (taken == Lease::Taken::mine || seen.miss == Outcome::miss_error || context.store_hangs_)
      return std::nullopt;
    // The other's result has come and is of no use: no reason to wait for it.
    if (seen.entry && seen.entry->stamp.as_of != before.as_of) return std::nullopt;
  }
}

// The render goes on in the background if it takes longer than soft_timeout, and something stale is
// served meanwhile. Nothing: it cannot be had aside, or what there was is invalid by now.
std::optional<Answer> Engine::renderAside(const Call& call, CallContext& context, Found& found,
                                          const std::shared_ptr<Landing>& landing,
                                          const std::shared_ptr<Lease>& lease,
                                          std::uint64_t arrival, Millis soft_end, bool& aside) {
  const auto& target = call.target();
  std::shared_ptr<Call> later = call.detach();
  if (!later) return std::nullopt;
  flights_.handOver(landing->flight(), nullptr);
  // Other processes wait as long as the render takes, whatever becomes of this request.
  lease->outlive(addMillis(clock_.monotonic(), target.policy->render_timeout));
  aside = executor_.post([this, later, landing, lease] {
    const auto& its = later->target();
    CallContext its_context(snapshots_, addMillis(clock_.monotonic(), its.policy->render_timeout));
    flights_.handOver(landing->flight(), &its_context);
    try {
      KeyBuilder builder;
      buildKey(its, later->inputs(), its.inputs->known(), builder);
      Recorder recorder;
      landing->deliver(render(*later, its_context, recorder, builder.key(its.partition),
                              {.store = observe(its_context)}),
                       clock_.monotonic());
    } catch (...) {  // the stale result is served as long as it may
      count(its, Outcome::render_errors);
      landing->fail();
    }
  });
  if (!aside) {
    flights_.handOver(landing->flight(), &context);
    return std::nullopt;
  }
  Flight& flight = landing->flight();
  if (flight.landed->wait(std::min(soft_end, context.deadline()))) {
    if (auto answer = accept(flight, call, context, nullptr, arrival)) {
      count(target, found.miss);
      answer->outcome = found.miss;
      return answer;
    }
    // What was made may be given to nobody else: this visitor gets a render of his own.
    if (!flight.failed) return std::nullopt;
  } else {
    count(target, Outcome::soft_timeouts);
  }
  auto stale = serveStale(target, context, found, nullptr);
  if (stale) count(target, Outcome::hit_stale);
  return stale;
}

}  // namespace larder
