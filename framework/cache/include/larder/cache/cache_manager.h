// CacheManager: an id at a place in the site, one cache, one default policy, its counters.
// CacheManagerRegistry: managers by (path, id), found by acquisition: the nearest one up the path.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.h"
#include "larder/cache/lease.h"
#include "larder/cache/policy.h"
#include "larder/cache/statistics.h"

namespace larder {

/// Whether a look-up may wait for something outside of this process.
enum class Waits : std::uint8_t {
  never,
  given_time,  ///< not with a deadline that is over: then the answer is what is at hand
  always,      ///< asked on workers only
};

/// Immutable but for its counters; reconfiguring makes a new one and swaps it, the old one lives
/// until its last user is done.
class CacheManager {
 public:
  struct Identity {
    std::string path;  ///< canonical path it is placed at
    std::string id;
    std::string type;  ///< the plugin's: "RAMCache"
    bool is_default = false;
  };
  /// `cache` owns whatever keeps the plugin's instance alive. `leases`: part of `cache`, null if it
  /// has none.
  CacheManager(Identity identity, Policy policy, std::shared_ptr<Cache> cache, Waits waits,
               LeaseStore* leases = nullptr);

  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }
  [[nodiscard]] const Policy& policy() const noexcept { return policy_; }
  [[nodiscard]] Cache& cache() const noexcept { return *cache_; }
  [[nodiscard]] const std::shared_ptr<Cache>& sharedCache() const noexcept { return cache_; }
  [[nodiscard]] Waits waits() const noexcept { return waits_; }
  [[nodiscard]] LeaseStore* leases() const noexcept { return leases_; }
  /// "manager:PATH:ID", checked by each of its entries.
  [[nodiscard]] const std::string& scope() const noexcept { return scope_; }
  [[nodiscard]] Counters& counters() const noexcept { return counters_; }

 private:
  Identity identity_;
  Policy policy_;
  std::shared_ptr<Cache> cache_;
  Waits waits_;
  LeaseStore* leases_;
  std::string scope_;
  mutable Counters counters_;
};

using ManagerPtr = std::shared_ptr<const CacheManager>;

/// A manager that could not be made: named by views all the same, renders uncached, and says why.
struct FailedManager {
  CacheManager::Identity identity;
  std::string reason;
};

/// Immutable; a change makes a new registry.
class CacheManagerRegistry {
 public:
  CacheManagerRegistry() = default;
  CacheManagerRegistry(std::vector<ManagerPtr> managers, std::vector<FailedManager> failed);

  /// The manager with this id that is placed nearest at or above `path`; null if there is none or
  /// it failed.
  [[nodiscard]] ManagerPtr acquire(std::string_view path, std::string_view id) const;
  /// The nearest default at or above `path`.
  [[nodiscard]] ManagerPtr nearestDefault(std::string_view path) const;
  [[nodiscard]] const std::vector<ManagerPtr>& managers() const noexcept { return managers_; }
  [[nodiscard]] const std::vector<FailedManager>& failed() const noexcept { return failed_; }

 private:
  [[nodiscard]] ManagerPtr nearest(std::string_view path, const std::string_view* id) const;
  std::vector<ManagerPtr> managers_;
  std::vector<FailedManager> failed_;
};

/// Whether canonical path `path` is `ancestor` or below it ("/a" covers "/a/b", not "/ab").
[[nodiscard]] bool isAtOrBelow(std::string_view path, std::string_view ancestor) noexcept;

}  // namespace larder
