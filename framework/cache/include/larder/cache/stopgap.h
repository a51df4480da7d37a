// Stopgap: what a store that is out of order did not take, for a moment and for this process alone:
// of many who came for one cold key some have to wait for a place to ask, and would render it again
// one after the other.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "larder/cache.h"
#include "larder/clock.h"
#include "larder/entry.h"
#include "larder/key.h"

namespace larder {

/// Whether a store that gives this reason could not be asked.
[[nodiscard]] constexpr bool isOutage(Reason reason) noexcept {
  return reason == Reason::timeout || reason == Reason::unreachable || reason == Reason::breaker ||
         reason == Reason::protocol;
}

/// Thread-safe. Bounded in number and bytes; what is over goes with the next use.
class Stopgap {
 public:
  void keep(EntryPtr entry, Millis now) noexcept;
  /// Null: nothing under this key.
  [[nodiscard]] EntryPtr find(const CacheKey& key, Millis now);

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  static constexpr Millis kMoment = 2'000;
  struct Kept {
    EntryPtr entry;
    std::size_t bytes = 0;
    Millis until = 0;
  };
  void sweep(Millis now) noexcept;

  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::unordered_map<Digest, Kept, DigestHash> kept_;
};

}  // namespace larder
