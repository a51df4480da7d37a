// Listener: the listening socket, shared by the reactors of a process.
#pragma once

#include <Poco/Net/ServerSocket.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "larder/http/request.h"

namespace larder::http {

/// Thread-safe but for the constructor.
class Listener {
 public:
  struct Accepted {
    int fd = -1;
    PeerAddress peer;
  };
  enum class Outcome : std::uint8_t {
    accepted,
    none,       // nobody waits
    exhausted,  // out of descriptors or memory, or worse: try again later
  };

  /// Throws Poco::Exception when the address cannot be listened on.
  Listener(const std::string& host, std::uint16_t port, int backlog, bool reuse_port,
           unsigned users);

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// The socket is non-blocking, closed on exec and sends without delay.
  Outcome accept(Accepted& accepted) noexcept;
  /// One user accepts no more; after the last the socket is closed.
  void leave() noexcept;

 private:
  Poco::Net::ServerSocket socket_;
  int fd_;
  std::uint16_t port_;
  std::atomic<unsigned> users_;
};

}  // namespace larder::http
