// Where a memcached server listens, as a configuration says it:
//
//   "127.0.0.1:11211"   "cache1.example:11211?2"   "[::1]:11211"   "/run/memcached.sock?3"
//
// The number after the question mark is the weight, the server's share of the keys; 1 if left out.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.h"

namespace larder::memcached {

struct ServerAddress {
  std::string host;  ///< name or address without brackets; empty for a Unix socket
  std::uint16_t port = 0;
  std::string path;  ///< of a Unix socket
  std::uint32_t weight = 1;

  static constexpr std::uint32_t kMaxWeight = 1000;
};

/// The error quotes the text and says what to write instead.
Result<ServerAddress> parseServer(std::string_view text);
/// Each once, at least one.
Result<std::vector<ServerAddress>> parseServers(const std::vector<std::string>& texts);

/// A server as it is known, and where it is.
struct Endpoint {
  /// The same in every process and whatever a name's address is at the moment:
  /// "cache1.example:11211" in lower case, "127.0.0.1:11211", "[::1]:11211" or a path. Statistics,
  /// the log and the distribution of keys use it.
  std::string name;
  std::string host;  ///< name, numeric address or path
  std::uint16_t port = 0;
  std::uint32_t weight = 1;
  bool is_name = false;  ///< whose address resolved() finds
  sockaddr_storage address{};
  socklen_t address_size = 0;  ///< 0: not known
  std::string problem;         ///< why it is not, or the last try did not find it

  [[nodiscard]] bool isUnix() const noexcept { return port == 0; }
};

/// Asks nobody.
Endpoint endpointOf(const ServerAddress& server);
/// Asks the resolver where a name is, which may take seconds; of several addresses IPv4 comes
/// first, then the lowest. What cannot be resolved keeps the address that it had.
Endpoint resolved(Endpoint endpoint);
/// By their names, or both at one address.
[[nodiscard]] bool areSame(const Endpoint& a, const Endpoint& b) noexcept;

}  // namespace larder::memcached
