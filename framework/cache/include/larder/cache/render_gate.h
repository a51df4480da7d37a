// RenderGate: bounds how many renders run at a time; one more waits for its turn, in the order of
// coming, and is refused when its time is over.
//
//   RenderGate gate;
//   const RenderGate::Place place(&gate, policy.max_renders, executor, clock.monotonic() + 1'000);
//   if (!place) throw CallRefused{...};
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "larder/cache.h"
#include "larder/executor.h"

namespace larder {

/// Thread-safe. Nobody who comes later overtakes one who waits.
class RenderGate {
 public:
  class Place {
   public:
    /// Waits until `until` for one of `limit` places; null: there is no limit.
    Place(RenderGate* gate, std::size_t limit, Executor& executor, Deadline until)
        : gate_(gate && gate->enter(limit, executor, until) ? gate : nullptr),
          ok_(!gate || gate_) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (gate_) gate_->leave();
    }
    explicit operator bool() const noexcept { return ok_; }

   private:
    RenderGate* gate_;
    bool ok_;
  };

 private:
  struct Waiter {
    std::size_t limit;
    std::unique_ptr<Event> turn = {};
    bool admitted = false;
  };
  [[nodiscard]] bool enter(std::size_t limit, Executor& executor, Deadline until);
  void leave() noexcept;
  /// Whoever is first may come in as soon as there is room by the limit that he came with.
  void admit() noexcept;

  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::deque<Waiter*> waiting_;
};

}  // namespace larder
