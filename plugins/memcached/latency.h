// Latency: how long operations took, as a histogram of microseconds: exact below 16, then four
// steps in each power of two (a percentile is at most 19 % too high).
//
// Thread-safe; an entry costs one addition.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace larder::memcached {

class Latency {
 public:
  void add(std::chrono::microseconds time) noexcept {
    const auto us = static_cast<std::uint64_t>(time.count() < 0 ? 0 : time.count());
    counts_[slotOf(us)].fetch_add(1, std::memory_order_relaxed);
  }
  /// Upper bound, in microseconds, of the fastest `percent` of them; 0 without any.
  [[nodiscard]] std::uint64_t percentile(unsigned percent) const noexcept {
    std::uint64_t total = 0;
    for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
    std::uint64_t left = (total * percent + 99) / 100;
    if (left == 0) return 0;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const auto count = counts_[slot].load(std::memory_order_relaxed);
      if (count >= left) return upperBound(slot);
      left -= count;
    }
    return upperBound(kSlots - 1);
  }
  void addTo(Latency& sum) const noexcept {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      sum.counts_[slot].fetch_add(counts_[slot].load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t kExact = 16;
  static constexpr std::size_t kSteps = 4;
  static constexpr std::size_t kSlots = kExact + 20 * kSteps;  // up to 16 s

  static std::size_t slotOf(std::uint64_t us) noexcept {
    if (us < kExact) return us;
    const auto power = static_cast<std::size_t>(std::bit_width(us)) - 1;  // >= 4
    const auto step = static_cast<std::size_t>(us >> (power - 2)) % kSteps;
    const std::size_t slot = kExact + (power - 4) * kSteps + step;
    return slot < kSlots ? slot : kSlots - 1;
  }
  static std::uint64_t upperBound(std::size_t slot) noexcept {
    if (slot < kExact) return slot;
    const std::size_t power = (slot - kExact) / kSteps + 4;
    const std::uint64_t step = (slot - kExact) % kSteps;
    return (std::uint64_t{1} << power) + (step + 1) * (std::uint64_t{1} << (power - 2)) - 1;
  }

  std::array<std::atomic<std::uint64_t>, kSlots> counts_{};
};

}  // namespace larder::memcached
