// MissLog: what became of the last render of a key, so that "why was this not a hit" has an answer.
// A fixed number of keys; a later one takes the place of another with the same slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "larder/cache.h"
#include "larder/cache/statistics.h"
#include "larder/clock.h"
#include "larder/key.h"

namespace larder {

struct MissRecord {
  Millis wall = 0;                          ///< when it was looked up
  Outcome miss = Outcome::miss_cold;        ///< why it was no hit
  Reason reason = Reason::none;             ///< what the cache said
  std::string changed;                      ///< the scope that had changed
  std::uint64_t changed_at = 0;             ///< its seq
  Outcome stored = Outcome::render_errors;  ///< stores, or why the new result was not stored
  std::string detail;                       ///< of a refusal
  Millis keep_until = 0;  ///< monotonic end of the stored result's lifetime, 0 if not stored
  /// Stored, within its lifetime, not invalidated, and yet the cache did not have it.
  bool evicted = false;
};

/// Thread-safe.
class MissLog {
 public:
  static constexpr std::size_t kSlots = 4096;

  void note(const Digest& key, MissRecord record, Millis now) {
    Slot& slot = slots_[key.low % kSlots];
    const std::lock_guard lock(slot.mutex);
    if (slot.key == key && record.miss == Outcome::miss_cold && slot.record.keep_until > 0) {
      record.evicted = now < slot.record.keep_until;
      if (!record.evicted) record.miss = Outcome::miss_expired;
    }
    slot.key = key;
    slot.record = std::move(record);
  }
  [[nodiscard]] std::optional<MissRecord> find(const Digest& key) const {
    const Slot& slot = slots_[key.low % kSlots];
    const std::lock_guard lock(slot.mutex);
    if (slot.key == key && slot.record.wall != 0) return slot.record;
    return std::nullopt;
  }

 private:
  struct Slot {
    mutable std::mutex mutex;
    Digest key;
    MissRecord record;
  };
  std::array<Slot, kSlots> slots_;
};

}  // namespace larder
