// Sweeper: repeats a piece of background work on the host's executor, whether or not anything
// happens meanwhile, until it is stopped.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "larder/host.h"

namespace larder::ram {

class Sweeper : public std::enable_shared_from_this<Sweeper> {
 public:
  /// Does a bounded part of the work; true if there is more to do now.
  using Slice = std::function<bool()>;

  Sweeper(Host& host, Millis interval, Slice slice)
      : host_(host), interval_(interval), slice_(std::move(slice)) {}

  /// Asks for the next round unless it is asked for already. The executor may have refused it when
  /// it was full; so call this now and then.
  void arm() noexcept {
    if (!armed_.load(std::memory_order_relaxed)) askAfterInterval();
  }
  /// No slice runs or will run when this returns.
  void stop() noexcept {
    const std::lock_guard lock(mutex_);
    slice_ = nullptr;
  }

 private:
  void askAfterInterval() noexcept;
  void run() noexcept;

  Host& host_;
  const Millis interval_;
  std::atomic<bool> armed_{false};
  /// Held while a slice runs, so that stop() waits for it.
  std::mutex mutex_;
  Slice slice_;
};

}  // namespace larder::ram
