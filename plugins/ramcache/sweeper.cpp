#include "sweeper.h"

#include <utility>

namespace larder::ram {

void Sweeper::askAfterInterval() noexcept {
  if (armed_.exchange(true, std::memory_order_relaxed)) return;
  const auto when = addMillis(host_.clock().monotonic(), interval_);
  const bool taken = host_.executor().postAt(when, [self = shared_from_this()] { self->run(); });
  if (!taken) armed_.store(false, std::memory_order_relaxed);
}

void Sweeper::run() noexcept {
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    if (!slice_) return;
    more = slice_();
  }
  if (more && host_.executor().post([self = shared_from_this()] { self->run(); })) return;
  armed_.store(false, std::memory_order_relaxed);
  askAfterInterval();
}

}  // namespace larder::ram
