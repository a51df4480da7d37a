// Signals as something to wait for, in one thread, instead of handlers that interrupt.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "larder/clock.h"

namespace larder::server {

/// Blocks the signals in this thread and those it starts. First thing in main().
void blockSignals();

/// The signals that blockSignals() blocks. Used by one thread, but for wake().
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The next one; none after `patience` ms or when woken up.
  std::optional<int> wait(Millis patience);
  /// Ends a wait(), this one or the next. From any thread.
  void wake() noexcept;

 private:
  int signals_;
  int wakes_;
};

}  // namespace larder::server
