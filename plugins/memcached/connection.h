// Connection: one socket to a memcached server with a buffer for what was read and not yet used.
//
// Every wait is for what is left of a Budget, so an operation ends in time even if the server sends
// one byte now and then. Not even a server that lies can make it read more than it was told to.
//
// Used by one thread at a time. Closes its socket at its end without another word to the server.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "budget.h"
#include "larder/cache.h"
#include "server_address.h"

namespace larder::memcached {

class Connection {
 public:
  struct Failure {
    Reason reason = Reason::none;  ///< timeout, unreachable or protocol
    std::string detail;            ///< for people
    bool ours = false;             ///< the server has no part in it: no connection was free
  };

  /// Connects within `connect_timeout`; null, and why, if that fails.
  static std::unique_ptr<Connection> open(const Endpoint& server, Millis connect_timeout,
                                          const Budget& budget, Failure& failure);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int socket() const noexcept { return socket_; }

  /// Sends all of it, or gives the reason why not. Afterwards the connection is of no use.
  [[nodiscard]] Reason send(std::span<iovec> parts, const Budget& budget) noexcept;

  /// What was received and not yet consumed.
  [[nodiscard]] std::string_view received() const noexcept {
    return {buffer_.get() + begin_, size_};
  }
  void consume(std::size_t bytes) noexcept;
  /// Takes what has arrived without waiting; first into `direct`, what is more into the buffer.
  /// Gives how much went to `direct`. Precondition: the buffer is empty if `direct` is not.
  struct Arrived {
    enum class State : std::uint8_t { some, nothing, closed } state;
    std::size_t direct = 0;
  };
  [[nodiscard]] Arrived receive(std::span<char> direct = {}) noexcept;
  /// Waits until something arrived and takes it. False: the budget is over or the server has closed
  /// the connection; `reason` says which.
  [[nodiscard]] bool await(const Budget& budget, Reason& reason) noexcept;
  /// The next line without its end; the view lives until the next call. Nothing: `reason` says why;
  /// a line of more than kMaxLine bytes is Reason::protocol.
  [[nodiscard]] bool readLine(std::string_view& line, const Budget& budget,
                              Reason& reason) noexcept;
  static constexpr std::size_t kMaxLine = 2048;

  /// Whether the server still listens and has not said anything unasked.
  [[nodiscard]] bool isQuiet() const noexcept;

  bool reused = false;
  std::uint64_t generation = 0;
  Millis idle_since = 0;

 private:
  static constexpr std::size_t kBufferSize = 64 * 1024;
  explicit Connection(int socket)
      : socket_(socket), buffer_(std::make_unique_for_overwrite<char[]>(kBufferSize)) {}

  int socket_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

}  // namespace larder::memcached
