// Reactor: one thread that owns connections and answers what it can at once.
//
// It reads, parses and asks the handler's fast path; what that declines goes to the workers and
// comes back through the completion queue. A connection has one request at a time: while that is
// being answered nothing more is read from it, so pipelined requests are answered in order and a
// client that does not read its answers is not read from either.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "connection.h"
#include "deadlines.h"
#include "exchange.h"
#include "larder/http/handler.h"
#include "larder/http/poller.h"
#include "larder/http/server.h"
#include "listener.h"
#include "response_head.h"
#include "worker_pool.h"

namespace larder::http {

/// run() belongs to one thread; the requests and stats() to any.
class Reactor {
 public:
  Reactor(const ServerOptions& options, Handler& handler, const Clock& clock, Listener& listener,
          WorkerPool& workers);
  /// After run() has returned and the workers have stopped.
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  /// Returns once drained or stopped; no connection is open then.
  void run();
  /// Accept no more, end what runs.
  void requestDrain() noexcept { request(Mode::draining); }
  /// Close everything at once.
  void requestStop() noexcept { request(Mode::stopping); }
  void addTo(ServerStats& stats) const noexcept;

 private:
  enum class Mode : std::uint8_t { running, draining, stopping };

  // Written by the reactor's thread alone, read by any.
  class Counter {
   public:
    void add(std::uint64_t n = 1) noexcept {
      value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void subtract(std::uint64_t n) noexcept { add(0 - n); }
    [[nodiscard]] std::uint64_t get() const noexcept {
      return value_.load(std::memory_order_relaxed);
    }

   private:
    std::atomic<std::uint64_t> value_{0};
  };

  struct CompleteMessage {
    const RequestHead* head = nullptr;
    std::string_view body;
    std::size_t size = 0;  // of the raw bytes
  };

  enum class Sent : std::uint8_t { all, pending, failed };

  // Functions that return bool and take a connection say whether it is still open.
  void request(Mode mode) noexcept;
  [[nodiscard]] int waitTimeout() const noexcept;
  void dispatchEvent(const Poller::Event& event);
  Connection* find(std::uint64_t token) noexcept;
  void expire(Connection& c);
  void finishExchanges();
  void beginDraining();

  void acceptConnections(int most);
  void openConnection(const Listener::Accepted& accepted);
  bool makeRoom();
  void pauseAccepting();
  void resumeAccepting();
  void close(Connection& c);
  void reset(Connection& c);
  // Watches for what the connection's state waits for.
  bool settle(Connection& c);
  bool watch(Connection& c, Poller::Interest interest);

  bool onReadable(Connection& c);
  bool onEndOfInput(Connection& c);
  bool onWritable(Connection& c);
  void discardInput(Connection& c);

  bool process(Connection& c, std::string_view data);
  ParseStatus readMessage(Connection& c, std::string_view& data, CompleteMessage& message);
  ParseStatus readBody(IncomingMessage& in, std::string_view& data, CompleteMessage& message);
  void keepIncoming(Connection& c);
  bool keepInput(Connection& c, std::string_view data);
  void charge(Connection& c);
  [[nodiscard]] bool hasRoomFor(const Connection& c, const CompleteMessage& message) const noexcept;

  bool serve(Connection& c, const CompleteMessage& message);
  bool finishExchange(Connection& c);
  bool answer(Connection& c, const Request& request, Response& response, bool fast, Millis started);
  bool answerAtOnce(Connection& c, const Request& request, bool fast = false);
  bool refuse(Connection& c, int status, std::string_view reason);
  bool answerSent(Connection& c, Sent sent);
  Sent transmit(Connection& c, Method method, int minor_version, Response& response);

  const ServerOptions& options_;
  Handler& handler_;
  const Clock& clock_;
  Listener& listener_;
  WorkerPool& workers_;
  std::unique_ptr<Poller> poller_;
  CompletionQueue completions_;
  std::vector<Exchange*> finished_;
  bool gathering_ = false;  // workers are to be woken for what was submitted
  std::atomic<Mode> requested_{Mode::running};
  Mode mode_ = Mode::running;

  std::deque<Connection> connections_;
  std::vector<std::uint32_t> free_slots_;
  Deadlines deadlines_;
  const std::size_t max_connections_;
  const std::size_t input_budget_;
  std::size_t input_charged_ = 0;  // by connections, and by exchanges until they end
  bool accepting_ = false;
  Millis accept_again_ = kForever;  // when paused

  Millis now_ = 0;
  DateLine date_line_;
  std::array<char, 16 * 1024UL> buffer_;
  IncomingMessage scratch_message_;
  Response scratch_response_;
  std::string scratch_head_;
  ParseFailure failure_;  // of the message read last

  Counter open_, accepted_, requests_, fast_hits_, refused_, overloaded_, idle_evicted_,
      accept_pauses_, bytes_sent_;
};

}  // namespace larder::http
