// What the parts of the engine share.
#pragma once

#include <memory>
#include <utility>

#include "larder/cache/engine.h"

namespace larder {

/// Ends a leader's flight however its render ends.
class Engine::Landing {
 public:
  Landing(FlightTable& table, const Digest& key, std::shared_ptr<Flight> flight) noexcept
      : table_(table), key_(key), flight_(std::move(flight)) {}
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;
  ~Landing() { fail(); }
  void fail() noexcept {
    if (std::exchange(landed_, true)) return;
    flight_->failed = true;
    table_.land(key_, *flight_, 0);
  }
  void deliver(const Rendered& rendered, Millis now) noexcept {
    constexpr Millis kDoNotWait = 2'000;
    if (rendered.storable) {
      flight_->entry = rendered.entry;
      flight_->names = rendered.names;
    }
    table_.land(key_, *flight_, rendered.storable ? 0 : now + kDoNotWait);
    landed_ = true;
  }
  [[nodiscard]] Flight& flight() const noexcept { return *flight_; }

 private:
  FlightTable& table_;
  Digest key_;
  std::shared_ptr<Flight> flight_;
  bool landed_ = false;
};

}  // namespace larder
