// MultiGet: one "get" to each of several servers at a time, all answers awaited together within one
// budget: a server that hangs takes nothing from the others.
//
//   Ask asks[] = {{server_a, keys_a, answers_a}, {server_b, keys_b, answers_b}};
//   multiGet(asks, budget);
//
// Afterwards each answer is a hit, a miss (the server is well and has no such key) or an error, and
// the servers have counted it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "budget.h"
#include "get_reply.h"
#include "larder/cache.h"
#include "server.h"

namespace larder::memcached {

/// What one server is asked. At most kMaxKeys keys, so that the request fits into a socket's buffer
/// whatever the server does meanwhile.
struct Ask {
  static constexpr std::size_t kMaxKeys = 256;

  Server* server;
  std::span<const std::string_view> keys;
  std::span<ByteLookup> answers;  ///< as long as `keys`, each a miss

  // While it runs.
  Server::Checkout connection = {};
  std::optional<GetReply> reply = {};
  Millis time = 0;  ///< that this server had
  bool repeated = false;
  bool deferred = false;
};

void multiGet(std::span<Ask> asks, const Budget& budget) noexcept;

}  // namespace larder::memcached
