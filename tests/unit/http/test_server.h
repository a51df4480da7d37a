// A live server on a free port of 127.0.0.1 with a handler whose paths do what tests need.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "larder/cache/system_clock.h"
#include "larder/http/server.h"
#include "raw_client.h"

namespace larder::http::test {

/// Fast path: /hit and /head-of-hit answer a stored page, /big a stored page of kBigSize bytes,
/// /fast-bad a header with a line end, /fast-block waits there for release(). Workers: /probe
/// counts, /echo gives the body back, /header gives the X-Echo header back as a body and as a
/// header, /status/N answers N, /block waits for release(), /bad sets a header with a line end,
/// /close ends the connection, /big-made makes kBigSize bytes, /together/hit is answered together
/// with others if some wait, /together/... tells what was found out then: of these /together/meet
/// waits for a second one, /together/leaves is not looked up before its client has gone,
/// /together/stays takes a moment longer than its client; /stuck waits for release() whether or not
/// its client does; /peer tells the client's address; everything else is 404.
class TestHandler final : public Handler {
 public:
  static constexpr std::size_t kBigSize = 16UL * 1024 * 1024;

  TestHandler();
  Fast tryFast(const Request& request, Response& response) noexcept override;
  void tryTogether(std::span<Attempt> attempts) noexcept override;
  void handle(const Request& request, Response& response, Finding* finding) noexcept override;
  void served(const Request& request, const Served& answer) noexcept override;
  void refused(const PeerAddress& peer, int status, std::string_view reason) noexcept override;

  void release();
  /// Waits, at most five seconds, until `condition` holds.
  bool eventually(const std::function<bool()>& condition);

  std::atomic<int> probes{0};
  std::atomic<int> handled{0};
  std::atomic<int> blocked{0};  // inside /block or the like now
  std::atomic<int> most_together{0};
  std::atomic<int> meeting{0};   // that came to /together/meet
  std::atomic<int> staying{0};   // that came to /together/stays
  std::atomic<int> findings{0};  // alive
  std::atomic<int> cancelled{0};
  std::atomic<int> durable{0};  // holders made durable
  std::atomic<int> held{0};     // holders alive
  std::atomic<int> last_refusal{0};
  std::atomic<int> last_served{0};

 private:
  class Hold;

  std::string hit_head_;
  std::string hit_body_;
  std::string big_head_;
  std::string big_body_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool release_ = false;
};

class TestServer {
 public:
  /// Port 0 and few threads, then `change`.
  explicit TestServer(const std::function<void(ServerOptions&)>& change = [](ServerOptions&) {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return server->port(); }

  TestHandler handler;
  SystemClock clock;
  std::unique_ptr<Server> server;
};

/// All of its workers have a request that does not end before release().
class BusyServer : public TestServer {
 public:
  explicit BusyServer(
      unsigned workers = 1,
      const std::function<void(ServerOptions&)>& change = [](ServerOptions&) {});
  /// Sends it; returns when so many requests wait for a worker.
  RawClient enqueue(const std::string& request, std::size_t waiting);
  void awaitWaiting(std::size_t count);

  std::vector<RawClient> running;
};

}  // namespace larder::http::test
