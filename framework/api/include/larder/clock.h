// Clock: the only source of time on a request's path. Integer milliseconds; no calendar type.
//
// Monotonic time orders what happens in this process; wall time is for what other processes read.
#pragma once

#include <cstdint>
#include <limits>

namespace larder {

/// A duration or a point in time in milliseconds.
using Millis = std::int64_t;

/// "forever" as a duration and "never" as a point in time. Additions with it must go through
/// addMillis().
inline constexpr Millis kForever = std::numeric_limits<Millis>::max();

/// a + b that saturates at kForever; both must be non-negative.
constexpr Millis addMillis(Millis a, Millis b) noexcept {
  return a >= kForever - b ? kForever : a + b;
}

/// Thread-safe. The process's clock lives as long as everything that uses it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since an arbitrary start; never goes back.
  [[nodiscard]] virtual Millis monotonic() const noexcept = 0;
  /// The same clock in microseconds: for what a render cost, never per hit.
  [[nodiscard]] virtual std::int64_t micros() const noexcept { return 1000 * monotonic(); }
  /// Milliseconds since 1970-01-01 UTC; may jump either way.
  [[nodiscard]] virtual Millis wall() const noexcept = 0;
};

}  // namespace larder
