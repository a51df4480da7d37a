// InlineExecutor: a ManualExecutor whose posted tasks run at once, in the thread that posts them.
// Timers still wait for runAll().
#pragma once

#include "larder/testing/manual_executor.h"

namespace larder::testing {

class InlineExecutor final : public ManualExecutor {
 public:
  using ManualExecutor::ManualExecutor;
  bool post(Task task) noexcept override {
    if (refusing()) return false;
    task();
    return true;
  }
};

}  // namespace larder::testing
