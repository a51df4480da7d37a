// RawClient: a TCP connection to a local port for tests that decide every byte themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace larder::http::test {

struct RawAnswer {
  int status = 0;
  std::string head;  // up to the empty line, line ends included
  std::string body;

  /// Value of a header, or "-" when it is missing.
  [[nodiscard]] std::string header(const std::string& name) const;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// False when the server has closed the connection.
  bool send(std::string_view bytes);
  /// Reads one answer with Content-Length; nullopt when the connection ends or nothing comes for
  /// five seconds. An answer to HEAD has no body.
  std::optional<RawAnswer> receive(bool to_head = false);
  /// Everything until the server closes; nullopt when it does not within five seconds.
  std::optional<std::string> receiveAll();
  /// True when the server closes, in whatever way, within five seconds, sending nothing more.
  bool closed();
  /// No more bytes will be sent.
  void finish();
  /// Ends the connection by a reset.
  void reset();

 private:
  bool fill();

  int fd_;
  std::string pending_;
};

/// A request for host "h". `fields`: lines with their line ends.
std::string get(const std::string& path, const std::string& fields = "");
/// A request with a body and its length. `start`: method and path.
std::string withBody(const std::string& start, const std::string& body);

/// One request on a connection of its own. `fields`: lines with their line ends.
std::optional<RawAnswer> fetch(std::uint16_t port, const std::string& path,
                               const std::string& fields = "");

}  // namespace larder::http::test
