#include "larder/cache/change_map.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

namespace larder {

namespace {

void raise(std::atomic<std::uint64_t>& to, std::uint64_t value) noexcept {
  if (to.load(std::memory_order_relaxed) < value) to.store(value, std::memory_order_release);
}

}  // namespace

// calloc: pages of buckets that nothing was ever noted in are never touched. An all-zero Bucket is
// an empty one, since its members are lock-free atomics of integers.
ChangeMap::ChangeMap(std::size_t scopes)
    : mask_(std::bit_ceil(std::max<std::size_t>(scopes / kWays, 1)) - 1) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Slot) == 24 &&
                sizeof(Bucket) == 128);
  std::size_t room = (mask_ + 2) * sizeof(Bucket);
  memory_.reset(std::calloc(room, 1));
  void* start = memory_.get();
  if (!start || !std::align(alignof(Bucket), (mask_ + 1) * sizeof(Bucket), start, room)) {
    throw std::bad_alloc();
  }
  buckets_ = static_cast<Bucket*>(start);
}

void ChangeMap::Free::operator()(void* memory) const noexcept {
  std::free(memory);
}

void ChangeMap::apply(std::span<const Item> items) {
  const std::lock_guard lock(writer_);
  for (const auto& item : items) applyOne(item);
}

// A reader that looks for the scope that leaves a slot either still finds it there (with a seq that
// can only be larger) or does not find it and reads the floor afterwards, which was raised before
// the slot was given away.
void ChangeMap::applyOne(const Item& item) noexcept {
  Bucket& bucket = buckets_[item.scope & mask_];
  Slot* oldest = nullptr;
  std::uint64_t oldest_seq = 0;
  for (auto& slot : bucket.slots) {
    if (slot.scope.load(std::memory_order_relaxed) == item.scope) {
      raise(item.hardness == Hardness::hard ? slot.hard : slot.soft, item.seq);
      return;
    }
    const auto last = std::max(slot.hard.load(std::memory_order_relaxed),
                               slot.soft.load(std::memory_order_relaxed));
    if (!oldest || last < oldest_seq) {
      oldest = &slot;
      oldest_seq = last;
    }
  }
  if (oldest_seq > item.seq) {  // older than everything here: the floor tells it
    raise(bucket.floor, item.seq);
    return;
  }
  raise(bucket.floor, oldest_seq);
  const bool hard = item.hardness == Hardness::hard;
  // The seqs only grow while the old scope may still be read with them, so hard and soft of the new
  // scope are at most too new. What is known of its earlier changes is the floor.
  raise(oldest->hard, std::max(bucket.floor.load(std::memory_order_relaxed), hard ? item.seq : 0));
  raise(oldest->soft, hard ? 0 : item.seq);
  oldest->scope.store(item.scope, std::memory_order_release);
}

void ChangeMap::raiseFloor(std::uint64_t seq) {
  const std::lock_guard lock(writer_);
  raise(floor_, seq);
}

void ChangeMap::raiseFloor(std::size_t bucket, std::size_t buckets, std::uint64_t seq) {
  const std::lock_guard lock(writer_);
  if (buckets > mask_ + 1 || !std::has_single_bit(buckets)) {
    raise(floor_, seq);
    return;
  }
  for (std::size_t i = bucket; i <= mask_; i += buckets) {
    raise(buckets_[i].floor, seq);
    for (auto& slot : buckets_[i].slots)
      raise(slot.hard, seq);  // what is held exactly may be among what was folded
  }
}

ChangeMap::Changed ChangeMap::changed(ScopeId scope) const noexcept {
  const Bucket& bucket = buckets_[scope & mask_];
  Changed found;
  bool exact = false;
  for (const auto& slot : bucket.slots) {
    if (slot.scope.load(std::memory_order_acquire) == scope) {
      found = {slot.hard.load(std::memory_order_acquire),
               slot.soft.load(std::memory_order_acquire)};
      // Given away meanwhile: the seqs read may be another scope's, the floor holds ours.
      exact = slot.scope.load(std::memory_order_acquire) == scope;
      break;
    }
  }
  if (!exact) found.hard = std::max(found.hard, bucket.floor.load(std::memory_order_acquire));
  found.hard = std::max(found.hard, floor_.load(std::memory_order_acquire));
  return found;
}

}  // namespace larder
