#include "larder/testing/memcached_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace larder::testing {
namespace {

/// Connected, or -1.
int connectTo(const std::string& path, std::uint16_t port, bool v6) noexcept {
  sockaddr_storage address{};
  socklen_t size = 0;
  if (!path.empty()) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    path.copy(local.sun_path, sizeof(local.sun_path) - 1);
    std::memcpy(&address, &local, size = sizeof(local));
  } else if (v6) {
    sockaddr_in6 remote{};
    remote.sin6_family = AF_INET6;
    remote.sin6_port = htons(port);
    remote.sin6_addr = in6addr_loopback;
    std::memcpy(&address, &remote, size = sizeof(remote));
  } else {
    sockaddr_in remote{};
    remote.sin_family = AF_INET;
    remote.sin_port = htons(port);
    remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&address, &remote, size = sizeof(remote));
  }
  const int socket = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0) {
    return socket;
  }
  if (socket >= 0) ::close(socket);
  return -1;
}

bool endsAnswer(std::string_view answer) noexcept {
  if (!answer.ends_with("\r\n")) return false;
  answer.remove_suffix(2);
  const auto start = answer.rfind('\n');
  const std::string_view last = start == std::string_view::npos ? answer : answer.substr(start + 1);
  return last == "END" || last == "OK" || last == "STORED" || last == "DELETED" ||
         last.starts_with("NOT_") || last.starts_with("BUSY") || last.starts_with("VERSION") ||
         last.find("ERROR") < last.size();
}

}  // namespace

Result<MemcachedServer> MemcachedServer::start(Options options) {
  MemcachedServer server;
  server.options_ = std::move(options);
  const Listens listens = server.options_.listens;
  if (listens == Listens::unixSocket) {
    server.folder_ = std::make_unique<TempDir>();
    server.address_ = server.folder_->file("memcached");
    if (auto launched = server.launch(); !launched) return launched.error();
    return server;
  }
  // Somebody may take the free port before the server does.
  for (int attempt = 0;; ++attempt) {
    server.port_ = freePort();
    server.address_ =
        (listens == Listens::tcp6 ? "[::1]:" : "127.0.0.1:") + std::to_string(server.port_);
    auto launched = server.launch();
    if (launched) return server;
    if (!server.process_ || attempt == 4) return launched.error();
  }
}

Result<> MemcachedServer::launch() {
  std::vector<std::string> arguments = {"-m", std::to_string(options_.megabytes), "-t", "2"};
  if (::geteuid() == 0) arguments.insert(arguments.end(), {"-u", "root"});
  if (folder_) {
    ::unlink(address_.c_str());  // left by one that was killed
    arguments.insert(arguments.end(), {"-s", address_});
  } else {
    const bool v6 = options_.listens == Listens::tcp6;
    arguments.insert(arguments.end(),
                     {"-l", v6 ? "::1" : "127.0.0.1", "-p", std::to_string(port_), "-U", "0"});
  }
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  Process::Options process;
  process.package = "memcached";
  auto started = Process::start("memcached", std::move(arguments), process);
  if (!started) return started.error();
  process_ = std::move(*started);
  // One that wants a login answers, too, that it does.
  return process_->waitUntil([this] { return !ask("version").empty(); },
                             "memcached on " + address_);
}

void MemcachedServer::pause() {
  process_->signal(SIGSTOP);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid()), &info, WSTOPPED | WNOWAIT);
}

void MemcachedServer::resume() {
  process_->signal(SIGCONT);
}

void MemcachedServer::kill() {
  process_->signal(SIGKILL);
  process_->wait();
}

Result<> MemcachedServer::restart(std::optional<std::vector<std::string>> arguments) {
  if (arguments) options_.arguments = std::move(*arguments);
  return launch();
}

std::string MemcachedServer::ask(const std::string& command) {
  const int socket =
      connectTo(folder_ ? address_ : std::string(), port_, options_.listens == Listens::tcp6);
  if (socket < 0) return {};
  const timeval patience{5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const std::string line = command + "\r\n";
  std::string answer;
  if (::send(socket, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size())) {
    char part[4096];
    for (ssize_t got; (got = ::recv(socket, part, sizeof(part), 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(got));
      if (endsAnswer(answer)) break;
    }
  }
  ::close(socket);
  return answer;
}

std::vector<std::string> MemcachedServer::keys() {
  std::string list = ask("lru_crawler metadump all");
  while (list.starts_with("BUSY")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    list = ask("lru_crawler metadump all");
  }
  std::vector<std::string> keys;  // "key=... exp=..." a line, percent-encoded
  for (auto at = list.find("key="); at != std::string::npos; at = list.find("key=", at + 1)) {
    std::string key = list.substr(at + 4, list.find(' ', at) - at - 4);
    for (auto sign = key.find('%'); sign != std::string::npos; sign = key.find('%', sign + 1)) {
      const auto byte = std::strtoul(key.substr(sign + 1, 2).c_str(), nullptr, 16);
      key.replace(sign, 3, 1, static_cast<char>(byte));
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::uint64_t MemcachedServer::stat(const std::string& name) {
  const std::string all = ask("stats");
  const std::string start = "STAT " + name + " ";
  const auto at = all.find(start);
  return at == std::string::npos ? 0 : std::strtoull(all.c_str() + at + start.size(), nullptr, 10);
}

}  // namespace larder::testing
