#include "sieve.h"

namespace larder::ram {

namespace {
/// Entries looked at per eviction; then the next one goes, used or not.
constexpr int kMaxTurns = 256;
}  // namespace

void Sieve::remove(NodeIndex node) noexcept {
  if (hand_ == node) hand_ = nodes_[node].previous;
  queue_.remove(nodes_, node);
}

bool Sieve::isSpared(const CacheEntry& entry) const noexcept {
  if (shares_.isOver(entry.partition)) return false;
  return entry.uses.load(std::memory_order_relaxed) != 0 || shares_.isUnder(entry.partition) ||
         shares_.isAnyOver();
}

NodeIndex Sieve::evict() noexcept {
  for (int turn = 0;; ++turn) {
    if (hand_ == kNoNode) hand_ = queue_.tail();
    if (hand_ == kNoNode) return kNoNode;
    const CacheEntry& entry = *nodes_[hand_].entry;
    if (turn < kMaxTurns && isSpared(entry)) {
      entry.uses.store(0, std::memory_order_relaxed);
      hand_ = nodes_[hand_].previous;
      continue;
    }
    const auto victim = hand_;
    remove(victim);
    return victim;
  }
}

}  // namespace larder::ram
