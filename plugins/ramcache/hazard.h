// Hazard records: how a reader keeps an entry from being freed without writing to memory that
// another thread writes.
//
// Each thread owns one record of slots. A reader announces the entry that it found in a slot, then
// looks whether the index still holds it; whoever removes an entry takes it out of the index first,
// then looks through all slots. Announcement and removal are sequentially consistent, so one of the
// two sees the other: the reader finds that the entry has gone, or the remover keeps it for later.
// (M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 2004.)
//
// An EntryRef occupies a slot until it is destroyed. Records belong to threads, not to caches, and
// are never freed: a reference may outlive the cache that gave it out, and the entry it holds is
// freed by a later reclaim() of any cache of this process.
//
// Index tables are replaced so seldom that their readers need not pay for it: they announce the
// table by a plain store, and the one who frees a table first makes every thread of the process
// pass a memory barrier (membarrier(2)).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "larder/entry.h"

namespace larder::ram {

using HazardSlot = std::atomic<const CacheEntry*>;

struct alignas(128) HazardRecord {
  /// References that one thread can hold without counting them.
  static constexpr std::size_t kLendable = 12;

  /// The index table that the thread is reading (a TableView's word), or 0.
  std::atomic<std::uintptr_t> table{0};
  /// Small and unique among the threads that live at one time.
  std::uint32_t index = 0;
  std::atomic<bool> taken{false};
  /// The last one is never lent: it guards an entry while a counted reference is made of it.
  std::array<HazardSlot, kLendable + 1> slots{};
  HazardRecord* next = nullptr;

  /// A slot that is not in use; the guard when all others are lent.
  [[nodiscard]] HazardSlot& vacant() noexcept {
    std::size_t i = 0;
    while (i < kLendable && slots[i].load(std::memory_order_relaxed) != nullptr) ++i;
    return slots[i];
  }
  [[nodiscard]] bool isGuard(const HazardSlot& slot) const noexcept {
    return &slot == &slots[kLendable];
  }
};
static_assert(sizeof(HazardRecord) == 128);

namespace detail {
// A look-up in a plugin would otherwise call the loader to find this variable.
#if defined(__GNUC__)
#define LARDER_RAM_TLS __attribute__((tls_model("initial-exec")))
#else
#define LARDER_RAM_TLS
#endif
extern constinit thread_local HazardRecord* my_record LARDER_RAM_TLS;
HazardRecord* enlist() noexcept;
}  // namespace detail

/// The calling thread's record; null when the thread is ending or there is no memory for one.
inline HazardRecord* myRecord() noexcept {
  return detail::my_record ? detail::my_record : detail::enlist();
}

/// Entries that have left an index and wait to be freed, a bounded number. Owns one counted
/// reference to each.
class Retired {
 public:
  static constexpr std::size_t kCapacity = 32;

  Retired() = default;
  Retired(const Retired&) = delete;
  Retired& operator=(const Retired&) = delete;
  ~Retired() { reclaim(); }

  /// Precondition: room() > 0.
  void add(const CacheEntry* entry) noexcept { entries_[size_++] = entry; }
  [[nodiscard]] std::size_t room() const noexcept { return kCapacity - size_; }
  /// Takes over what the other holds. Precondition: empty.
  void take(Retired& other) noexcept;
  /// Frees what no thread has announced; the rest waits for a later call, of whatever object.
  /// Holds no lock while it frees.
  void reclaim() noexcept;

 private:
  std::array<const CacheEntry*, kCapacity> entries_;
  std::size_t size_ = 0;
};

/// Makes all threads of the process pass a barrier; false when the kernel cannot.
bool processBarrier() noexcept;
/// True if a thread reads this table. Means something only after processBarrier().
bool isTableAnnounced(std::uintptr_t table) noexcept;

}  // namespace larder::ram
