#include "larder/testing/manual_clock.h"

namespace larder::testing {

Millis ManualClock::monotonic() const noexcept {
  const std::lock_guard lock(mutex_);
  return monotonic_;
}

Millis ManualClock::wall() const noexcept {
  const std::lock_guard lock(mutex_);
  return wall_;
}

void ManualClock::advance(Millis by) noexcept {
  const std::lock_guard lock(mutex_);
  monotonic_ += by;
  wall_ += by;
  changed_.notify_all();
}

void ManualClock::advanceTo(Millis when) noexcept {
  const std::lock_guard lock(mutex_);
  if (when <= monotonic_) return;
  wall_ += when - monotonic_;
  monotonic_ = when;
  changed_.notify_all();
}

void ManualClock::jumpWall(Millis by) noexcept {
  const std::lock_guard lock(mutex_);
  wall_ += by;
}

void ManualClock::awaitWaiters(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiters_ >= count; });
}

/// Uses the clock's lock and condition, so that a move of the clock and a set() wake it alike.
class ManualEvent final : public Event {
 public:
  explicit ManualEvent(ManualClock& clock) : clock_(clock) {}

  void set() noexcept override {
    const std::lock_guard lock(clock_.mutex_);
    set_ = true;
    clock_.changed_.notify_all();
  }

  bool wait(Millis deadline) noexcept override {
    std::unique_lock lock(clock_.mutex_);
    ++clock_.waiters_;
    clock_.changed_.notify_all();
    clock_.changed_.wait(lock, [&] { return set_ || clock_.monotonic_ >= deadline; });
    --clock_.waiters_;
    return set_;
  }

 private:
  ManualClock& clock_;
  bool set_ = false;
};

std::unique_ptr<Event> makeManualEvent(ManualClock& clock) {
  return std::make_unique<ManualEvent>(clock);
}

}  // namespace larder::testing
