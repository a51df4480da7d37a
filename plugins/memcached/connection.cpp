#include "connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace larder::memcached {

namespace {

/// A multi-get of a page's values arrives in half the time, and evenly.
constexpr int kReceiveBuffer = 1 << 20;

/// True when the socket is ready; false when the time is over.
bool waitFor(int socket, short events, int timeout_ms, const Budget& budget) noexcept {
  pollfd waiting{socket, events, 0};
  for (;;) {
    const int ready = ::poll(&waiting, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready == 0) return false;
    // A signal came; poll() does not say how long it waited.
    timeout_ms = std::min(timeout_ms, budget.pollTimeout());
  }
}

std::string describe(int error) {
  return std::generic_category().message(error);
}

void set(int socket, int level, int option, int value) noexcept {
  ::setsockopt(socket, level, option, &value, sizeof(value));  // it also works without
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const Endpoint& server, Millis connect_timeout,
                                             const Budget& budget, Failure& failure) {
  const auto fail = [&failure](Reason reason, std::string detail) {
    failure = {reason, std::move(detail)};
    return nullptr;
  };
  const int family = server.address.ss_family;
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail(Reason::unreachable, "no socket: " + describe(errno));
  std::unique_ptr<Connection> connection(new Connection(socket));
  set(socket, SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  if (family != AF_UNIX) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  }
  const auto* address = reinterpret_cast<const sockaddr*>(&server.address);
  if (::connect(socket, address, server.address_size) == 0) return connection;
  // A Unix socket whose queue is full says EAGAIN, and there is nothing to wait for.
  if (errno == EAGAIN) return fail(Reason::timeout, "it accepts no connections");
  if (errno != EINPROGRESS) return fail(Reason::unreachable, describe(errno));
  const int patience = static_cast<int>(std::min<Millis>(connect_timeout, budget.pollTimeout()));
  if (!waitFor(socket, POLLOUT, patience, budget)) {
    return fail(Reason::timeout, "no connection within " + std::to_string(patience) + " ms");
  }
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return fail(Reason::unreachable, describe(error));
  return connection;
}

Connection::~Connection() {
  ::close(socket_);
}

Reason Connection::send(std::span<iovec> parts, const Budget& budget) noexcept {
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Reason::unreachable;
      if (!waitFor(socket_, POLLOUT, budget.pollTimeout(), budget)) return Reason::timeout;
      continue;
    }
    auto left = static_cast<std::size_t>(sent);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (!parts.empty()) {
      parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + left;
      parts.front().iov_len -= left;
      // What trickles into a full socket makes no progress that could be waited for without end.
      if (budget.over()) return Reason::timeout;
    }
  }
  return Reason::none;
}

void Connection::consume(std::size_t bytes) noexcept {
  begin_ += bytes;
  size_ -= bytes;
  if (size_ == 0) begin_ = 0;
}

Connection::Arrived Connection::receive(std::span<char> direct) noexcept {
  if (begin_ + size_ == kBufferSize && begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, size_);
    begin_ = 0;
  }
  iovec parts[2] = {{direct.data(), direct.size()},
                    {buffer_.get() + begin_ + size_, kBufferSize - begin_ - size_}};
  ssize_t got;
  do {
    got = direct.empty() ? ::recv(socket_, parts[1].iov_base, parts[1].iov_len, MSG_DONTWAIT)
                         : ::readv(socket_, parts, 2);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return {Arrived::State::nothing, 0};
  if (got <= 0) return {Arrived::State::closed, 0};
  const auto bytes = static_cast<std::size_t>(got);
  const std::size_t to_direct = std::min(bytes, direct.size());
  size_ += bytes - to_direct;
  return {Arrived::State::some, to_direct};
}

bool Connection::await(const Budget& budget, Reason& reason) noexcept {
  for (;;) {
    if (!waitFor(socket_, POLLIN, budget.pollTimeout(), budget)) {
      reason = Reason::timeout;
      return false;
    }
    const Arrived arrived = receive();
    if (arrived.state == Arrived::State::some) return true;
    if (arrived.state == Arrived::State::closed) {
      reason = Reason::unreachable;
      return false;
    }
  }
}

bool Connection::readLine(std::string_view& line, const Budget& budget, Reason& reason) noexcept {
  for (;;) {
    const std::string_view all = received();
    if (const auto end = all.find("\r\n"); end != std::string_view::npos && end <= kMaxLine) {
      line = all.substr(0, end);
      consume(end + 2);
      return true;
    }
    if (all.size() > kMaxLine) {
      reason = Reason::protocol;
      return false;
    }
    if (!await(budget, reason)) return false;
  }
}

bool Connection::isQuiet() const noexcept {
  char byte;
  return size_ == 0 && ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace larder::memcached
