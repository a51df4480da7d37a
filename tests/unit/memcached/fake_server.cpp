#include "fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>

namespace larder::testing {

std::string FakeServer::Command::word(std::size_t index) const {
  std::istringstream words(line);
  std::string word;
  for (std::size_t i = 0; i <= index; ++i) words >> word;
  return word;
}

void FakeServer::Talk::wait(int ms) {
  std::unique_lock lock(server_.mutex_);
  server_.changed_.wait_for(lock, std::chrono::milliseconds(ms),
                            [this] { return server_.stopping_; });
}

void FakeServer::Talk::say(std::string_view text, int interval_ms, std::size_t part) {
  while (!text.empty() && !closed_) {
    const auto now = interval_ms == 0 ? text : text.substr(0, part);
    text.remove_prefix(now.size());
    if (::send(socket_, now.data(), now.size(), MSG_NOSIGNAL) < 0) closed_ = true;
    if (interval_ms != 0 && !text.empty()) wait(interval_ms);
  }
}

void FakeServer::Talk::close() {
  closed_ = true;
  ::shutdown(socket_, SHUT_RDWR);
}

FakeServer::FakeServer(Script script, bool greets) : script_(std::move(script)), greets_(greets) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "fake server");
  }
  port_ = ntohs(address.sin_port);
  threads_.emplace_back([this] { accept(); });
}

FakeServer::~FakeServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  changed_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);
  threads_.front().join();  // after it nobody adds one
  for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

void FakeServer::accept() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopping_ || socket < 0) {
      if (socket >= 0) ::close(socket);
      return;
    }
    const int one = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    sockets_.push_back(socket);
    ++open_;
    threads_.emplace_back([this, socket] {
      serve(socket);
      const std::lock_guard done(mutex_);
      --open_;
      changed_.notify_all();
    });
  }
}

void FakeServer::serve(int socket) {
  Talk talk(*this, socket);
  std::string received;
  const auto more = [&] {
    char part[65536];
    const ssize_t got = ::recv(socket, part, sizeof(part), 0);
    if (got > 0) received.append(part, static_cast<std::size_t>(got));
    return got > 0;
  };
  for (;;) {
    const auto end = received.find("\r\n");
    if (end == std::string::npos) {
      if (!more()) return;
      continue;
    }
    Command command{received.substr(0, end), {}};
    received.erase(0, end + 2);
    const std::string verb = command.word(0);
    if (verb == "set" || verb == "add" || verb == "cas") {
      const std::size_t size = std::stoul(command.word(4));
      while (received.size() < size + 2) {
        if (!more()) return;
      }
      command.data = received.substr(0, size);
      received.erase(0, size + 2);
    }
    if (greets_ && command.line == "version") {
      talk.say("VERSION 1.6.18\r\n");
    } else if (greets_ && command.line == "stats settings") {
      talk.say("STAT item_size_max 1048576\r\nEND\r\n");
    } else {
      {
        const std::lock_guard lock(mutex_);
        heard_.push_back(command.line);
      }
      script_(talk, command);
    }
  }
}

std::vector<std::string> FakeServer::heard() const {
  const std::lock_guard lock(mutex_);
  return heard_;
}

std::size_t FakeServer::connections() const {
  const std::lock_guard lock(mutex_);
  return sockets_.size();
}

std::size_t FakeServer::open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

bool FakeServer::awaitOpen(std::size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return open_ == count; });
}

}  // namespace larder::testing
