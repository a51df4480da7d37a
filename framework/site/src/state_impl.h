#pragma once

#include <atomic>
#include <string_view>
#include <utility>

#include "larder/site/state.h"
#include "state_database.h"

namespace larder::site {

class State::Impl {
 public:
  explicit Impl(StateOptions options) : database(std::move(options)) {}

  /// Pages are shown also when this fails: it is logged, and tried again after a while.
  void prolong(std::string_view token_hash, Session& session, Millis now) noexcept;

  StateDatabase database;

 private:
  std::atomic<Millis> prolong_again_{0};  ///< monotonic
};

}  // namespace larder::site
