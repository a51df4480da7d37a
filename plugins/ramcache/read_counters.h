// ReadCounters: what look-ups count. Each thread has a cell of its own, so that counting a hit
// writes nothing that another thread writes; the sum is taken when somebody asks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hazard.h"

namespace larder::ram {

class ReadCounters {
 public:
  enum What : std::uint8_t { hit, cold, expired, other_key };

  /// `me` may be null.
  void count(What what, const HazardRecord* me) noexcept {
    const std::size_t number = me ? me->index : kCells;
    if (number < kShared) {
      auto& counter = cells_[number].counters[what];
      counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      cells_[kShared].counters[what].fetch_add(1, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] std::uint64_t sum(What what) const noexcept {
    std::uint64_t n = 0;
    for (const auto& cell : cells_) n += cell.counters[what].load(std::memory_order_relaxed);
    return n;
  }

 private:
  static constexpr std::size_t kCells = 64;
  /// The last cell is for all threads beyond.
  static constexpr std::size_t kShared = kCells - 1;
  struct alignas(64) Cell {
    std::array<std::atomic<std::uint64_t>, 4> counters{};
  };
  std::array<Cell, kCells> cells_{};
};

}  // namespace larder::ram
