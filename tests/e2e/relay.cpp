#include "relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <system_error>

namespace larder::e2e {

namespace {

constexpr int kLook = 20;  ///< ms after which a waiting thread looks at the mode again

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connectTo(const std::string& server) {
  const auto address = loopback(std::stoi(server.substr(server.rfind(':') + 1)));
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }
  ::close(socket);
  return -1;
}

}  // namespace

Relay::Relay(std::string server) : server_(std::move(server)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, size) != 0 || ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, any, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "relay");
  }
  port_ = ntohs(address.sin_port);
  threads_.emplace_back([this] { accept(); });
}

Relay::~Relay() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  threads_.front().join();  // after it nobody adds one
  for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  ::close(listener_);
}

void Relay::set(Mode mode, Alter alter) {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
  alter_ = std::move(alter);
}

void Relay::accept() {
  while (!stopping_) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++open_;
    threads_.emplace_back([this, client] {
      serve(client);
      ::close(client);
      --open_;
    });
  }
}

void Relay::serve(int client) {
  const int server = connectTo(server_);
  if (server < 0) return;
  pollfd sockets[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  for (bool goes_on = true; goes_on && !stopping_;) {
    Mode mode;
    {
      const std::lock_guard lock(mutex_);
      mode = mode_;
    }
    if (mode == Mode::refuse) break;
    // One that hangs hears when the client goes, so that its sockets can be counted.
    const short events = mode == Mode::hang ? short{POLLRDHUP} : short{POLLIN | POLLRDHUP};
    sockets[0].events = events;
    sockets[1].events = events;
    if (::poll(sockets, 2, kLook) <= 0) continue;
    if (mode == Mode::hang) {
      goes_on = sockets[0].revents == 0;
      continue;
    }
    if (sockets[0].revents != 0) goes_on = passOn(client, server, false);
    if (goes_on && sockets[1].revents != 0) goes_on = passOn(server, client, true);
  }
  ::close(server);
}

bool Relay::passOn(int from, int to, bool answer) {
  std::string data(1 << 20, '\0');
  const ssize_t got = ::recv(from, data.data(), data.size(), MSG_DONTWAIT);
  if (got <= 0) return false;
  data.resize(static_cast<std::size_t>(got));
  if (answer) {
    Alter alter;
    {
      const std::lock_guard lock(mutex_);
      alter = alter_;
    }
    auto altered = alter ? alter(std::move(data)) : std::move(data);
    if (!altered) return false;
    data = std::move(*altered);
  }
  std::size_t sent = 0;
  while (sent < data.size()) {
    const ssize_t part = ::send(to, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += static_cast<std::size_t>(part);
  }
  return true;
}

}  // namespace larder::e2e
