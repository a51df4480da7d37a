#include "test_server.h"

#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace larder::http::test {
namespace {

std::string storedHead(std::size_t length) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " +
         std::to_string(length) + "\r\nX-Stored: yes\r\n";
}

}  // namespace

class TestHandler::Hold {
 public:
  explicit Hold(TestHandler& handler) : handler_(&handler) { ++handler.held; }
  Hold(Hold&& other) noexcept : handler_(std::exchange(other.handler_, nullptr)) {}
  Hold& operator=(Hold&&) = delete;
  ~Hold() {
    if (handler_ != nullptr) --handler_->held;
  }
  void makeDurable() noexcept { ++handler_->durable; }

 private:
  TestHandler* handler_;
};

TestHandler::TestHandler() : hit_body_("stored"), big_body_(kBigSize, 'b') {
  hit_head_ = storedHead(hit_body_.size());
  big_head_ = storedHead(big_body_.size());
}

Fast TestHandler::tryFast(const Request& request, Response& response) noexcept {
  const std::string_view path = request.path();
  if (path == "/hit") {
    response.useStored(hit_head_, hit_body_, Holder(Hold(*this)));
    response.addHeader("Age", "1");
    return Fast::answered;
  }
  if (path == "/big") {
    response.useStored(big_head_, big_body_, Holder(Hold(*this)));
    return Fast::answered;
  }
  if (path == "/fast-bad") {
    response.addHeader("X-Bad", "a\r\nX-Injected: b");
    return Fast::answered;
  }
  if (path == "/fast-block") {
    std::unique_lock lock(mutex_);
    ++blocked;
    released_.wait(lock, [this] { return release_; });
    --blocked;
  }
  // Dropped, since the answer is left to a worker.
  response.addHeader("X-Dropped", "yes");
  return path.starts_with("/together/") ? Fast::gather : Fast::ask;
}

namespace {
struct Note final : Finding {
  Note(std::string_view path_in, std::atomic<int>& alive_in) : path(path_in), alive(alive_in) {
    ++alive;
  }
  ~Note() override { --alive; }
  std::string path;
  std::atomic<int>& alive;
};

void waitUntilGone(const Request& request) {
  while (!request.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
}  // namespace

void TestHandler::tryTogether(std::span<Attempt> attempts) noexcept {
  most_together = std::max(most_together.load(), static_cast<int>(attempts.size()));
  for (Attempt& attempt : attempts) {
    if (attempt.request.path() == "/together/hit") {
      attempt.response.setBody("together");
      attempt.answered = true;
    } else {
      if (attempt.request.path() == "/together/leaves") waitUntilGone(attempt.request);
      attempt.finding = std::make_unique<Note>(attempt.request.path(), findings);
    }
  }
}

void TestHandler::handle(const Request& request, Response& response, Finding* finding) noexcept {
  ++handled;
  const std::string_view path = request.path();
  if (path == "/together/meet") {
    ++meeting;
    response.setBody(eventually([this] { return meeting >= 2; }) ? "met" : "alone");
  } else if (path == "/together/stays") {
    ++staying;
    waitUntilGone(request);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } else if (path.starts_with("/together/")) {
    response.setBody(finding != nullptr ? "found " + static_cast<Note*>(finding)->path : "alone");
  } else if (path == "/probe") {
    ++probes;
    response.setBody("probe");
  } else if (path == "/echo") {
    response.setBody(std::string(request.body()));
  } else if (path == "/header") {
    const std::string value(request.header("X-Echo").value_or("-"));
    response.addHeader("X-Echo", value);
    response.setBody(value);
  } else if (path.starts_with("/status/")) {
    int status = 0;
    std::from_chars(path.data() + 8, path.data() + path.size(), status);
    response.setStatus(status);
    response.setBody("status");
  } else if (path == "/block" || path == "/stuck") {
    std::unique_lock lock(mutex_);
    ++blocked;
    while (!released_.wait_for(lock, std::chrono::milliseconds(5), [this] { return release_; })) {
      if (path == "/block" && request.cancelled()) {
        ++cancelled;
        break;
      }
    }
    --blocked;
    response.setBody("unblocked");
  } else if (path == "/bad") {
    response.addHeader("X-Good", "yes");
    response.addHeader("X-Bad", "a\r\nX-Injected: b");
    response.setBody("never sent");
  } else if (path == "/close") {
    response.closeConnection();
  } else if (path == "/big-made") {
    response.setBody(std::string(kBigSize, 'm'));
  } else if (path == "/held") {
    response.setBody(hit_body_, Holder(Hold(*this)));
  } else if (path == "/peer") {
    response.setBody(request.peer().host());
  } else {
    response.setStatus(404);
    response.setBody("nothing");
  }
}

void TestHandler::served(const Request&, const Served& answer) noexcept {
  last_served = answer.status;
}

void TestHandler::refused(const PeerAddress&, int status, std::string_view) noexcept {
  last_refusal = status;
}

void TestHandler::release() {
  const std::lock_guard lock(mutex_);
  release_ = true;
  released_.notify_all();
}

bool TestHandler::eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TestServer::TestServer(const std::function<void(ServerOptions&)>& change) {
  ServerOptions options;
  options.port = 0;
  options.workers = 2;
  options.linger_deadline = 500;
  change(options);
  auto started = Server::start(options, handler, clock);
  if (!started) throw std::runtime_error(started.error().message);
  server = std::move(started).value();
}

TestServer::~TestServer() {
  handler.release();
}

BusyServer::BusyServer(unsigned workers, const std::function<void(ServerOptions&)>& change)
    : TestServer([&](ServerOptions& options) {
        options.workers = workers;
        change(options);
      }) {
  for (unsigned i = 0; i < workers; ++i) running.emplace_back(port()).send(get("/block"));
  if (!handler.eventually([&] { return handler.blocked == static_cast<int>(workers); }))
    throw std::runtime_error("the workers are not busy");
}

RawClient BusyServer::enqueue(const std::string& request, std::size_t waiting) {
  RawClient client(port());
  client.send(request);
  awaitWaiting(waiting);
  return client;
}

void BusyServer::awaitWaiting(std::size_t count) {
  if (!handler.eventually([&] { return server->stats().queued_requests == count; }))
    throw std::runtime_error("not " + std::to_string(count) + " requests wait");
}

}  // namespace larder::http::test
