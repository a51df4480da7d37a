#include "larder/cache/flight.h"

#include "larder/cache/engine.h"

namespace larder {

FlightTable::Joined FlightTable::join(const Digest& key, CallContext& context, Millis now,
                                      std::uint32_t seen) {
  const std::lock_guard lock(mutex_);
  if (const auto mark = do_not_wait_.find(key); mark != do_not_wait_.end()) {
    if (now < mark->second) return {};
    do_not_wait_.erase(mark);
  }
  auto& flight = flights_[key];
  if (!flight) {
    // Whole before it is there: what throws leaves nothing to wait for.
    auto fresh = std::make_shared<Flight>();
    fresh->landed = executor_.makeEvent();
    fresh->leader = &context;
    flight = std::move(fresh);
    return {flight, true, landings(key) != seen};
  }
  // Waiting for a leader that waits, perhaps through others, for us would never end.
  for (const Flight* f = flight.get(); f != nullptr && f->leader != nullptr;
       f = f->leader->waiting_for_) {
    if (f->leader == &context) return {};
  }
  context.waiting_for_ = flight.get();
  return {flight, false, false};
}

void FlightTable::leave(CallContext& context) noexcept {
  const std::lock_guard lock(mutex_);
  context.waiting_for_ = nullptr;
}

void FlightTable::handOver(Flight& flight, CallContext* leader) noexcept {
  const std::lock_guard lock(mutex_);
  flight.leader = leader;
}

void FlightTable::land(const Digest& key, Flight& flight, Millis do_not_wait_until) noexcept {
  {
    const std::lock_guard lock(mutex_);
    flight.leader = nullptr;
    flights_.erase(key);
    landings_[counterOf(key)].fetch_add(1, std::memory_order_release);
    if (do_not_wait_until > 0) {
      // Bounded: marks are hints, losing them costs a wait.
      if (do_not_wait_.size() >= 10'000) do_not_wait_.clear();
      do_not_wait_[key] = do_not_wait_until;
    }
  }
  flight.landed->set();
}

}  // namespace larder
