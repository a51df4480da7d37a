// A load generator that is cheaper than the servers it measures: a closed loop over keep-alive (or
// ever new) connections on one thread, which reads heads and lets the kernel drop bodies.
//
//   bench_load_generator --port 8080 --path /a --connections 50 --seconds 5
//   bench_load_generator --serve 20480 --port 8099     # the bare front with a page of that size
//   bench_load_generator --smoke                       # both at once, for a moment
//
// Prints requests per second, latencies and, with --server-pid, the server's CPU time per request.
// Every answer must have the first one's status and length, else it counts as an error. Ends with 1
// when there was one.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/system_clock.h"
#include "larder/http/server.h"

namespace larder::bench {
namespace {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string path = "/";
  int connections = 50;
  double seconds = 5;
  std::vector<std::string> headers;
  int status = 200;
  bool reconnect = false;
  int server_pid = 0;
  long serve = -1;
  bool smoke = false;
};

std::int64_t nowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// User and system time of a process, seconds.
double cpuSeconds(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  // utime and stime are the 14th and 15th field; the command is the second.
  unsigned long user = 0;
  unsigned long system = 0;
  if (std::sscanf(text.c_str() + end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                  &user, &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Latencies by the microsecond; what took a second or more is counted in the last one.
class Histogram {
 public:
  void add(std::int64_t ns) {
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(ns / 1000, 0));
    ++counts_[std::min(at, counts_.size() - 1)];
    ++total_;
    longest_ = std::max(longest_, ns);
  }
  /// Milliseconds that `share` of all stay within.
  [[nodiscard]] double quantile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t us = 0; us < counts_.size(); ++us) {
      seen += counts_[us];
      if (seen > wanted) return static_cast<double>(us) / 1000;
    }
    return longest();
  }
  [[nodiscard]] double longest() const { return static_cast<double>(longest_) / 1e6; }
  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(1'000'000);
  std::uint64_t total_ = 0;
  std::int64_t longest_ = 0;
};

struct AnswerHead {
  int status = 0;
  std::size_t size = 0;    // bytes of the head
  std::size_t length = 0;  // of the body
};

/// False while the head is incomplete. An answer without a length has no body.
bool readHead(std::string_view bytes, AnswerHead& head) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos || bytes.size() < 12) return false;
  head.size = end + 4;
  head.length = 0;
  head.status = std::atoi(bytes.data() + 9);
  constexpr std::string_view kName = "\r\ncontent-length:";
  for (std::size_t at = bytes.find("\r\n"); at < end; at = bytes.find("\r\n", at + 2)) {
    if (::strncasecmp(bytes.data() + at, kName.data(), kName.size()) == 0) {
      head.length = static_cast<std::size_t>(std::atoll(bytes.data() + at + kName.size()));
    }
  }
  return true;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    request_ = "GET " + options.path + " HTTP/1.1\r\nHost: " + options.host + ":" +
               std::to_string(options.port) + "\r\nAccept: */*\r\n";
    for (const std::string& header : options.headers) request_ += header + "\r\n";
    if (options.reconnect) request_ += "Connection: close\r\n";
    request_ += "\r\n";
    connections_.resize(static_cast<std::size_t>(options.connections));
  }
  ~Load() {
    for (const Connection& c : connections_) {
      if (c.fd >= 0) ::close(c.fd);
    }
    ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  int run() {
    for (Connection& c : connections_) open(c);
    const double cpu_before = cpuSeconds(options_.server_pid);
    const std::int64_t start = nowNs();
    const std::int64_t end = start + static_cast<std::int64_t>(options_.seconds * 1e9);
    for (Connection& c : connections_) ask(c, start);
    std::array<epoll_event, 256> events{};
    std::int64_t now = start;
    while (now < end) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
      now = nowNs();
      for (int i = 0; i < count; ++i) {
        onReadable(connections_[events[static_cast<std::size_t>(i)].data.u32], now);
      }
    }
    const double seconds = static_cast<double>(now - start) / 1e9;
    const double cpu = cpuSeconds(options_.server_pid) - cpu_before;
    report(seconds, cpu);
    return errors_ == 0 && latencies_.total() > 0 ? 0 : 1;
  }

 private:
  struct Connection {
    int fd = -1;
    std::int64_t asked = 0;
    std::size_t buffered = 0;  // of a head that is incomplete
    std::size_t remaining = 0;
    std::array<char, 1024> buffer;
  };

  void open(Connection& c) {
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    if (::inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr) != 1) {
      throw std::runtime_error("--host wants an IPv4 address");
    }
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    }
    const int on = 1;
    ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(&c - connections_.data());
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event);
  }

  void ask(Connection& c, std::int64_t now) {
    c.asked = now;
    c.buffered = 0;
    c.remaining = 0;
    if (::send(c.fd, request_.data(), request_.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request_.size())) {
      fail(c, now);
    }
  }

  void onReadable(Connection& c, std::int64_t now) {
    if (c.remaining > 0) {
      // With this flag the kernel drops the body instead of copying it.
      take(c, ::recv(c.fd, nullptr, c.remaining, MSG_TRUNC | MSG_DONTWAIT), now);
      return;
    }
    const ssize_t size =
        ::recv(c.fd, c.buffer.data() + c.buffered, c.buffer.size() - c.buffered, MSG_DONTWAIT);
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) fail(c, now);
      return;
    }
    c.buffered += static_cast<std::size_t>(size);
    AnswerHead head;
    if (!readHead({c.buffer.data(), c.buffered}, head)) {
      if (c.buffered == c.buffer.size()) fail(c, now);
      return;
    }
    if (first_) length_ = head.length;
    first_ = false;
    const std::size_t of_body = c.buffered - head.size;
    if (head.status != options_.status || head.length != length_ || of_body > head.length) {
      fail(c, now);
      return;
    }
    c.remaining = head.length - of_body;
    if (c.remaining == 0) {
      done(c, now);
    } else {
      take(c, ::recv(c.fd, nullptr, c.remaining, MSG_TRUNC | MSG_DONTWAIT), now);
    }
  }

  void take(Connection& c, ssize_t size, std::int64_t now) {
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) fail(c, now);
      return;
    }
    c.remaining -= static_cast<std::size_t>(size);
    if (c.remaining == 0) done(c, now);
  }

  void done(Connection& c, std::int64_t now) {
    latencies_.add(now - c.asked);
    if (options_.reconnect) {
      ::close(c.fd);
      now = nowNs();
      open(c);
    }
    ask(c, now);
  }

  void fail(Connection& c, std::int64_t now) {
    // Without end when the server is gone.
    if (++errors_ > 1000) throw std::runtime_error("more than 1000 errors");
    ::close(c.fd);
    open(c);
    ask(c, now);
  }

  void report(double seconds, double cpu) const {
    const auto requests = static_cast<double>(latencies_.total());
    std::printf("requests/s %.0f  p50 %.3f ms  p99 %.3f ms  max %.3f ms", requests / seconds,
                latencies_.quantile(0.5), latencies_.quantile(0.99), latencies_.longest());
    if (options_.server_pid != 0) std::printf("  server CPU %.2f us", cpu * 1e6 / requests);
    std::printf("  requests %.0f  errors %lu  body %zu\n", requests,
                static_cast<unsigned long>(errors_), length_);
  }

  const Options& options_;
  const int epoll_;
  std::string request_;
  std::vector<Connection> connections_;
  Histogram latencies_;
  bool first_ = true;
  std::size_t length_ = 0;
  std::uint64_t errors_ = 0;
};

/// One page for every path, as a cache hit would give it.
class OnePage final : public http::Handler {
 public:
  explicit OnePage(std::size_t size) : body_(size, 'x') {
    head_ = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
            std::to_string(size) + "\r\nETag: \"0123456789abcdef0123456789abcdef\"\r\n";
  }
  http::Fast tryFast(const http::Request&, http::Response& response) noexcept override {
    response.useStored(head_, body_, http::Holder());
    response.addHeader("Age", "12");
    response.addHeader("Cache-Status", "Larder; hit; ttl=48");
    return http::Fast::answered;
  }
  void handle(const http::Request&, http::Response& response, http::Finding*) noexcept override {
    response.setStatus(404);
  }

 private:
  std::string head_;
  std::string body_;
};

std::unique_ptr<http::Server> serve(OnePage& page, const Clock& clock, std::uint16_t port) {
  http::ServerOptions options;
  options.port = port;
  auto server = http::Server::start(options, page, clock);
  if (!server) throw std::runtime_error(server.error().message);
  return std::move(server).value();
}

double number(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error(std::string(name) + " wants a number, not '" + std::string(text) +
                             "'");
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--smoke") {
      options.smoke = true;
      continue;
    }
    if (name == "--reconnect") {
      options.reconnect = true;
      continue;
    }
    if (++i == argc) throw std::runtime_error(std::string(name) + " wants a value");
    const std::string value = argv[i];
    if (name == "--host") {
      options.host = value;
    } else if (name == "--path") {
      options.path = value;
    } else if (name == "--header") {
      options.headers.push_back(value);
    } else if (name == "--port") {
      options.port = static_cast<std::uint16_t>(number(name, value));
    } else if (name == "--connections") {
      options.connections = std::max(1, static_cast<int>(number(name, value)));
    } else if (name == "--seconds") {
      options.seconds = number(name, value);
    } else if (name == "--status") {
      options.status = static_cast<int>(number(name, value));
    } else if (name == "--server-pid") {
      options.server_pid = static_cast<int>(number(name, value));
    } else if (name == "--serve") {
      options.serve = static_cast<long>(number(name, value));
    } else {
      throw std::runtime_error("no option " + std::string(name) +
                               "; there are --host --port --path --header --connections --seconds "
                               "--status --reconnect --server-pid --serve --smoke");
    }
  }
  return options;
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  const SystemClock clock;
  if (options.serve >= 0) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    OnePage page(static_cast<std::size_t>(options.serve));
    const auto server = serve(page, clock, options.port);
    std::printf("serving on port %u\n", static_cast<unsigned>(server->port()));
    std::fflush(stdout);
    int signal = 0;
    sigwait(&ends, &signal);
    server->drain(1000);
    return 0;
  }
  if (options.smoke) {
    OnePage page(20'480);
    const auto server = serve(page, clock, 0);
    options.port = server->port();
    options.connections = 4;
    options.seconds = 0.1;
    const int kept = Load(options).run();
    options.reconnect = true;
    return std::max(kept, Load(options).run());
  }
  return Load(options).run();
}

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  try {
    return larder::bench::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
