#include "commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace larder::memcached {

namespace {

constexpr std::size_t kMaxKey = 250;

/// The head of a command, made in place.
class Line {
 public:
  Line& operator<<(std::string_view text) noexcept {
    text.copy(chars_.data() + size_, text.size());
    size_ += text.size();
    return *this;
  }
  Line& operator<<(std::uint64_t number) noexcept { return write(number); }
  Line& operator<<(std::int64_t number) noexcept { return write(number); }
  [[nodiscard]] iovec part() noexcept { return {chars_.data(), size_}; }

 private:
  template <class T>
  Line& write(T number) noexcept {
    const auto end = std::to_chars(chars_.data() + size_, chars_.data() + chars_.size(), number);
    size_ = static_cast<std::size_t>(end.ptr - chars_.data());
    return *this;
  }
  std::array<char, kMaxKey + 100> chars_;
  std::size_t size_ = 0;
};

/// One operation on one server: gives the connection back only if all went well.
class Exchange {
 public:
  /// `bytes`: of the value that is to be sent.
  Exchange(Server& server, const Budget& budget, std::size_t bytes = 0) noexcept
      : server_(server), budget_(budget), bytes_(bytes) {
    if (server_.isOpen()) {
      failure_.reason = Reason::breaker;
      server_.refused(Reason::breaker);
      return;
    }
    connection_ = server_.takeAlive(budget_, failure_);
    if (!connection_) server_.failed(failure_, budget_.granted());
  }

  [[nodiscard]] bool failed() const noexcept { return failure_.reason != Reason::none; }
  [[nodiscard]] Stored failure() const noexcept { return {false, failure_.reason}; }

  bool send(std::span<iovec> parts) noexcept {
    if (!failed()) server_.counts().requests.fetch_add(1, std::memory_order_relaxed);
    return sendUncounted(parts);
  }
  bool sendUncounted(std::span<iovec> parts) noexcept {
    if (failed()) return false;
    const Reason reason = connection_->send(parts, budget_);
    return reason == Reason::none || fail(reason, "while it was sent a command");
  }
  bool readLine(std::string_view& line) noexcept {
    if (failed()) return false;
    Reason reason = Reason::none;
    return connection_->readLine(line, budget_, reason) || fail(reason, "no answer to a command");
  }
  /// At least `bytes` of what is received, without consuming them; `bytes` is small.
  bool await(std::size_t bytes) noexcept {
    Reason reason = Reason::none;
    while (!failed() && connection_->received().size() < bytes) {
      if (!connection_->await(budget_, reason)) return fail(reason, "half an answer");
    }
    return !failed();
  }
  [[nodiscard]] Connection& connection() noexcept { return *connection_; }
  /// Everything was said: the connection is as good as before unless the server goes on talking.
  bool finish() noexcept {
    if (failed()) return false;
    if (!connection_->received().empty()) return nonsense();
    connection_.giveBack();
    server_.succeeded(budget_);
    return true;
  }
  bool nonsense() noexcept { return fail(Reason::protocol, "it answered nonsense to a command"); }

 private:
  bool fail(Reason reason, std::string detail) noexcept {
    failure_ = {reason, std::move(detail)};
    connection_.close();
    server_.failed(failure_, budget_.granted(), bytes_);
    return false;
  }

  Server& server_;
  const Budget& budget_;
  const std::size_t bytes_;
  Server::Checkout connection_;
  Connection::Failure failure_;
};

iovec part(std::string_view text) noexcept {
  return {const_cast<char*>(text.data()), text.size()};
}

constexpr std::string_view kLineEnd = "\r\n";

/// Reads the answer to a storing command.
Stored readStored(Exchange& exchange) noexcept {
  std::string_view line;
  if (!exchange.readLine(line)) return exchange.failure();
  Stored result;
  if (line == "STORED") {
    result = {true, Reason::none};
  } else if (line == "NOT_STORED" || line == "EXISTS") {
    result.reason = Reason::exists;
  } else if (line == "NOT_FOUND") {
    result.reason = Reason::cold;
  } else if (line.starts_with("SERVER_ERROR object too large")) {
    result.reason = Reason::too_large;
  } else if (line.starts_with("SERVER_ERROR out of memory") ||
             line.starts_with("SERVER_ERROR Out of memory")) {
    result.reason = Reason::full;
  } else {
    exchange.nonsense();
    return exchange.failure();
  }
  return exchange.finish() ? result : exchange.failure();
}

}  // namespace

std::int64_t expiryFor(Millis ttl, Millis wall) noexcept {
  constexpr std::int64_t kRelativeSeconds = 30 * 86'400;
  constexpr std::int64_t kLatest = std::numeric_limits<std::int32_t>::max();
  if (ttl == kForever) return 0;
  const std::int64_t seconds = std::max<std::int64_t>(ttl / 1000 + (ttl % 1000 != 0), 1);
  if (seconds < kRelativeSeconds) return seconds;
  const std::int64_t now = wall / 1000 + 1;
  return seconds > kLatest - now ? 0 : now + seconds;
}

Stored store(Server& server, Verb verb, std::string_view key, std::string_view value,
             std::int64_t expiry, const Budget& budget) noexcept {
  Exchange exchange(server, budget, value.size());
  Line head;
  head << (verb == Verb::set ? "set " : "add ") << key << " 0 " << expiry << " "
       << std::uint64_t{value.size()} << kLineEnd;
  iovec parts[] = {head.part(), part(value), part(kLineEnd)};
  if (!exchange.send(parts)) return exchange.failure();
  const Stored stored = readStored(exchange);
  if (stored.ok) {
    server.counts().stored.fetch_add(1, std::memory_order_relaxed);
    server.counts().bytes_written.fetch_add(value.size(), std::memory_order_relaxed);
  }
  return stored;
}

Stored erase(Server& server, std::string_view key, const Budget& budget) noexcept {
  Exchange exchange(server, budget);
  Line head;
  head << "delete " << key << kLineEnd;
  iovec parts[] = {head.part()};
  std::string_view line;
  if (!exchange.send(parts) || !exchange.readLine(line)) return exchange.failure();
  const bool deleted = line == "DELETED";
  if (!deleted && line != "NOT_FOUND") exchange.nonsense();
  if (!exchange.finish()) return exchange.failure();
  if (deleted) server.counts().erased.fetch_add(1, std::memory_order_relaxed);
  return {true, Reason::none};
}

Stored release(Server& server, std::string_view key, std::string_view expected,
               const Budget& budget) noexcept {
  Exchange exchange(server, budget);
  Line head;
  head << "gets " << key << kLineEnd;
  iovec question[] = {head.part()};
  std::string_view line;
  if (!exchange.send(question) || !exchange.readLine(line)) return exchange.failure();
  if (line == "END") {
    return exchange.finish() ? Stored{false, Reason::cold} : exchange.failure();
  }
  // "VALUE <key> <flags> <bytes> <cas unique>"
  std::string start = "VALUE ";
  start.append(key).append(" 0 ");
  std::uint64_t size = 0;
  std::uint64_t cas = 0;
  const char* const end = line.data() + line.size();
  const char* const digits = line.data() + std::min(start.size(), line.size());
  const auto sized = std::from_chars(digits, end, size);
  const bool well_formed = line.starts_with(start) && sized.ec == std::errc() && sized.ptr != end &&
                           *sized.ptr == ' ' && size <= server.maxAnswer();
  if (!well_formed) {
    exchange.nonsense();
    return exchange.failure();
  }
  const auto unique = std::from_chars(sized.ptr + 1, end, cas);
  if (unique.ec != std::errc() || unique.ptr != end) {
    exchange.nonsense();
    return exchange.failure();
  }
  // A lease is small. What is not is somebody else's; the connection is closed instead of reading
  // it.
  if (size != expected.size()) return {false, Reason::exists};
  static constexpr std::string_view kRest = "\r\nEND\r\n";
  if (!exchange.await(size + kRest.size())) return exchange.failure();
  const std::string_view answer = exchange.connection().received();
  const bool same = answer.starts_with(expected);
  if (answer.substr(size) != kRest) {
    exchange.nonsense();
    return exchange.failure();
  }
  exchange.connection().consume(answer.size());
  if (!same) return exchange.finish() ? Stored{false, Reason::exists} : exchange.failure();

  Line command;
  command << "cas " << key << " 0 -1 0 " << cas << kLineEnd << kLineEnd;
  iovec parts[] = {command.part()};
  if (!exchange.send(parts)) return exchange.failure();
  return readStored(exchange);
}

std::vector<std::pair<std::string, std::string>> serverStats(Server& server,
                                                             const Budget& budget) noexcept {
  std::vector<std::pair<std::string, std::string>> stats;
  Exchange exchange(server, budget);
  iovec question[] = {part("stats\r\n")};
  if (!exchange.sendUncounted(question)) return stats;
  std::string_view line;
  while (stats.size() < 1000 && exchange.readLine(line)) {
    if (line == "END") {
      exchange.finish();
      return stats;
    }
    const auto blank = line.find(' ', 5);
    if (!line.starts_with("STAT ") || blank == std::string_view::npos) break;
    stats.emplace_back(line.substr(5, blank - 5), line.substr(blank + 1));
  }
  if (!exchange.failed()) exchange.nonsense();
  return {};
}

}  // namespace larder::memcached
