// Ring: which server keeps a key: weighted ketama, as libmemcached lays it out, so that a server
// which comes or goes moves only its own share, and other clients of that library agree.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "server_address.h"

struct memcached_st;

namespace larder::memcached {

/// Immutable, safe from any thread.
class Ring {
 public:
  /// Throws std::runtime_error when the library refuses a server or is too old.
  explicit Ring(std::span<const Endpoint> servers);
  /// Index into `servers`.
  [[nodiscard]] std::size_t serverOf(std::string_view key) const noexcept;

 private:
  struct Free {
    void operator()(memcached_st* handle) const noexcept;
  };
  std::size_t servers_;
  std::unique_ptr<memcached_st, Free> handle_;
};

}  // namespace larder::memcached
