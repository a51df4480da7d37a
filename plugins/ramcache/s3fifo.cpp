#include "s3fifo.h"

namespace larder::ram {

namespace {

/// In a cache of fewer entries a tenth is too few to see a re-use.
constexpr std::size_t kFewEntries = 500;
/// Turns of the queues per eviction; then the next one goes, used or not.
constexpr int kMaxTurns = 256;

}  // namespace

void S3Fifo::insert(NodeIndex index) noexcept {
  EntryNode& node = nodes_[index];
  worth_.learn(node);
  node.spared = 0;
  (ghost_.recall(node.hash) ? main_ : small_).pushFront(nodes_, index);
}

void S3Fifo::update(NodeIndex index, std::size_t before) noexcept {
  EntryNode& node = nodes_[index];
  queueOf(index).reweigh(before, node.weight);
  worth_.learn(node);
}

void S3Fifo::remove(NodeIndex index) noexcept {
  queueOf(index).remove(nodes_, index);
}

bool S3Fifo::smallIsFull() const noexcept {
  const auto part = entries_.load(std::memory_order_relaxed) < kFewEntries ? 2U : 10U;
  return small_.bytes() * part >= small_.bytes() + main_.bytes();
}

bool S3Fifo::pays(EntryNode& node) const noexcept {
  auto& uses = node.entry->uses;
  const auto have = uses.load(std::memory_order_relaxed);
  const auto price = worth_.price(node);
  if (have >= price) {
    uses.store(static_cast<std::uint8_t>(have - price), std::memory_order_relaxed);
    node.spared = 0;
    return true;
  }
  if (node.spared >= worth_.credit(node)) return false;
  ++node.spared;
  return true;
}

NodeIndex S3Fifo::evict() noexcept {
  for (int turn = 0;; ++turn) {
    const bool from_small = !small_.empty() && (main_.empty() || smallIsFull());
    NodeQueue& queue = from_small ? small_ : main_;
    const auto index = queue.tail();
    if (index == kNoNode) return kNoNode;
    EntryNode& node = nodes_[index];
    queue.remove(nodes_, index);
    if (turn < kMaxTurns && pays(node)) {
      if (from_small) node.entry->uses.store(0, std::memory_order_relaxed);
      main_.pushFront(nodes_, index);
      continue;
    }
    if (from_small) ghost_.note(node.hash);
    return index;
  }
}

}  // namespace larder::ram
