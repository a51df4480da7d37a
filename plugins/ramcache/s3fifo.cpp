#include "s3fifo.h"

#include <algorithm>

namespace larder::ram {

namespace {

constexpr double kSmallest = 0.05;
constexpr double kLargest = 0.8;
/// A small queue that is larger than this shows that what was used last is used again, and what was
/// used often is not.
constexpr double kRecencyMatters = 0.15;
/// Turns of the queues per eviction; then the next one goes, used or not.
constexpr int kMaxTurns = 256;

}  // namespace

void S3Fifo::insert(NodeIndex index) noexcept {
  EntryNode& node = nodes_[index];
  worth_.learn(node);
  node.spared = 0;
  (isKnown(node.hash) ? main_ : small_).pushFront(nodes_, index);
}

// What the last twentieth of the evictions from a queue would have hit is what that queue would
// gain by being a twentieth larger.
bool S3Fifo::isKnown(std::uint32_t hash) noexcept {
  const auto count = nodes_.count();
  const auto few = std::max<std::size_t>(count / 20, 1);
  const auto since_small = left_small_.recall(hash);
  const auto since_main = left_main_.recall(hash);
  const double step = 0.5 / static_cast<double>(std::min<std::size_t>(count, 1000));
  if (since_small <= few) small_share_ = std::min(small_share_ + step, kLargest);
  if (since_main <= few) small_share_ = std::max(small_share_ - step, kSmallest);
  return since_small <= count * 9 / 10 ||
         (since_main <= count / 2 && small_share_ < kRecencyMatters);
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
  return static_cast<double>(small_.bytes()) >=
         small_share_ * static_cast<double>(small_.bytes() + main_.bytes());
}

bool S3Fifo::pays(EntryNode& node) const noexcept {
  if (shares_.isOver(node.entry->partition)) return false;
  if (shares_.isUnder(node.entry->partition)) return true;
  if (node.queue == kMain && shares_.isAnyOver()) return true;
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
    (from_small ? left_small_ : left_main_).note(node.hash);
    return index;
  }
}

}  // namespace larder::ram
