// VariantGuard: bounds how many results of one object and view may be stored, so that nobody can
// flood a cache with made-up parameters or switch it off: past the limit new variants are rendered
// but not stored, stored ones go on being served.
//
// A fixed table of counters by hash, each for a window of time; two objects that share one share
// its room.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "larder/clock.h"

namespace larder {

/// Thread-safe, lock-free.
class VariantGuard {
 public:
  static constexpr std::size_t kSlots = 1U << 16U;
  VariantGuard() : slots_(std::make_unique<Slot[]>(kSlots)) {}

  /// Whether one more new variant of `object` may be stored; counts it. A window ends after
  /// `window` ms.
  [[nodiscard]] bool admit(std::uint64_t object, std::size_t limit, Millis now,
                           Millis window) noexcept {
    Slot& slot = slots_[object % kSlots];
    Millis started = slot.started.load(std::memory_order_relaxed);
    if (now >= addMillis(started, window) &&
        slot.started.compare_exchange_strong(started, now, std::memory_order_relaxed)) {
      slot.count.store(0, std::memory_order_relaxed);
    }
    return slot.count.fetch_add(1, std::memory_order_relaxed) < limit;
  }

 private:
  struct Slot {
    std::atomic<Millis> started{0};
    std::atomic<std::size_t> count{0};
  };
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace larder
