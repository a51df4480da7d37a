#include "larder/testing/manual_executor.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace larder::testing {

class DrivingEvent final : public Event {
 public:
  explicit DrivingEvent(ManualExecutor& executor) : executor_(executor) {}

  void set() noexcept override { set_.store(true); }

  bool wait(Millis deadline) noexcept override {
    while (!set_.load()) {
      if (executor_.clock_.monotonic() >= deadline) return false;
      if (executor_.runOne() || executor_.advanceToTimer(deadline)) continue;
      if (deadline == kForever) {
        std::fputs("ManualExecutor: an event is awaited that nothing can set\n", stderr);
        std::abort();
      }
      executor_.clock_.advanceTo(deadline);
    }
    return true;
  }

 private:
  ManualExecutor& executor_;
  std::atomic<bool> set_{false};
};

bool ManualExecutor::post(Task task) noexcept {
  const std::lock_guard lock(mutex_);
  if (refusing_) return false;
  tasks_.push_back(std::move(task));
  return true;
}

bool ManualExecutor::postAt(Millis when, Task task) noexcept {
  const std::lock_guard lock(mutex_);
  if (refusing_) return false;
  timers_.emplace(when, std::move(task));
  return true;
}

std::unique_ptr<Event> ManualExecutor::makeEvent() {
  if (waiting_ == Waiting::drives) return std::make_unique<DrivingEvent>(*this);
  return makeManualEvent(clock_);
}

bool ManualExecutor::runOne() {
  Task task;
  {
    const std::lock_guard lock(mutex_);
    if (!tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    } else if (!timers_.empty() && timers_.begin()->first <= clock_.monotonic()) {
      task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    } else {
      return false;
    }
  }
  task();
  return true;
}

std::size_t ManualExecutor::runAll() {
  std::size_t ran = 0;
  while (runOne()) ++ran;
  return ran;
}

std::size_t ManualExecutor::pending() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

std::size_t ManualExecutor::timers() const {
  const std::lock_guard lock(mutex_);
  return timers_.size();
}

void ManualExecutor::refuse(bool refusing) {
  const std::lock_guard lock(mutex_);
  refusing_ = refusing;
}

bool ManualExecutor::refusing() const {
  const std::lock_guard lock(mutex_);
  return refusing_;
}

bool ManualExecutor::advanceToTimer(Millis deadline) {
  Millis when = 0;
  {
    const std::lock_guard lock(mutex_);
    if (timers_.empty() || timers_.begin()->first > deadline) return false;
    when = timers_.begin()->first;
  }
  clock_.advanceTo(when);
  return true;
}

}  // namespace larder::testing
