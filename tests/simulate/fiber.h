// Fiber: a thread of the simulated world. It runs only when it is resumed, until it pauses or ends,
// so the scheduler decides every interleaving.
//
//   Fiber fiber([] { first(); Fiber::pause(); second(); });
//   while (!fiber.ended()) fiber.resume();
//
// All fibers live on one thread of the real world. What is thrown must be caught in the fiber.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>

#include "larder/clock.h"
#include "larder/executor.h"

namespace larder::simulate {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  /// It must have ended.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void resume();
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// False while it waits for an event that is not set, before its deadline.
  [[nodiscard]] bool runnable(Millis now) const noexcept;
  /// Until when it waits; kForever if it waits for no event.
  [[nodiscard]] Millis deadline() const noexcept;

  /// Of the fiber that runs: gives the control back to whoever resumed it.
  static void pause();
  /// The one that runs, or null.
  [[nodiscard]] static Fiber* current() noexcept;

 private:
  friend class FiberEvent;
  struct Stack;
  static void enter();

  std::function<void()> body_;
  std::unique_ptr<Stack> stack_;
  ucontext_t here_{};
  ucontext_t back_{};
  const class FiberEvent* waits_for_ = nullptr;
  Millis until_ = kForever;
  bool ended_ = false;
};

/// Waiting pauses the fiber. After `dead` has become true no fiber waits any longer.
class FiberEvent final : public Event {
 public:
  FiberEvent(const Clock& clock, const bool& dead) : clock_(clock), dead_(dead) {}
  void set() noexcept override { set_ = true; }
  bool wait(Millis deadline) noexcept override;
  [[nodiscard]] bool over() const noexcept { return set_ || dead_; }

 private:
  const Clock& clock_;
  const bool& dead_;
  bool set_ = false;
};

}  // namespace larder::simulate
