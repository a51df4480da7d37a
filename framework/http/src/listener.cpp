#include "listener.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/SocketImpl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "larder/http/proxies.h"

namespace larder::http {
namespace {

PeerAddress peerOf(const sockaddr_storage& address) {
  PeerAddress peer;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::memcpy(peer.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
    peer.port = ntohs(in.sin_port);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::memcpy(peer.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
    peer.port = ntohs(in.sin6_port);
    peer.ipv6 = true;
  }
  return unmapped(peer);
}

}  // namespace

Listener::Listener(const std::string& host, std::uint16_t port, int backlog, bool reuse_port,
                   unsigned users)
    : users_(users) {
  socket_.bind(Poco::Net::SocketAddress(host, port), true, reuse_port);
  // Accepted sockets inherit it, which saves a system call each.
  socket_.setNoDelay(true);
  socket_.listen(backlog);
  socket_.setBlocking(false);
  fd_ = socket_.impl()->sockfd();
  port_ = socket_.address().port();
}

Listener::Outcome Listener::accept(Accepted& accepted) noexcept {
  for (;;) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd =
        ::accept4(fd_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      accepted.fd = fd;
      accepted.peer = peerOf(address);
      return Outcome::accepted;
    }
    switch (errno) {
      case EAGAIN:
        return Outcome::none;
      // Errors of the one connection that waited (accept(2)): it is gone, take the next.
      case EINTR:
      case ECONNABORTED:
      case EPERM:
      case EPROTO:
      case ENOPROTOOPT:
      case ENETDOWN:
      case ENETUNREACH:
      case EHOSTDOWN:
      case EHOSTUNREACH:
        break;
      default:
        return Outcome::exhausted;
    }
  }
}

void Listener::leave() noexcept {
  if (users_.fetch_sub(1) != 1) return;
  try {
    socket_.close();
  } catch (const Poco::Exception&) {
    // Closed or not, nobody uses it any more.
    return;
  }
}

}  // namespace larder::http
