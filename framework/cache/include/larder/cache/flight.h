// Flight: one render per key at a time; the others wait for it (single flight).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "larder/cache/learned_inputs.h"
#include "larder/entry.h"
#include "larder/executor.h"
#include "larder/key.h"

namespace larder {

class CallContext;

/// What followers get. Written by the leader before it lands, read by followers after.
struct Flight {
  std::unique_ptr<Event> landed;
  /// Null when the leader failed or its result may be given to nobody else.
  EntryPtr entry;
  bool failed = false;            ///< the leader's render threw
  InputNames names;               ///< the inputs in the entry's key
  CallContext* leader = nullptr;  ///< guarded by the table
};

/// Thread-safe.
class FlightTable {
 public:
  explicit FlightTable(Executor& executor) : executor_(executor) {}

  struct Joined {
    /// Null: nobody is to wait on this key for some time, or waiting would be a deadlock; render
    /// alone.
    std::shared_ptr<Flight> flight;
    bool leader = false;
    /// A flight landed since landings() gave `seen`: the leader looks once more before it renders.
    bool look_again = false;
  };
  /// Joins or starts the flight of a key. A follower that gets a flight must call leave() when it
  /// has waited.
  [[nodiscard]] Joined join(const Digest& key, CallContext& context, Millis now,
                            std::uint32_t seen);
  /// How many flights of this key, or of one that shares its counter, have landed. Read before a
  /// look-up and handed to join().
  [[nodiscard]] std::uint32_t landings(const Digest& key) const noexcept {
    return landings_[counterOf(key)].load(std::memory_order_acquire);
  }
  void leave(CallContext& context) noexcept;
  /// Another call renders for the leader; null while it is none yet.
  void handOver(Flight& flight, CallContext* leader) noexcept;
  /// Ends the leader's flight. `do_not_wait_until`: later callers of that key do not wait on each
  /// other until then.
  void land(const Digest& key, Flight& flight, Millis do_not_wait_until) noexcept;

 private:
  /// So many that the flights of one page's parts seldom share one.
  static constexpr std::size_t kCounters = 4096;
  static std::size_t counterOf(const Digest& key) noexcept { return key.low % kCounters; }

  Executor& executor_;
  std::array<std::atomic<std::uint32_t>, kCounters> landings_{};
  std::mutex mutex_;
  std::unordered_map<Digest, std::shared_ptr<Flight>, DigestHash> flights_;
  std::unordered_map<Digest, Millis, DigestHash> do_not_wait_;
};

}  // namespace larder
