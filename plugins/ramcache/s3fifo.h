// S3Fifo: three first-in first-out queues. New entries pass through a small one, from which only
// those that were used again reach the main one; keys that left it unused are remembered, and go to
// the main queue at once if they come back. A flood of keys that nobody asks for twice thus costs
// the rest of the cache nothing. (Yang et al., "FIFO queues are all you need for cache eviction",
// SOSP 2023.)
//
// Differences, each measured on request traces: one re-use is enough to be promoted; how large the
// small queue is follows from which queue's last evictions are missed more (after S3-FIFO-D and
// ARC); while it is small, keys that left the main queue not long ago go back there at once; large
// entries pay for a place with more uses, entries that were dear to make get some turns for
// nothing.
#pragma once

#include "ghost.h"
#include "policy.h"
#include "worth.h"

namespace larder::ram {

class S3Fifo final : public Policy {
 public:
  S3Fifo(NodePool& nodes, const Shares& shares) noexcept : nodes_(nodes), shares_(shares) {}

  void prepare(std::size_t entries) override {
    left_small_.prepare(entries);
    left_main_.prepare(entries / 2);
  }
  void insert(NodeIndex node) noexcept override;
  void update(NodeIndex node, std::size_t before) noexcept override;
  void remove(NodeIndex node) noexcept override;
  NodeIndex evict() noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override {
    return left_small_.bytes() + left_main_.bytes();
  }

 private:
  enum QueueId : std::uint8_t { kSmall, kMain };

  NodeQueue& queueOf(NodeIndex node) noexcept {
    return nodes_[node].queue == kMain ? main_ : small_;
  }
  /// Whether a new key has been here lately and deserves the main queue; learns from it how large
  /// the small queue should be.
  bool isKnown(std::uint32_t hash) noexcept;
  [[nodiscard]] bool smallIsFull() const noexcept;
  /// Takes what another turn costs from the node at the main queue's tail; false if it has not got
  /// it.
  bool pays(EntryNode& node) const noexcept;

  NodePool& nodes_;
  const Shares& shares_;
  NodeQueue small_{kSmall};
  NodeQueue main_{kMain};
  Ghost left_small_;
  Ghost left_main_;
  /// Of all bytes, those that the small queue may take.
  double small_share_ = 0.1;
  Worth worth_;
};

}  // namespace larder::ram
