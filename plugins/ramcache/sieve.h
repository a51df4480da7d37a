// Sieve: one queue and a hand that moves from the oldest entry to the newest; it evicts what was
// not used since it last came by, and leaves the others where they are. (Zhang et al., "SIEVE is
// Simpler than LRU", NSDI 2024.)
#pragma once

#include "policy.h"

namespace larder::ram {

class Sieve final : public Policy {
 public:
  explicit Sieve(NodePool& nodes) noexcept : nodes_(nodes) {}

  void prepare(std::size_t) override {}
  void insert(NodeIndex node) noexcept override { queue_.pushFront(nodes_, node); }
  void update(NodeIndex node, std::size_t before) noexcept override {
    queue_.reweigh(before, nodes_[node].weight);
  }
  void remove(NodeIndex node) noexcept override;
  NodeIndex evict() noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override { return 0; }

 private:
  NodePool& nodes_;
  NodeQueue queue_{0};
  NodeIndex hand_ = kNoNode;
};

}  // namespace larder::ram
