#include "larder/cache/ledger.h"

#include <algorithm>
#include <random>

#include "larder/cache/planted_fault.h"

namespace larder {

Verdict Ledger::judge(const Stamp& stamp, std::span<const ScopeId> scopes,
                      std::uint64_t limit) noexcept {
  if (stamp.schema != schema_.load(std::memory_order_acquire) || !eraHolds(stamp))
    return Verdict::history;
  const auto as_of = std::min(stamp.as_of, limit);
  bool soft = false;
  for (const auto scope : scopes) {
    const auto changed = map_.changed(scope);
    if (changed.hard > as_of) return Verdict::changed;
    soft |= changed.soft > as_of;
  }
  return soft ? Verdict::soft : Verdict::valid;
}

std::size_t Ledger::firstChanged(std::uint64_t as_of,
                                 std::span<const ScopeId> scopes) const noexcept {
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    if (changedAt(scopes[i]) > as_of) return i;
  }
  return scopes.size();
}

std::uint64_t Ledger::changedAt(ScopeId scope) const noexcept {
  const auto changed = map_.changed(scope);
  return std::max(changed.hard, changed.soft);
}

// An entry of the current era cannot be newer than what is known: known is what observe() read
// before this look-up, and an entry that another process stored since then is a miss now and a hit
// after the next observe().
bool Ledger::eraHolds(const Stamp& stamp) const noexcept {
  if (stamp.as_of > known_.load(std::memory_order_acquire)) return false;
  if (planted(Fault::l9_no_eras)) return true;
  if (stamp.era == era_.load(std::memory_order_acquire)) {
    return stamp.as_of >= era_start_.load(std::memory_order_acquire);
  }
  const std::lock_guard lock(eras_mutex_);
  for (std::size_t i = 0; i + 1 < eras_.size(); ++i) {
    if (eras_[i].id == stamp.era)
      return stamp.as_of >= eras_[i].start && stamp.as_of < eras_[i + 1].start;
  }
  return false;
}

void Ledger::note(std::string_view scope, std::uint64_t seq, Hardness hardness,
                  std::vector<ChangeMap::Item>& batch) {
  expanded_.clear();
  expandChange(scope, expanded_);
  for (const auto id : expanded_) batch.push_back({id, seq, hardness});
}

// The map first, then what says that it can be relied on.
void Ledger::publish(std::span<const ChangeMap::Item> batch, std::uint64_t seq) {
  map_.apply(batch);
  if (known_.load(std::memory_order_relaxed) < seq) known_.store(seq, std::memory_order_release);
  bumpVersion();
}

void Ledger::setEras(std::vector<Era> eras) {
  const std::lock_guard lock(eras_mutex_);
  eras_ = std::move(eras);
  if (!eras_.empty()) {
    era_start_.store(eras_.back().start, std::memory_order_release);
    era_.store(eras_.back().id, std::memory_order_release);
  }
  bumpVersion();
}

void Ledger::setSchema(std::uint64_t schema) noexcept {
  schema_.store(schema, std::memory_order_release);
  bumpVersion();
}

MemoryLedger::MemoryLedger(std::size_t map_scopes) : Ledger(map_scopes) {
  std::random_device random;
  setEras({{(std::uint64_t{random()} << 32U) | random(), 0}});
}

Result<std::uint64_t> MemoryLedger::append(std::span<const Change> changes) {
  const std::lock_guard lock(mutex_);
  ++seq_;
  std::vector<ChangeMap::Item> batch;
  for (const auto& change : changes) {
    note(change.scope, seq_, change.hardness, batch);
    remember({seq_, change.scope, change.hardness, 0, false});
  }
  publish(batch, seq_);
  return seq_;
}

}  // namespace larder
