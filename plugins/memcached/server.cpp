#include "server.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace larder::memcached {

namespace {

constexpr std::size_t kDefaultItemSize = 1 << 20;
/// What an item takes beside its value: its head, a key of 250 bytes, flags and line end.
constexpr std::size_t kItemOverhead = 400;

/// That this process stores.
std::size_t valueLimit(std::size_t item_size, std::size_t cap) noexcept {
  const std::size_t limit = std::min(item_size, cap);
  return limit > kItemOverhead ? limit - kItemOverhead : 0;
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, 80));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

}  // namespace

std::atomic<std::uint64_t>& Counts::errors(Reason reason) noexcept {
  switch (reason) {
    case Reason::timeout:
      return timeouts;
    case Reason::unreachable:
      return unreachable;
    case Reason::protocol:
      return protocol;
    case Reason::breaker:
      return breaker;
    default:
      return other_errors;
  }
}

Server::Server(Host& host, Endpoint endpoint, const ServerOptions& options, Resolve resolve)
    : host_(host),
      name_(endpoint.name),
      resolve_(resolve),
      options_(options),
      breaker_(options.breaker_after, options.first_probe, options.max_probe),
      max_value_(valueLimit(kDefaultItemSize, options.max_item_size)),
      max_answer_(kDefaultItemSize),
      endpoint_(std::move(endpoint)),
      dice_(static_cast<std::uint32_t>(std::hash<std::string>()(name_) ^
                                       reinterpret_cast<std::uintptr_t>(this))) {}

void Server::start() noexcept {
  const Endpoint at = endpoint();
  if (at.address_size > 0) return;
  breaker_.open();
  refuseUntilProbed(at.problem);
}

bool Server::isOpen() noexcept {
  if (!breaker_.isOpen()) return false;
  // The executor may have refused the probe.
  if (!probe_pending_.load(std::memory_order_relaxed) &&
      host_.clock().monotonic() >= probe_due_.load(std::memory_order_relaxed)) {
    scheduleProbe();
  }
  return true;
}

Server::Checkout Server::takeIdle() noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return {};
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  connection->reused = true;
  return {*this, std::move(connection)};
}

Server::Checkout Server::connect(Wait wait, const Budget& budget,
                                 Connection::Failure& failure) noexcept {
  {
    std::unique_lock lock(mutex_);
    const auto free = [this] { return connections_ < options_.max_connections || !idle_.empty(); };
    const bool room = wait == Wait::yes ? given_back_.wait_until(lock, budget.end(), free) : free();
    if (!room) {
      failure = {Reason::timeout,
                 "all " + std::to_string(options_.max_connections) + " connections are in use",
                 true};
      return {};
    }
    if (connections_ >= options_.max_connections) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      connection->reused = true;
      return {*this, std::move(connection)};
    }
    ++connections_;
  }
  auto connection = open(budget, failure);
  if (connection) return {*this, std::move(connection)};
  closedOne();
  return {};
}

Server::Checkout Server::takeAlive(const Budget& budget, Connection::Failure& failure) noexcept {
  Checkout idle = takeIdle();
  if (idle && idle->isQuiet()) return idle;
  if (idle) forgetIdle();
  idle.close();
  return connect(Wait::yes, budget, failure);
}

void Server::giveBack(std::unique_ptr<Connection> connection) noexcept {
  bool plan = false;
  const Millis now = host_.clock().monotonic();
  {
    const std::lock_guard lock(mutex_);
    if (connection->generation != generation_ || stopped_.load(std::memory_order_relaxed)) {
      --connections_;
    } else {
      connection->idle_since = now;
      idle_.push_back(std::move(connection));
      plan = !std::exchange(closing_planned_, true);
    }
  }
  given_back_.notify_one();
  if (plan && !host_.executor().postAt(now + options_.idle_timeout,
                                       [self = shared_from_this()] { self->closeIdle(); })) {
    const std::lock_guard lock(mutex_);
    closing_planned_ = false;
  }
}

void Server::closedOne() noexcept {
  {
    const std::lock_guard lock(mutex_);
    --connections_;
  }
  given_back_.notify_one();
}

void Server::closeIdle() noexcept {
  std::vector<std::unique_ptr<Connection>> old;
  const Millis now = host_.clock().monotonic();
  bool plan = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return;
    const auto is_young = [&](const auto& connection) {
      return connection->idle_since > now - options_.idle_timeout;
    };
    const auto young = std::find_if(idle_.begin(), idle_.end(), is_young);
    old.assign(std::make_move_iterator(idle_.begin()), std::make_move_iterator(young));
    idle_.erase(idle_.begin(), young);
    connections_ -= old.size();
    plan = !idle_.empty();
    closing_planned_ = plan;
  }
  if (plan && !host_.executor().postAt(now + options_.idle_timeout,
                                       [self = shared_from_this()] { self->closeIdle(); })) {
    const std::lock_guard lock(mutex_);
    closing_planned_ = false;
  }
}

void Server::forgetIdle() noexcept {
  std::vector<std::unique_ptr<Connection>> old;
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
    connections_ -= idle_.size();
    old.swap(idle_);
  }
  given_back_.notify_all();
}

std::unique_ptr<Connection> Server::open(const Budget& budget,
                                         Connection::Failure& failure) noexcept {
  std::uint64_t generation = 0;
  Endpoint endpoint;
  {
    const std::lock_guard lock(mutex_);
    generation = generation_;
    endpoint = endpoint_;
  }
  if (endpoint.address_size == 0) {
    failure = {Reason::unreachable, endpoint.problem};
    return nullptr;
  }
  auto connection = Connection::open(endpoint, options_.connect_timeout, budget, failure);
  if (!connection) return nullptr;
  connection->generation = generation;
  if (!greet(*connection, budget, failure)) return nullptr;
  return connection;
}

/// The text protocol's own way: the first command stores "USER PASSWORD" under any key.
/// https://github.com/memcached/memcached/blob/master/doc/protocol.txt, "Authentication"
bool Server::logIn(Connection& connection, const Budget& budget,
                   Connection::Failure& failure) noexcept {
  if (options_.login.empty()) return true;
  const std::string command =
      "set login 0 0 " + std::to_string(options_.login.size()) + "\r\n" + options_.login + "\r\n";
  iovec request{const_cast<char*>(command.data()), command.size()};
  failure = {connection.send({&request, 1}, budget), "while it was sent the login"};
  if (failure.reason != Reason::none) return false;
  std::string_view line;
  if (!connection.readLine(line, budget, failure.reason)) return false;
  if (line == "STORED") return true;
  failure = {Reason::protocol,
             "it does not accept username and password: '" + printable(line) + "'"};
  return false;
}

bool Server::greet(Connection& connection, const Budget& budget,
                   Connection::Failure& failure) noexcept {
  static constexpr std::string_view kGreeting = "version\r\nstats settings\r\n";
  static constexpr std::string_view kItemSize = "STAT item_size_max ";
  if (!logIn(connection, budget, failure)) return false;
  iovec request{const_cast<char*>(kGreeting.data()), kGreeting.size()};
  failure = {connection.send({&request, 1}, budget), "while it was asked for its version"};
  if (failure.reason != Reason::none) return false;

  std::string_view line;
  if (!connection.readLine(line, budget, failure.reason)) return false;
  if (line == "CLIENT_ERROR unauthenticated") {
    failure = {Reason::protocol, "it wants a login: set username and password"};
    return false;
  }
  if (!line.starts_with("VERSION ")) {
    failure = {Reason::protocol,
               "it is no memcached or has too many connections; asked for its "
               "version it said '" +
                   printable(line) + "'"};
    return false;
  }
  std::size_t item_size = kDefaultItemSize;
  for (int lines = 0; lines < 1000; ++lines) {
    if (!connection.readLine(line, budget, failure.reason)) return false;
    if (line.starts_with(kItemSize)) {
      line.remove_prefix(kItemSize.size());
      std::from_chars(line.data(), line.data() + line.size(), item_size);
      continue;
    }
    if (line.starts_with("STAT ")) continue;
    // A proxy may not know the command; then the usual size holds.
    if ((line == "END" || line.starts_with("ERROR")) && connection.received().empty()) {
      max_value_.store(valueLimit(item_size, options_.max_item_size), std::memory_order_relaxed);
      max_answer_.store(item_size, std::memory_order_relaxed);
      failure = {};
      return true;
    }
    break;
  }
  failure = {Reason::protocol, "it answered nonsense when it was asked for its settings"};
  return false;
}

void Server::succeeded(const Budget& budget) noexcept {
  breaker_.succeeded();
  latency_.add(budget.spent());
}

void Server::refused(Reason reason) noexcept {
  counts_.errors(reason).fetch_add(1, std::memory_order_relaxed);
}

void Server::failed(const Connection::Failure& failure, Millis time, std::size_t bytes) noexcept {
  // A server that drips does not come so far in any timeout.
  constexpr std::size_t kMuch = std::size_t{64} << 10;
  refused(failure.ours ? Reason::full : failure.reason);
  if (failure.ours) return;
  if (failure.reason == Reason::timeout && (time < options_.timeout / 2 || bytes >= kMuch)) return;
  if (!breaker_.failed()) return;
  refuseUntilProbed(std::string(reasonName(failure.reason)) +
                    (failure.detail.empty() ? "" : " (" + failure.detail + ")"));
}

void Server::refuseUntilProbed(std::string what) noexcept {
  const std::string line =
      "memcached " + name() + ": " + what + "; not asked any more until it answers a probe";
  {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(what);
    trouble_since_ = host_.clock().monotonic();
  }
  forgetIdle();
  host_.log(LogLevel::warning, line);
  scheduleProbe();
}

void Server::scheduleProbe() noexcept {
  if (stopped_.load(std::memory_order_relaxed)) return;
  if (probe_pending_.exchange(true, std::memory_order_acq_rel)) return;
  std::uint32_t dice = 0;
  {
    const std::lock_guard lock(mutex_);
    dice = static_cast<std::uint32_t>(dice_());
  }
  const Millis due = host_.clock().monotonic() + breaker_.nextProbe(dice);
  probe_due_.store(due, std::memory_order_relaxed);
  if (!host_.executor().postAt(due, [self = shared_from_this()] { self->probe(); })) {
    probe_pending_.store(false, std::memory_order_release);
  }
}

void Server::probe() noexcept {
  if (stopped_.load(std::memory_order_relaxed)) return;
  resolveAgain();
  const Budget budget(options_.timeout);
  Connection::Failure failure;
  Checkout connection = connect(Wait::yes, budget, failure);
  probe_pending_.store(false, std::memory_order_release);
  if (!connection) {
    scheduleProbe();
    return;
  }
  connection.giveBack();
  if (stopped_.load(std::memory_order_relaxed)) return;
  breaker_.close();
  host_.log(LogLevel::info, "memcached " + name() + ": answers again");
}

/// A server that is not well may be elsewhere by now.
void Server::resolveAgain() noexcept {
  Endpoint now = endpoint();
  if (!now.is_name) return;
  now = resolve_(std::move(now));
  const std::lock_guard lock(mutex_);
  if (!now.problem.empty()) trouble_ = now.problem;
  endpoint_ = std::move(now);
}

std::size_t Server::connections() const noexcept {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::string Server::trouble() const {
  if (!breaker_.isOpen()) return {};
  const std::lock_guard lock(mutex_);
  return name() + ": " + trouble_ + ", for " +
         std::to_string((host_.clock().monotonic() - trouble_since_) / 1000) +
         " s; next probe in " +
         std::to_string(std::max<Millis>(
             probe_due_.load(std::memory_order_relaxed) - host_.clock().monotonic(), 0)) +
         " ms";
}

void Server::stop() noexcept {
  stopped_.store(true, std::memory_order_relaxed);
  forgetIdle();
}

}  // namespace larder::memcached
