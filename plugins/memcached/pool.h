// Pool: servers that share the keys between them by the ring.
//
// Every operation ends within its budget. Keys are well-formed; what the servers answer is exact:
// see memcached_manager.h.
//
// Thread-safe. The host outlives it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "budget.h"
#include "commands.h"
#include "larder/cache.h"
#include "larder/host.h"
#include "ring.h"
#include "server.h"

namespace larder::memcached {

class Pool {
 public:
  /// Throws std::runtime_error when libmemcached refuses a server.
  Pool(Host& host, const std::vector<Endpoint>& servers, const ServerOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Only answers that are misses are asked for.
  void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> answers,
               const Budget& budget) noexcept;
  ByteLookup get(std::string_view key, const Budget& budget) noexcept;
  /// A value that no item can hold is not sent; `set` then erases the older one.
  Stored store(Verb verb, std::string_view key, std::string_view value, std::int64_t expiry,
               const Budget& budget) noexcept;
  Stored erase(std::string_view key, const Budget& budget) noexcept;
  Stored release(std::string_view key, std::string_view expected, const Budget& budget) noexcept;
  void distrust(std::string_view key) noexcept { serverOf(key).forgetIdle(); }

  /// Of the server that takes the least.
  [[nodiscard]] std::size_t maxValue() const noexcept;
  [[nodiscard]] const std::vector<std::shared_ptr<Server>>& servers() const noexcept {
    return servers_;
  }

 private:
  [[nodiscard]] Server& serverOf(std::string_view key) const noexcept {
    return *servers_[ring_.serverOf(key)];
  }
  const Ring ring_;
  std::vector<std::shared_ptr<Server>> servers_;
};

}  // namespace larder::memcached
