// Executor: where work runs and where threads wait. Injected everywhere, so that a simulation can
// decide every interleaving; production runs it on a bounded thread pool.
#pragma once

#include <functional>
#include <memory>

#include "larder/clock.h"

namespace larder {

/// One-shot latch. Thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  virtual void set() noexcept = 0;
  /// Blocks until set or until the clock's monotonic time reaches `deadline`; true when set.
  virtual bool wait(Millis deadline) noexcept = 0;
};

/// Thread-safe. Tasks must not throw.
class Executor {
 public:
  using Task = std::function<void()>;
  virtual ~Executor() = default;
  /// Runs the task soon on some thread; false when the queue is full or the executor is stopping
  /// (the task is dropped: background work is always optional).
  virtual bool post(Task task) noexcept = 0;
  /// Runs the task once at monotonic time `when` or soon after.
  virtual bool postAt(Millis when, Task task) noexcept = 0;
  [[nodiscard]] virtual std::unique_ptr<Event> makeEvent() = 0;
};

}  // namespace larder
