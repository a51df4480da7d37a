// Whose word is taken for a client's address: that of the proxies in front of the server.
//
//   const auto proxies = Networks::parse({"127.0.0.1", "10.0.0.0/8"});
//   if (!proxies) fail(proxies.error().message);
//   const PeerAddress client = clientBehind(*proxies, connection.peer, request.head());
//
// Each proxy appends the address that it was asked from to X-Forwarded-For; what stands before that
// may be anybody's invention. So the client is the last one of the list that is no proxy. Of the
// field Forwarded (RFC 7239) nothing is believed: who sets the one passes the other on unseen.
//
// Thread-safe once made.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/http/message.h"
#include "larder/http/request.h"
#include "larder/result.h"

namespace larder::http {

/// Of an IPv4 address mapped into IPv6, that IPv4 address.
[[nodiscard]] PeerAddress unmapped(const PeerAddress& address) noexcept;

/// "192.0.2.1", "2001:db8::1"; unmapped, port 0.
[[nodiscard]] std::optional<PeerAddress> parseAddress(std::string_view text);

class Networks {
 public:
  /// Addresses and networks ("10.0.0.0/8", "fd00::/8"). The error names the one that is neither.
  static Result<Networks> parse(std::span<const std::string> texts);
  [[nodiscard]] bool empty() const noexcept { return networks_.empty(); }
  [[nodiscard]] bool contain(const PeerAddress& address) const noexcept;

 private:
  struct Network {
    PeerAddress address;
    unsigned bits = 0;
  };
  std::vector<Network> networks_;
};

/// `peer`, unless that is one of the proxies: then the last address in X-Forwarded-For that is none
/// of them, or the first of all if all are. What comes before something that is no address counts
/// for nothing.
[[nodiscard]] PeerAddress clientBehind(const Networks& proxies, const PeerAddress& peer,
                                       const RequestHead& head);

}  // namespace larder::http
