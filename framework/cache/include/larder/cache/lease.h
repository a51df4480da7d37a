// Lease: the right to render a key, held by one process at a time (L24). It only saves work: who
// renders without one does no harm, because the ledger judges what is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larder/cache.h"
#include "larder/clock.h"
#include "larder/key.h"

namespace larder {

/// What a manager offers whose store other processes see. Thread-safe, noexcept.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  /// Reason::exists: somebody else holds it. `token` tells one holder from the next; it ends by
  /// itself after `ttl` ms, which are at least two seconds.
  virtual Stored lease(const CacheKey& key, std::string_view token, Millis ttl,
                       Deadline deadline) noexcept = 0;
  /// Only with the token that it was taken with.
  virtual Stored endLease(const CacheKey& key, std::string_view token,
                          Deadline deadline) noexcept = 0;
};

/// Given back at the end of its life, unless the store is `hopeless` by then: it did not answer in
/// time, which take() notes there, too. Used by one thread; the key's bytes are not kept.
class Lease {
 public:
  explicit Lease(bool& hopeless) noexcept : hopeless_(&hopeless) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { end(); }

  enum class Taken : std::uint8_t {
    mine,
    busy,  ///< another process renders this key
    none,  ///< the store could not be asked
  };
  /// It will end on another thread, after the request that took it, and until this time.
  void outlive(Deadline deadline) noexcept {
    own_ = hopeless_ ? *hopeless_ : own_;
    hopeless_ = nullptr;
    deadline_ = deadline;
  }
  [[nodiscard]] Taken take(LeaseStore& store, const CacheKey& key, Millis ttl,
                           Deadline deadline) noexcept;

 private:
  void end() noexcept;

  bool* hopeless_;  ///< the request's; null once the lease is on its own
  bool own_ = false;
  LeaseStore* store_ = nullptr;
  Digest key_;
  Deadline deadline_ = 0;
  std::string token_;
};

}  // namespace larder
