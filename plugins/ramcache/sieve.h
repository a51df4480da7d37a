// Sieve: one queue and a hand that moves from the oldest entry to the newest; it evicts what was
// not used since it last came by, and leaves the others where they are. (Zhang et al., "SIEVE is
// Simpler than LRU", NSDI 2024.)
#pragma once

#include "policy.h"

namespace larder::ram {

class Sieve final : public Policy {
 public:
  Sieve(NodePool& nodes, const Shares& shares) noexcept : nodes_(nodes), shares_(shares) {}

  void prepare(std::size_t) override {}
  void insert(NodeIndex node) noexcept override { queue_.pushFront(nodes_, node); }
  void update(NodeIndex node, std::size_t before) noexcept override {
    queue_.reweigh(before, nodes_[node].weight);
  }
  void remove(NodeIndex node) noexcept override;
  NodeIndex evict() noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override { return 0; }

 private:
  /// Whether the hand passes the entry by.
  [[nodiscard]] bool isSpared(const CacheEntry& entry) const noexcept;

  NodePool& nodes_;
  const Shares& shares_;
  NodeQueue queue_{0};
  NodeIndex hand_ = kNoNode;
};

}  // namespace larder::ram
