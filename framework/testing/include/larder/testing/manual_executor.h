// ManualExecutor: posted tasks wait until a test runs them, in the order of posting; timers follow
// a ManualClock.
//
//   ManualClock clock;
//   ManualExecutor executor(clock);
//   cache.refreshInBackground(key);    // posts
//   executor.runAll();                 // the refresh happens here
//   clock.advance(1000);
//   executor.runAll();                 // timers that are due by now
//
// Thread-safe. The clock outlives the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "larder/executor.h"
#include "larder/testing/manual_clock.h"

namespace larder::testing {

class ManualExecutor : public Executor {
 public:
  enum class Waiting : std::uint8_t {
    /// Event::wait() blocks until another thread sets the event or moves the clock.
    blocks,
    /// Event::wait() runs tasks, then moves the clock to the next timer or to its deadline: for
    /// tests of one thread, which would block for ever otherwise. Ends the process when there is
    /// neither a task nor a timer nor a deadline.
    drives,
  };
  explicit ManualExecutor(ManualClock& clock, Waiting waiting = Waiting::blocks)
      : clock_(clock), waiting_(waiting) {}

  bool post(Task task) noexcept override;
  bool postAt(Millis when, Task task) noexcept override;
  [[nodiscard]] std::unique_ptr<Event> makeEvent() override;

  /// Runs the next task, or the first timer that is due; false when there is neither.
  bool runOne();
  /// Runs until there is nothing left that is due; returns how many ran.
  std::size_t runAll();
  /// Tasks that wait, without timers.
  [[nodiscard]] std::size_t pending() const;
  /// Timers that wait, due or not.
  [[nodiscard]] std::size_t timers() const;
  /// From now on, as a full queue does, post() and postAt() refuse; or accept again.
  void refuse(bool refusing);
  [[nodiscard]] bool refusing() const;

 private:
  friend class DrivingEvent;
  /// Moves the clock to the first timer if it is due by `deadline`; false if there is none.
  bool advanceToTimer(Millis deadline);

  ManualClock& clock_;
  const Waiting waiting_;
  mutable std::mutex mutex_;
  std::deque<Task> tasks_;
  std::multimap<Millis, Task> timers_;
  bool refusing_ = false;
};

}  // namespace larder::testing
