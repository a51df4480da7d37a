// Server: one memcached server as all threads of the process share it: its idle connections, its
// breaker, what it said about itself, and what was counted.
//
// A connection is made when a thread needs one and none is idle, belongs to that thread until the
// operation is over, and is closed after an error or when nobody used it for a while. A new one is
// believed only after it has answered "version", with a login before it if there is one; "stats
// settings" tells how large a value may be, and tells so again after a restart with another limit,
// because every connection is a new one then.
//
// Thread-safe. Made by make_shared: background work keeps it alive. The host outlives it and that
// work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "breaker.h"
#include "budget.h"
#include "connection.h"
#include "larder/host.h"
#include "latency.h"
#include "server_address.h"

namespace larder::memcached {

struct ServerOptions {
  Millis timeout = 50;          ///< of one operation, all its waits together
  Millis connect_timeout = 50;  ///< at most, within the timeout
  Millis idle_timeout = 60'000;
  std::uint32_t breaker_after = 2;
  Millis first_probe = 500;
  Millis max_probe = 5'000;
  std::size_t max_item_size = std::size_t{1} << 30;  ///< whatever the server says
  std::size_t max_connections = 64;
  std::string login = {};  ///< "USER PASSWORD"; empty: none
};

/// Errors are told apart as the API tells them.
struct Counts {
  /// Round trips: commands sent, however many keys they name, but for greetings and "stats".
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> hits{0}, misses{0}, stored{0}, erased{0}, bytes_read{0},
      bytes_written{0}, timeouts{0}, unreachable{0}, protocol{0}, breaker{0}, other_errors{0};
  [[nodiscard]] std::atomic<std::uint64_t>& errors(Reason reason) noexcept;
};

class Server : public std::enable_shared_from_this<Server> {
 public:
  using Resolve = Endpoint (*)(Endpoint);
  Server(Host& host, Endpoint endpoint, const ServerOptions& options, Resolve resolve = resolved);
  /// Once, before anything is asked.
  void start() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Endpoint endpoint() const {
    const std::lock_guard lock(mutex_);
    return endpoint_;
  }
  [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }

  /// A connection while an operation has it; closes it unless it was given back.
  class Checkout {
   public:
    Checkout() = default;
    Checkout(Server& server, std::unique_ptr<Connection> connection) noexcept
        : server_(&server), connection_(std::move(connection)) {}
    Checkout(Checkout&& other) noexcept
        : server_(other.server_), connection_(std::move(other.connection_)) {}
    Checkout& operator=(Checkout&& other) noexcept {
      close();
      server_ = other.server_;
      connection_ = std::move(other.connection_);
      return *this;
    }
    ~Checkout() { close(); }
    explicit operator bool() const noexcept { return connection_ != nullptr; }
    Connection& operator*() const noexcept { return *connection_; }
    Connection* operator->() const noexcept { return connection_.get(); }
    void giveBack() noexcept {
      if (connection_) server_->giveBack(std::move(connection_));
    }
    void close() noexcept {
      if (std::exchange(connection_, nullptr)) server_->closedOne();
    }

   private:
    Server* server_ = nullptr;
    std::unique_ptr<Connection> connection_;
  };

  /// True: do not ask. Sees to it that a probe is under way.
  [[nodiscard]] bool isOpen() noexcept;
  /// An idle connection, if there is one.
  [[nodiscard]] Checkout takeIdle() noexcept;
  /// A new one that has greeted. At the limit, one that somebody gives back; a time-out if nobody
  /// does.
  enum class Wait : bool { no, yes };
  [[nodiscard]] Checkout connect(Wait wait, const Budget& budget,
                                 Connection::Failure& failure) noexcept;
  /// One that was alive a moment ago: for what must not be sent twice.
  [[nodiscard]] Checkout takeAlive(const Budget& budget, Connection::Failure& failure) noexcept;
  /// Whatever is idle now is older than a restart of the server, or not to be trusted.
  void forgetIdle() noexcept;

  void succeeded(const Budget& budget) noexcept;
  /// Counts, feeds the breaker, logs when that opens. Of a time-out `time` tells how long the
  /// server had, ms: less than half of what it should have proves nothing. Neither does one when
  /// there was much to carry, which takes its time: `bytes` that had arrived of what it was asked
  /// for, or that it was to store.
  void failed(const Connection::Failure& failure, Millis time, std::size_t bytes = 0) noexcept;
  /// Not asked at all.
  void refused(Reason reason) noexcept;

  /// Bytes of a value that fit into an item, for keys of up to 250 bytes, and that may be stored.
  [[nodiscard]] std::size_t maxValue() const noexcept {
    return max_value_.load(std::memory_order_relaxed);
  }
  /// Bytes of a value that the server can hold, whoever stored it; a longer one is a lie.
  [[nodiscard]] std::size_t maxAnswer() const noexcept {
    return max_answer_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const Latency& latency() const noexcept { return latency_; }
  [[nodiscard]] std::size_t connections() const noexcept;
  [[nodiscard]] bool breakerOpen() const noexcept { return breaker_.isOpen(); }
  /// Empty while the breaker is closed.
  [[nodiscard]] std::string trouble() const;

  /// Closes idle connections and ends background work; nothing may be asked any more.
  void stop() noexcept;

 private:
  void giveBack(std::unique_ptr<Connection> connection) noexcept;
  void closedOne() noexcept;
  [[nodiscard]] bool logIn(Connection& connection, const Budget& budget,
                           Connection::Failure& failure) noexcept;
  [[nodiscard]] bool greet(Connection& connection, const Budget& budget,
                           Connection::Failure& failure) noexcept;
  [[nodiscard]] std::unique_ptr<Connection> open(const Budget& budget,
                                                 Connection::Failure& failure) noexcept;
  void refuseUntilProbed(std::string what) noexcept;
  void scheduleProbe() noexcept;
  void resolveAgain() noexcept;
  void probe() noexcept;
  void closeIdle() noexcept;

  Host& host_;
  const std::string name_;
  const Resolve resolve_;
  const ServerOptions options_;
  Breaker breaker_;
  Counts counts_;
  Latency latency_;
  std::atomic<std::size_t> max_value_;
  std::atomic<std::size_t> max_answer_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> probe_pending_{false};
  std::atomic<Millis> probe_due_{0};

  mutable std::mutex mutex_;
  Endpoint endpoint_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<Connection>> idle_;  ///< the last used one at the end
  std::size_t connections_ = 0;                    ///< idle and in use
  std::uint64_t generation_ = 0;
  bool closing_planned_ = false;
  std::string trouble_;
  Millis trouble_since_ = 0;
  std::minstd_rand dice_;
};

}  // namespace larder::memcached
