#include "multi_get.h"

#include <poll.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace larder::memcached {

namespace {

void finish(Ask& ask, const Budget& budget) noexcept {
  ask.connection.giveBack();
  ask.server->succeeded(budget);
  Counts& counts = ask.server->counts();
  const std::size_t hits = ask.reply->hits();
  if (hits > 0) counts.hits.fetch_add(hits, std::memory_order_relaxed);
  if (hits < ask.keys.size()) {
    counts.misses.fetch_add(ask.keys.size() - hits, std::memory_order_relaxed);
  }
  counts.bytes_read.fetch_add(ask.reply->bytes(), std::memory_order_relaxed);
  ask.reply.reset();
}

/// Values that arrived whole before a time-out stand; nothing that a confused server said does.
void fail(Ask& ask, const Connection::Failure& failure) noexcept {
  ask.connection.close();
  ask.reply.reset();
  for (ByteLookup& answer : ask.answers) {
    if (answer.status == Status::hit && failure.reason != Reason::protocol) continue;
    answer = {Status::error, {}, failure.reason};
  }
}

void failAndCount(Ask& ask, const Connection::Failure& failure) noexcept {
  ask.server->failed(failure, ask.time, ask.reply ? ask.reply->arrived() : 0);
  fail(ask, failure);
}

[[nodiscard]] Reason send(Ask& ask, const Budget& budget) noexcept {
  static constexpr std::string_view kGet = "get ";
  static constexpr std::string_view kEnd = "\r\n";
  const auto part = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()};
  };
  if (ask.keys.size() == 1) {
    iovec parts[] = {part(kGet), part(ask.keys[0]), part(kEnd)};
    return ask.connection->send(parts, budget);
  }
  std::string request = "get";
  for (const auto key : ask.keys) {
    request += ' ';
    request += key;
  }
  request += kEnd;
  iovec whole = part(request);
  return ask.connection->send({&whole, 1}, budget);
}

/// Sends the question on the connection that was taken; on a new one if the old turns out dead.
/// Who has connections to other servers may not wait for this one, or two threads could wait for
/// each other: then the question is put off.
void start(Ask& ask, Server::Wait wait, const Budget& budget) noexcept {
  ask.deferred = false;
  ask.time = budget.pollTimeout();
  for (;;) {
    Connection::Failure failure;
    if (!ask.connection) ask.connection = ask.server->connect(wait, budget, failure);
    if (!ask.connection) {
      ask.deferred = wait == Server::Wait::no && failure.ours;
      if (!ask.deferred) failAndCount(ask, failure);
      return;
    }
    ask.server->counts().requests.fetch_add(1, std::memory_order_relaxed);
    failure.reason = send(ask, budget);
    if (failure.reason == Reason::none) {
      ask.reply.emplace(ask.keys, ask.answers, ask.server->maxAnswer());
      return;
    }
    if (failure.reason != Reason::unreachable || !ask.connection->reused ||
        std::exchange(ask.repeated, true)) {
      return failAndCount(ask, failure);
    }
    ask.server->forgetIdle();
    ask.connection.close();
  }
}

/// Uses what has arrived. `last`: there is no later occasion to read more.
void proceed(Ask& ask, bool last, const Budget& budget) noexcept {
  using Arrived = Connection::Arrived::State;
  Arrived arrived;
  GetReply::State state;
  do {
    state = ask.reply->receive(*ask.connection, arrived);
  } while (last && state == GetReply::State::unfinished && arrived == Arrived::some);
  if (state == GetReply::State::finished) return finish(ask, budget);
  if (state == GetReply::State::nonsense) {
    return failAndCount(ask, {Reason::protocol, "it answered nonsense to a get"});
  }
  if (arrived != Arrived::closed) return;
  // After a restart or an idle close the first use of a connection fails: that is not the server.
  const bool stale =
      ask.connection->reused && !ask.reply->begun() && !std::exchange(ask.repeated, true);
  if (!stale) {
    return failAndCount(ask, {Reason::unreachable, "it closed the connection"});
  }
  ask.server->forgetIdle();
  ask.connection.close();
  ask.reply.reset();
  start(ask, Server::Wait::no, budget);
}

/// Until each question that was sent is answered or has failed.
void converse(std::span<Ask> asks, const Budget& budget) noexcept {
  std::array<pollfd, 8> few;
  std::vector<pollfd> many;
  if (asks.size() > few.size()) many.resize(asks.size());
  const std::span<pollfd> sockets =
      many.empty() ? std::span<pollfd>(few.data(), asks.size()) : std::span<pollfd>(many);
  for (;;) {
    bool waiting = false;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      sockets[i] = {asks[i].reply ? asks[i].connection->socket() : -1, POLLIN, 0};
      waiting |= asks[i].reply.has_value();
    }
    if (!waiting) return;
    const int timeout = budget.pollTimeout();
    const int ready = ::poll(sockets.data(), sockets.size(), timeout);
    for (std::size_t i = 0; i < asks.size() && ready > 0; ++i) {
      if (sockets[i].revents != 0) proceed(asks[i], timeout == 0, budget);
    }
    if (timeout != 0) continue;
    for (Ask& ask : asks) {
      if (ask.reply) failAndCount(ask, {Reason::timeout, "no answer in time"});
    }
    return;
  }
}

}  // namespace

void multiGet(std::span<Ask> asks, const Budget& budget) noexcept {
  // Those that need no connection first: making one may take all the time there is.
  for (Ask& ask : asks) {
    if (ask.server->isOpen()) {
      ask.server->refused(Reason::breaker);
      fail(ask, {Reason::breaker, {}});
      continue;
    }
    ask.connection = ask.server->takeIdle();
    if (ask.connection) start(ask, Server::Wait::no, budget);
  }
  for (Ask& ask : asks) {
    const bool settled = ask.reply || ask.answers[0].status == Status::error;
    if (!settled) start(ask, Server::Wait::no, budget);
  }
  converse(asks, budget);
  for (Ask& ask : asks) {
    if (!ask.deferred) continue;
    start(ask, Server::Wait::yes, budget);
    converse({&ask, 1}, budget);
  }
}

}  // namespace larder::memcached
