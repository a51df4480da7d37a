// Server: the HTTP front. Connections are state machines on a few reactor threads; hits are
// answered there, everything else on a bounded pool of workers, so that no connection costs a
// thread.
//
//   ServerOptions options;
//   options.port = 8080;
//   auto server = Server::start(options, handler, clock);
//   if (!server) fail(server.error().message);
//   ...
//   (*server)->drain(10'000);   // finish what runs, at most ten seconds
//
// Handler and clock are borrowed and outlive the server. All functions are thread-safe, but only
// one thread may drain or destroy it, and not one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "larder/clock.h"
#include "larder/http/handler.h"
#include "larder/http/head_parser.h"
#include "larder/http/proxies.h"
#include "larder/result.h"

namespace larder::http {

/// Times are milliseconds. All deadlines are totals: a byte now and then does not extend them.
struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  ///< 0: any free one, told by Server::port()
  /// Several processes may listen on the same port, and share its connections.
  bool reuse_port = false;
  int backlog = 4096;
  unsigned reactors = 1;
  unsigned workers = 16;

  /// Requests that wait for a worker; past it 503.
  std::size_t queue_limit = 1000;
  Millis queue_deadline = 10'000;  ///< waiting for a worker; then 503

  /// Per process, and never more than its limit of open files allows. Past it the longest idle one
  /// makes room, if it has been idle for `least_idle`; else those who connect wait in the backlog.
  std::size_t max_connections = 20'000;
  Millis least_idle = 1'000;
  Millis head_deadline = 10'000;  ///< from connecting, or from the first byte on
  Millis body_deadline = 60'000;  ///< from the head on
  Millis idle_deadline = 65'000;  ///< between requests
  /// An answer must leave at `write_minimum` bytes per `write_deadline`, or to its end.
  Millis write_deadline = 30'000;
  std::uint64_t write_minimum = 64 * 1024UL;
  /// How long, after an error, what the client still sends is read and dropped, so that the answer
  /// is not lost to a connection reset.
  Millis linger_deadline = 2'000;
  /// Bytes in all of messages that are being received, wait for a worker or have one; past it 503.
  std::size_t input_budget = 256UL * 1024 * 1024;

  /// The names that are this server's, in lower case, without a port: "example.org",
  /// "*.example.org" for all below it. A request for another one gets 421. Empty: any.
  std::vector<std::string> hosts;
  /// Whose X-Forwarded-For is believed.
  Networks proxies;
  /// Clients reach the server by TLS (told to handlers).
  bool secure = false;
  ParserLimits limits;
};

/// Counts since the start, but for the first two.
struct ServerStats {
  std::uint64_t open_connections = 0;
  std::uint64_t queued_requests = 0;
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;
  std::uint64_t fast_hits = 0;     ///< answered on a reactor thread
  std::uint64_t refused = 0;       ///< malformed, too large or too slow messages
  std::uint64_t overloaded = 0;    ///< 503 for want of a worker or of memory
  std::uint64_t idle_evicted = 0;  ///< idle connections closed to make room
  std::uint64_t accept_pauses = 0;
  std::uint64_t bytes_sent = 0;
};

class Server {
 public:
  /// Listens and starts the threads. Fails with a message that names the address and the remedy.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, Handler& handler,
                                               const Clock& clock);
  /// Closes every connection at once and waits for the handlers that run.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] ServerStats stats() const noexcept;
  /// Accepts no more, closes idle connections, lets requests end and answers them with
  /// "Connection: close". True when all was done within `deadline` ms; else the rest is cut off,
  /// and handlers may still run, for nobody.
  bool drain(Millis deadline);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder::http
