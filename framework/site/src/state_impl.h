#pragma once

#include "larder/site/state.h"
#include "state_database.h"

namespace larder::site {

class State::Impl {
 public:
  explicit Impl(StateOptions options) : database(std::move(options)) {}
  StateDatabase database;
};

}  // namespace larder::site
