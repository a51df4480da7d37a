// Everything that is not a get: each is one question with a one-line answer, on a connection that
// was alive a moment ago.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget.h"
#include "larder/cache.h"
#include "server.h"

namespace larder::memcached {

enum class Verb : std::uint8_t { set, add };

/// What memcached is told for a time to live: seconds rounded up, never 0; from 30 days on a point
/// in time, because it takes larger numbers for one. 0, no expiry, for kForever and for what its 32
/// bits do not hold. `ttl` > 0, `wall` in ms.
[[nodiscard]] std::int64_t expiryFor(Millis ttl, Millis wall) noexcept;

/// `value` is at most the server's maxValue().
Stored store(Server& server, Verb verb, std::string_view key, std::string_view value,
             std::int64_t expiry, const Budget& budget) noexcept;
/// Ok also if there was none.
Stored erase(Server& server, std::string_view key, const Budget& budget) noexcept;
/// Compare and delete: "gets", then "cas" to an expired time. Reason::cold: there was none;
/// Reason::exists: it is another one.
Stored release(Server& server, std::string_view key, std::string_view expected,
               const Budget& budget) noexcept;
/// The server's own statistics. Empty when it cannot be asked.
std::vector<std::pair<std::string, std::string>> serverStats(Server& server,
                                                             const Budget& budget) noexcept;

}  // namespace larder::memcached
