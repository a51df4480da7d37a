#include "hazard.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace larder::ram {

namespace detail {
constinit thread_local HazardRecord* my_record = nullptr;
}

namespace {

std::atomic<HazardRecord*> all_records{nullptr};
std::atomic<std::uint32_t> record_count{0};

/// Entries that were announced when they should have been freed.
struct Waiting {
  std::mutex mutex;
  std::vector<const CacheEntry*> entries;
  std::atomic<bool> any{false};
};

/// Never destroyed: threads may still use it while the process's static objects go.
Waiting& waiting() noexcept {
  static Waiting* const instance = std::make_unique<Waiting>().release();
  return *instance;
}

bool isIdle(const HazardRecord& record) noexcept {
  return std::all_of(record.slots.begin(), record.slots.end(), [](const HazardSlot& slot) {
    return slot.load(std::memory_order_acquire) == nullptr;
  });
}

constinit thread_local bool thread_is_ending = false;

/// Gives the record back when the thread ends. One whose slots are still lent stays unused until
/// the last reference has gone.
struct Membership {
  HazardRecord* record = nullptr;
  ~Membership() {
    thread_is_ending = true;
    detail::my_record = nullptr;
    if (record) record->taken.store(false, std::memory_order_release);
  }
};

HazardRecord* reuseRecord() noexcept {
  for (auto* r = all_records.load(std::memory_order_acquire); r; r = r->next) {
    if (r->taken.load(std::memory_order_relaxed) ||
        r->taken.exchange(true, std::memory_order_acquire))
      continue;
    if (isIdle(*r)) return r;
    r->taken.store(false, std::memory_order_release);
  }
  return nullptr;
}

HazardRecord* addRecord() {
  auto* r = std::make_unique<HazardRecord>().release();
  r->taken.store(true, std::memory_order_relaxed);
  r->index = record_count.fetch_add(1, std::memory_order_relaxed);
  r->next = all_records.load(std::memory_order_relaxed);
  while (!all_records.compare_exchange_weak(r->next, r)) {
  }
  return r;
}

void free(const CacheEntry* entry) noexcept {
  (void)EntryPtr::adopt(entry);
}

/// Moves the announced ones of `entries` to its front and returns how many they are.
std::size_t partitionAnnounced(const CacheEntry** entries, std::size_t size) noexcept {
  std::size_t kept = 0;
  for (auto* r = all_records.load(); r; r = r->next) {
    for (const auto& slot : r->slots) {
      const auto* announced = slot.load();
      if (!announced) continue;
      auto* found = std::find(entries + kept, entries + size, announced);
      if (found != entries + size) std::swap(*found, entries[kept++]);
    }
  }
  return kept;
}

void wait(const CacheEntry** entries, std::size_t size) noexcept {
  if (size == 0) return;
  auto& w = waiting();
  const std::lock_guard lock(w.mutex);
  try {
    w.entries.insert(w.entries.end(), entries, entries + size);
    w.any.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // Never freed: the only thing that is safe for an entry in use.
  }
}

void reclaimWaiting() noexcept {
  auto& w = waiting();
  if (!w.any.load(std::memory_order_relaxed)) return;
  std::vector<const CacheEntry*> entries;
  {
    const std::lock_guard lock(w.mutex);
    entries.swap(w.entries);
    w.any.store(false, std::memory_order_relaxed);
  }
  const auto kept = partitionAnnounced(entries.data(), entries.size());
  wait(entries.data(), kept);
  std::for_each(entries.begin() + static_cast<std::ptrdiff_t>(kept), entries.end(), free);
}

}  // namespace

HazardRecord* detail::enlist() noexcept {
  if (thread_is_ending) return nullptr;
  static thread_local Membership membership;
  try {
    membership.record = reuseRecord();
    if (!membership.record) membership.record = addRecord();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  my_record = membership.record;
  return my_record;
}

void Retired::take(Retired& other) noexcept {
  std::copy_n(other.entries_.begin(), other.size_, entries_.begin());
  size_ = std::exchange(other.size_, 0);
}

void Retired::reclaim() noexcept {
  reclaimWaiting();
  if (size_ == 0) return;
  const auto kept = partitionAnnounced(entries_.data(), size_);
  wait(entries_.data(), kept);
  std::for_each_n(entries_.begin() + static_cast<std::ptrdiff_t>(kept), size_ - kept, free);
  size_ = 0;
}

bool processBarrier() noexcept {
  static const bool registered =
      ::syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && ::syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool isTableAnnounced(std::uintptr_t table) noexcept {
  for (auto* r = all_records.load(std::memory_order_acquire); r; r = r->next) {
    if (r->table.load(std::memory_order_acquire) == table) return true;
  }
  return false;
}

}  // namespace larder::ram
