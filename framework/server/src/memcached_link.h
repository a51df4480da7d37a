// MemcachedLink: one connection to the memcached that nginx reads, for writing what nginx finds
// there.
//
// A manager's plugin cannot do this: nginx wants plain values, a flag of its own and an absolute
// expiry, and the publisher wants to know of each command whether it was answered.
//
// Used by one thread, which waits for answers at most kTimeout ms a call. What is not answered as
// memcached answers closes the connection.
#pragma once

#include <Poco/Net/StreamSocket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/clock.h"
#include "larder/result.h"

namespace larder::server {

class MemcachedLink {
 public:
  static constexpr Millis kTimeout = 300;

  struct Item {
    std::string_view key;  ///< 1 to 250 bytes, none below 0x21
    std::string_view value;
    unsigned flags = 0;
    std::int64_t expires = 0;  ///< by now()
  };
  enum class Answer : std::uint8_t {
    stored,
    refused,  ///< too large, no memory: an older value may be there
    unknown,  ///< may have been stored, or may still be
  };

  /// `address`: "host:port", "[IPv6]:port" or "/socket".
  MemcachedLink(std::string address, const Clock& clock)
      : address_(std::move(address)), clock_(clock) {}

  Result<> connect();
  void close() noexcept;
  [[nodiscard]] bool connected() const noexcept { return socket_.has_value(); }
  /// Closes a connection that the other side has closed: what is sent into it would stay in doubt.
  void check() noexcept;
  /// The server's clock in seconds, at most a second late: expiry follows it, whatever the wall
  /// clock of this machine does.
  [[nodiscard]] std::int64_t now() const noexcept;

  /// One answer for each item.
  std::vector<Answer> set(std::span<const Item> items);
  /// How many of the keys, from the first on, are known to be gone.
  std::size_t erase(std::span<const std::string> keys);

 private:
  [[nodiscard]] bool send(std::string_view bytes) noexcept;
  /// Without its line end; nothing when none came in time.
  std::optional<std::string> readLine() noexcept;
  /// The time that is left of a call; the socket waits no longer.
  bool keepTime();

  std::string address_;
  const Clock& clock_;
  std::optional<Poco::Net::StreamSocket> socket_;
  std::string received_;
  Millis deadline_ = 0;
  Millis ahead_ = 0;  ///< of the server's clock, to the monotonic one
};

}  // namespace larder::server
