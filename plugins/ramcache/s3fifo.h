// S3Fifo: three first-in first-out queues. New entries pass through a small one, from which only
// those that were used again reach the main one; keys that left it unused are remembered, and go to
// the main queue at once if they come back. A flood of keys that nobody asks for twice thus costs
// the rest of the cache nothing. (Yang et al., "FIFO queues are all you need for cache eviction",
// SOSP 2023.)
//
// Differences, each measured on request traces: one re-use is enough to be promoted; the small
// queue is half of the cache while that holds few entries; large entries pay for a place with more
// uses, entries that were dear to make get some turns for nothing.
#pragma once

#include "ghost.h"
#include "policy.h"
#include "worth.h"

namespace larder::ram {

class S3Fifo final : public Policy {
 public:
  S3Fifo(NodePool& nodes, const std::atomic<std::size_t>& entries) noexcept
      : nodes_(nodes), entries_(entries) {}

  void prepare(std::size_t entries) override { ghost_.prepare(entries); }
  void insert(NodeIndex node) noexcept override;
  void update(NodeIndex node, std::size_t before) noexcept override;
  void remove(NodeIndex node) noexcept override;
  NodeIndex evict() noexcept override;
  [[nodiscard]] std::size_t bytes() const noexcept override { return ghost_.bytes(); }

 private:
  enum QueueId : std::uint8_t { kSmall, kMain };

  NodeQueue& queueOf(NodeIndex node) noexcept {
    return nodes_[node].queue == kMain ? main_ : small_;
  }
  [[nodiscard]] bool smallIsFull() const noexcept;
  /// Takes what another turn costs from the node at the main queue's tail; false if it has not got
  /// it.
  bool pays(EntryNode& node) const noexcept;

  NodePool& nodes_;
  const std::atomic<std::size_t>& entries_;
  NodeQueue small_{kSmall};
  NodeQueue main_{kMain};
  Ghost ghost_;
  Worth worth_;
};

}  // namespace larder::ram
