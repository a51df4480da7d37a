// ManualClock: time that moves only when a test moves it, and events that wait for it.
//
//   ManualClock clock;
//   auto done = makeManualEvent(clock);
//   std::thread follower([&] { timed_out = !done->wait(clock.monotonic() + 500); });
//   clock.awaitWaiters(1);     // the follower is inside wait()
//   clock.advance(500);        // wakes it
//
// Thread-safe. The clock outlives its events.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "larder/clock.h"
#include "larder/executor.h"

namespace larder::testing {

class ManualClock final : public Clock {
 public:
  /// Starts at times that are unlike each other and unlike zero.
  explicit ManualClock(Millis monotonic = 1'000'000, Millis wall = 1'700'000'000'000)
      : monotonic_(monotonic), wall_(wall) {}

  [[nodiscard]] Millis monotonic() const noexcept override;
  [[nodiscard]] Millis wall() const noexcept override;

  /// Both times go on by `by` >= 0 ms.
  void advance(Millis by) noexcept;
  /// Moves on to the monotonic time `when`; does nothing if that is past.
  void advanceTo(Millis when) noexcept;
  /// The wall clock is set by somebody, either way; monotonic time does not notice.
  void jumpWall(Millis by) noexcept;

  /// Blocks until at least `count` threads wait in events of this clock.
  void awaitWaiters(std::size_t count) const;

 private:
  friend class ManualEvent;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Millis monotonic_;
  Millis wall_;
  std::size_t waiters_ = 0;
};

/// Waits until it is set or the clock was moved to the deadline.
[[nodiscard]] std::unique_ptr<Event> makeManualEvent(ManualClock& clock);

}  // namespace larder::testing
