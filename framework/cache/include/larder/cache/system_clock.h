// SystemClock: the process's real Clock, read from the kernel's coarse clocks (a few nanoseconds a
// call, granularity of the kernel's tick, 1 to 4 ms). Thread-safe, stateless.
#pragma once

#include "larder/clock.h"

namespace larder {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Millis monotonic() const noexcept override;
  /// Exact to the microsecond, some 25 ns a call.
  [[nodiscard]] std::int64_t micros() const noexcept override;
  [[nodiscard]] Millis wall() const noexcept override;
};

}  // namespace larder
