// ThreadPool: the Executor of production: a fixed number of threads, a bounded queue, and one
// thread for timers.
//
//   SystemClock clock;
//   ThreadPool pool(clock, {.threads = 4, .queue = 1000, .name = "refresh"});
//   auto done = pool.makeEvent();
//   if (!pool.post([&] { work(); done->set(); })) ++dropped;
//   done->wait(clock.monotonic() + 500);
//
// Thread-safe. The clock must outlive the pool and follow real time; a manual clock belongs to
// larder/testing/manual_executor.h. Events may outlive the pool, not the clock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "larder/clock.h"
#include "larder/executor.h"

namespace larder {

class ThreadPool final : public Executor {
 public:
  struct Options {
    std::size_t threads = 2;
    /// Tasks that wait for a thread; one more is refused.
    std::size_t queue = 1024;
    /// Tasks that wait for their time; one more is refused. Due ones always get into the queue.
    std::size_t timers = 16384;
    /// Of the threads, as ps and debuggers show it; the kernel keeps 15 characters.
    std::string name = "larder-pool";
  };

  /// Throws std::system_error when threads cannot be started.
  ThreadPool(const Clock& clock, Options options);
  /// Calls stop().
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  bool post(Task task) noexcept override;
  bool postAt(Millis when, Task task) noexcept override;
  [[nodiscard]] std::unique_ptr<Event> makeEvent() override;

  /// Refuses new tasks, drops those that wait, returns when the running ones have ended. Not from a
  /// task of this pool.
  void stop() noexcept;
  /// The same, but that it waits no longer than `patience` ms; false when tasks still run then.
  bool drain(Millis patience) noexcept;
  /// Tasks that wait for a thread.
  [[nodiscard]] std::size_t queued() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace larder
