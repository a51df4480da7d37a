// What `larder explain` shows.
#include "engine_internal.h"

namespace larder {

namespace {

std::string_view verdictName(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::valid:
      return "valid";
    case Verdict::soft:
      return "soft";
    case Verdict::changed:
      return "changed";
    default:
      return "history";
  }
}

}  // namespace

Engine::Changed Engine::changeOf(const CacheEntry& entry) const {
  for (const auto name : entry.scopeNames()) {
    const auto seq = ledger_.changedAt(scopeId(name));
    if (seq > entry.stamp.as_of) return {std::string(name), seq};
  }
  return {};
}

Inspection Engine::inspect(const Call& call, Deadline deadline) {
  const auto& target = call.target();
  Inspection result;
  result.known = target.inputs->known();
  KeyBuilder builder;
  buildKey(target, call.inputs(), result.known, builder);
  const auto key = builder.key(target.partition);
  result.key = key.bytes;
  result.last_miss = misses_.find(key.digest);
  if (result.last_miss && result.last_miss->changed_at > 0)
    result.last_miss_change = ledger_.recent().find(result.last_miss->changed_at);
  if (!target.manager || !ledger_.observe()) return result;
  auto lookup = look(target, key, overBy(*target.policy, Ledger::kNoLimit), deadline);
  result.status = lookup.status;
  result.reason = lookup.reason;
  if (lookup.status != Status::hit) return result;
  Policy no_chance = *target.policy;
  no_chance.early_refresh = 0;
  Outcome ignored{};
  switch (use(*lookup.entry, no_chance, Ledger::kNoLimit, ignored)) {
    case Use::stale:
      result.use = "stale";
      break;
    case Use::if_error:
      result.use = "if_error";
      break;
    case Use::none:
      result.use = "none";
      break;
    default:
      result.use = "fresh";
  }
  const auto verdict = ledger_.judge(*lookup.entry);
  result.verdict = verdictName(verdict);
  if (verdict == Verdict::changed || verdict == Verdict::soft) {
    auto [scope, seq] = changeOf(*lookup.entry);
    result.changed = std::move(scope);
    result.change = ledger_.recent().find(seq);
  }
  result.entry = std::move(lookup.entry);
  return result;
}

}  // namespace larder
