#include "larder/cache/render_gate.h"

#include <algorithm>

namespace larder {

bool RenderGate::enter(std::size_t limit, Executor& executor, Deadline until) {
  Waiter me{.limit = limit};
  {
    const std::lock_guard lock(mutex_);
    if (taken_ < limit && waiting_.empty()) {
      ++taken_;
      return true;
    }
    me.turn = executor.makeEvent();
    waiting_.push_back(&me);
  }
  me.turn->wait(until);
  const std::lock_guard lock(mutex_);
  if (me.admitted) return true;
  std::erase(waiting_, &me);
  admit();  // there may be room for whoever was behind
  return false;
}

void RenderGate::leave() noexcept {
  const std::lock_guard lock(mutex_);
  --taken_;
  admit();
}

// Under the lock, because a waiter whose time is over at this moment takes its event with it.
void RenderGate::admit() noexcept {
  while (!waiting_.empty() && taken_ < waiting_.front()->limit) {
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    ++taken_;
    next.admitted = true;
    next.turn->set();
  }
}

}  // namespace larder
