#include "memcached_link.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace larder::server {
namespace {

constexpr std::size_t kMostLine = 2'048;
/// Commands that are sent before answers are read: their answers fit into any socket's buffer.
constexpr std::size_t kAtOnce = 256;

}  // namespace

Result<> MemcachedLink::connect() {
  close();
  deadline_ = clock_.monotonic() + kTimeout;
  try {
    socket_.emplace();
    socket_->connect(Poco::Net::SocketAddress(address_), Poco::Timespan(kTimeout * 1000));
    if (socket_->address().family() != Poco::Net::SocketAddress::UNIX_LOCAL)
      socket_->setNoDelay(true);
  } catch (const Poco::Exception& e) {
    close();
    return Error{"memcached at " + address_ + " cannot be reached: " + e.displayText()};
  }
  std::int64_t seconds = 0;
  if (send("stats\r\n")) {
    constexpr std::string_view kTime = "STAT time ";
    while (const auto line = readLine()) {
      if (line->starts_with(kTime))
        std::from_chars(line->data() + kTime.size(), line->data() + line->size(), seconds);
      if (*line == "END" || !line->starts_with("STAT ")) break;
    }
  }
  if (seconds <= 0 || !connected()) {
    close();
    return Error{"memcached at " + address_ + " does not answer \"stats\""};
  }
  ahead_ = seconds * 1000 - clock_.monotonic();
  return Done{};
}

void MemcachedLink::close() noexcept {
  try {
    socket_.reset();
  } catch (...) {  // it is closed all the same
  }
  received_.clear();
}

void MemcachedLink::check() noexcept try {
  char byte = 0;
  if (!socket_) return;
  const auto got = ::recv(socket_->impl()->sockfd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  // Nothing is expected, so anything but "nothing yet" is the end of it.
  if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) close();
} catch (...) {
  close();
}

std::int64_t MemcachedLink::now() const noexcept {
  return (clock_.monotonic() + ahead_) / 1000;
}

std::vector<MemcachedLink::Answer> MemcachedLink::set(std::span<const Item> items) {
  std::vector<Answer> answers(items.size(), Answer::unknown);
  deadline_ = clock_.monotonic() + kTimeout;
  for (std::size_t begin = 0; begin < items.size() && connected(); begin += kAtOnce) {
    const auto part = items.subspan(begin, std::min(kAtOnce, items.size() - begin));
    std::string commands;
    for (const Item& item : part) {
      commands.append("set ").append(item.key).append(" ").append(std::to_string(item.flags));
      commands.append(" ").append(std::to_string(item.expires)).append(" ");
      commands.append(std::to_string(item.value.size())).append("\r\n");
      commands.append(item.value).append("\r\n");
    }
    if (!send(commands)) break;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto line = readLine();
      if (line == "STORED") {
        answers[begin + i] = Answer::stored;
      } else if (line && line->starts_with("SERVER_ERROR ")) {
        answers[begin + i] = Answer::refused;
      } else {
        close();
        break;
      }
    }
  }
  return answers;
}

std::size_t MemcachedLink::erase(std::span<const std::string> keys) {
  std::size_t gone = 0;
  while (gone < keys.size() && connected()) {
    deadline_ = clock_.monotonic() + kTimeout;
    const auto part = keys.subspan(gone, std::min(kAtOnce, keys.size() - gone));
    std::string commands;
    for (const std::string& key : part) commands.append("delete ").append(key).append("\r\n");
    if (!send(commands)) break;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto line = readLine();
      if (line != "DELETED" && line != "NOT_FOUND") {
        close();
        break;
      }
      ++gone;
    }
  }
  return gone;
}

bool MemcachedLink::keepTime() {
  const Millis left = deadline_ - clock_.monotonic();
  if (left <= 0 || !socket_) return false;
  socket_->setReceiveTimeout(Poco::Timespan(left * 1000));
  socket_->setSendTimeout(Poco::Timespan(left * 1000));
  return true;
}

bool MemcachedLink::send(std::string_view bytes) noexcept try {
  while (!bytes.empty()) {
    if (!keepTime()) throw Poco::TimeoutException();
    const int sent = socket_->sendBytes(bytes.data(), static_cast<int>(bytes.size()));
    if (sent <= 0) throw Poco::TimeoutException();
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
} catch (...) {
  close();
  return false;
}

std::optional<std::string> MemcachedLink::readLine() noexcept try {
  while (true) {
    const auto end = received_.find("\r\n");
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 2);
      return line;
    }
    char chunk[4096];
    if (received_.size() > kMostLine || !keepTime()) throw Poco::TimeoutException();
    const int count = socket_->receiveBytes(chunk, sizeof chunk);
    if (count <= 0) throw Poco::TimeoutException();
    received_.append(chunk, static_cast<std::size_t>(count));
  }
} catch (...) {
  close();
  return std::nullopt;
}

}  // namespace larder::server
