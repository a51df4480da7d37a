// Exchange: one request and its answer while a worker has them; CompletionQueue: the way back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/clock.h"
#include "larder/http/handler.h"
#include "larder/http/poller.h"
#include "worker_pool.h"

namespace larder::http {

struct Connection;
class Exchange;

/// Workers push, the reactor takes. Thread-safe.
class CompletionQueue {
 public:
  explicit CompletionQueue(Poller& poller) noexcept : poller_(poller) {}
  void push(Exchange& exchange);
  /// Replaces what is in `taken`.
  void takeAll(std::vector<Exchange*>& taken);

 private:
  Poller& poller_;
  std::mutex mutex_;
  std::vector<Exchange*> finished_;
};

/// Bytes that count towards a total as long as this lives. One thread.
class Charge {
 public:
  Charge(std::size_t& total, std::size_t bytes) noexcept : total_(total), bytes_(bytes) {
    total_ += bytes_;
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { total_ -= bytes_; }

 private:
  std::size_t& total_;
  const std::size_t bytes_;
};

/// Belongs to its connection. When that closes while a worker runs the exchange, nobody owns it
/// until it comes back through the completion queue, where the reactor ends it.
class Exchange final : public Job {
 public:
  /// Copies the head's bytes and the body, so that the connection's buffers may be reused; `total`
  /// counts them.
  Exchange(Connection* connection_in, const RequestHead& head, std::string_view body,
           const PeerAddress& peer, bool secure, Handler& handler, CompletionQueue& completions,
           Millis started_in, bool gathers, std::size_t& total);

  void run() noexcept override;
  /// All of them are exchanges.
  void runTogether(std::span<Job* const> jobs, WorkerPool& pool) noexcept override;
  /// Its connection is closed, or it would have been withdrawn: the reactor is to end it.
  void dropped() noexcept override { complete(); }

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] Response& response() noexcept { return response_; }
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  Connection* connection;  ///< null once it is closed; the reactor's alone
  const Millis started;

 private:
  void complete() noexcept;

  std::string bytes_;
  const Charge charge_;
  RequestHead head_;
  PeerAddress peer_;
  std::atomic<bool> cancelled_{false};
  Request request_;
  Response response_;
  std::unique_ptr<Finding> finding_;
  Handler& handler_;
  CompletionQueue& completions_;
};

}  // namespace larder::http
