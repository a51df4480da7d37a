// Budget: the real time that one operation may still take, whatever it waits for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "larder/clock.h"

namespace larder::memcached {

class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Budget(Millis time) noexcept
      : granted_(time), start_(Clock::now()), end_(start_ + std::chrono::milliseconds(time)) {}

  [[nodiscard]] Millis granted() const noexcept { return granted_; }

  /// For poll(): what is left, rounded up; 0 when it is over.
  [[nodiscard]] int pollTimeout() const noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  [[nodiscard]] bool over() const noexcept { return Clock::now() >= end_; }
  [[nodiscard]] Clock::time_point end() const noexcept { return end_; }
  [[nodiscard]] std::chrono::microseconds spent() const noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
  }

 private:
  Millis granted_;
  Clock::time_point start_;
  Clock::time_point end_;
};

}  // namespace larder::memcached
