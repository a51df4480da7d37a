// Breaker: whether a server is asked at all. After some failures in a row, whichever threads they
// happened on, nobody asks it; a probe in the background does, at growing and uneven intervals, and
// only its success closes the breaker again.
//
// Thread-safe. A call on a closed breaker reads one word.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "larder/clock.h"

namespace larder::memcached {

class Breaker {
 public:
  Breaker(std::uint32_t failures, Millis first_probe, Millis max_probe) noexcept
      : failures_(failures), first_probe_(first_probe), max_probe_(max_probe) {}

  [[nodiscard]] bool isOpen() const noexcept { return open_.load(std::memory_order_relaxed); }

  void succeeded() noexcept {
    if (in_a_row_.load(std::memory_order_relaxed) != 0)
      in_a_row_.store(0, std::memory_order_relaxed);
  }
  /// True if this failure has opened it: the caller then sees to the probes.
  [[nodiscard]] bool failed() noexcept {
    const auto count = in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (count < failures_ || open_.exchange(true, std::memory_order_relaxed)) return false;
    probes_.store(0, std::memory_order_relaxed);
    return true;
  }
  void open() noexcept {
    probes_.store(0, std::memory_order_relaxed);
    open_.store(true, std::memory_order_relaxed);
  }
  void close() noexcept {
    in_a_row_.store(0, std::memory_order_relaxed);
    open_.store(false, std::memory_order_relaxed);
  }

  /// How long to wait before the next probe. Doubles each time; `dice` (any number) shortens it by
  /// 5 to 25 %, so that processes do not probe together and never later than max_probe says.
  [[nodiscard]] Millis nextProbe(std::uint32_t dice) noexcept {
    const auto probe = std::min<std::uint32_t>(probes_.fetch_add(1, std::memory_order_relaxed), 16);
    const Millis whole = std::min(first_probe_ << probe, max_probe_);
    return std::max<Millis>(whole - whole * (5 + dice % 21) / 100, 1);
  }

 private:
  const std::uint32_t failures_;
  const Millis first_probe_;
  const Millis max_probe_;
  std::atomic<bool> open_{false};
  std::atomic<std::uint32_t> in_a_row_{0};
  std::atomic<std::uint32_t> probes_{0};
};

}  // namespace larder::memcached
