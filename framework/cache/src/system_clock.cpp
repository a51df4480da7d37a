#include "larder/cache/system_clock.h"

#include <time.h>

namespace larder {
namespace {

Millis read(clockid_t id) noexcept {
  timespec now{};
  clock_gettime(id, &now);
  return Millis{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

Millis SystemClock::monotonic() const noexcept {
  return read(CLOCK_MONOTONIC_COARSE);
}
std::int64_t SystemClock::micros() const noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}
Millis SystemClock::wall() const noexcept {
  return read(CLOCK_REALTIME_COARSE);
}

}  // namespace larder
