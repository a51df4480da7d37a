#include "raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace larder::http::test {

std::string RawAnswer::header(const std::string& name) const {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "-";
  const std::size_t from = at + 4 + name.size();
  return head.substr(from, head.find("\r\n", from) - from);
}

RawClient::RawClient(std::uint16_t port, int receive_buffer)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer > 0) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(fd_);
    throw std::system_error(error, std::generic_category(), "connect");
  }
}

RawClient::~RawClient() {
  if (fd_ >= 0) ::close(fd_);
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pending_(std::move(other.pending_)) {}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawClient::fill() {
  std::array<char, 65536> buffer;
  const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (size <= 0) return false;
  pending_.append(buffer.data(), static_cast<std::size_t>(size));
  return true;
}

std::optional<RawAnswer> RawClient::receive(bool to_head) {
  std::size_t end = 0;
  while ((end = pending_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  RawAnswer answer;
  answer.head = pending_.substr(0, end + 2);
  pending_.erase(0, end + 4);
  answer.status = std::atoi(answer.head.substr(answer.head.find(' ')).c_str());
  const std::string length = answer.header("Content-Length");
  if (to_head || length == "-") return answer;
  const auto size = static_cast<std::size_t>(std::atoll(length.c_str()));
  while (pending_.size() < size) {
    if (!fill()) return std::nullopt;
  }
  answer.body = pending_.substr(0, size);
  pending_.erase(0, size);
  return answer;
}

std::optional<std::string> RawClient::receiveAll() {
  while (fill()) {
  }
  const bool timed_out = errno == EAGAIN || errno == EWOULDBLOCK;
  if (timed_out) return std::nullopt;
  return std::exchange(pending_, {});
}

bool RawClient::closed() {
  errno = 0;
  return receiveAll() == "";
}

void RawClient::finish() {
  ::shutdown(fd_, SHUT_WR);
}

void RawClient::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(fd_, -1));
}

std::string get(const std::string& path, const std::string& fields) {
  return "GET " + path + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string withBody(const std::string& start, const std::string& body) {
  return start + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::optional<RawAnswer> fetch(std::uint16_t port, const std::string& path,
                               const std::string& fields) {
  RawClient client(port);
  client.send(get(path, fields));
  return client.receive();
}

}  // namespace larder::http::test
