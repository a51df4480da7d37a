// Nodes: what a shard keeps for each of its entries besides the index slot. Only its writer touches
// them, so a hit never does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "larder/entry.h"

namespace larder::ram {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = ~NodeIndex{0};

struct EntryNode {
  /// Owns one counted reference; null when the node is free.
  const CacheEntry* entry;
  /// The lower half of the key's hash.
  std::uint32_t hash;
  /// Bytes that the entry keeps alive.
  std::uint32_t weight;
  /// Tick of the cache's coarse time after which the entry is of no use.
  std::uint32_t expires;
  // Neighbours in a queue of the policy; `next` also links the free nodes.
  NodeIndex previous;
  NodeIndex next;
  // For the policy.
  std::uint8_t queue;
  /// Turns that it was given for nothing since it was used.
  std::uint8_t spared;
};
static_assert(std::is_trivially_copyable_v<EntryNode> && sizeof(EntryNode) == 32);

/// Grows chunk by chunk: no node moves, none waits long, and little is taken that is not used.
class NodePool {
 public:
  EntryNode& operator[](NodeIndex i) noexcept { return chunks_[i / kChunk][i % kChunk]; }
  const EntryNode& operator[](NodeIndex i) const noexcept {
    return chunks_[i / kChunk][i % kChunk];
  }
  /// One past the highest index in use.
  [[nodiscard]] NodeIndex end() const noexcept { return end_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return chunks_.size() * kChunk * sizeof(EntryNode) + chunks_.capacity() * sizeof(chunks_[0]);
  }

  /// Makes sure that take() needs no memory. Throws std::bad_alloc.
  void prepare() {
    if (free_ == kNoNode && end_ == chunks_.size() * kChunk)
      chunks_.push_back(std::make_unique<EntryNode[]>(kChunk));
  }
  NodeIndex take() noexcept {
    ++count_;
    if (free_ == kNoNode) return end_++;
    const auto index = free_;
    free_ = (*this)[index].next;
    return index;
  }
  void give(NodeIndex index) noexcept {
    (*this)[index].entry = nullptr;
    (*this)[index].next = free_;
    free_ = index;
    --count_;
  }

 private:
  static constexpr NodeIndex kChunk = 64;
  std::vector<std::unique_ptr<EntryNode[]>> chunks_;
  NodeIndex end_ = 0;
  NodeIndex free_ = kNoNode;
  std::size_t count_ = 0;
};

/// A first-in first-out queue of nodes that counts its bytes.
class NodeQueue {
 public:
  explicit NodeQueue(std::uint8_t id) noexcept : id_(id) {}
  [[nodiscard]] bool empty() const noexcept { return tail_ == kNoNode; }
  [[nodiscard]] NodeIndex tail() const noexcept { return tail_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  void pushFront(NodePool& nodes, NodeIndex index) noexcept {
    EntryNode& node = nodes[index];
    node.queue = id_;
    node.previous = kNoNode;
    node.next = head_;
    (head_ == kNoNode ? tail_ : nodes[head_].previous) = index;
    head_ = index;
    bytes_ += node.weight;
  }
  void remove(NodePool& nodes, NodeIndex index) noexcept {
    const EntryNode& node = nodes[index];
    (node.previous == kNoNode ? head_ : nodes[node.previous].next) = node.next;
    (node.next == kNoNode ? tail_ : nodes[node.next].previous) = node.previous;
    bytes_ -= node.weight;
  }
  /// A node of this queue has changed its weight.
  void reweigh(std::size_t before, std::size_t after) noexcept { bytes_ += after - before; }

 private:
  NodeIndex head_ = kNoNode;
  NodeIndex tail_ = kNoNode;
  std::size_t bytes_ = 0;
  std::uint8_t id_;
};

}  // namespace larder::ram
