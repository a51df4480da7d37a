// MemcachedServer: a real memcached for a test, on a free port of 127.0.0.1 or on a Unix socket.
//
//   auto server = MemcachedServer::start();
//   ASSERT_TRUE(server) << server.error().message;
//   settings.set("servers", std::vector{server->address()});
//   server->pause();       // it hangs from here on
//
// Used by one thread, which must outlive it (see Process).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larder/result.h"
#include "larder/testing/process.h"
#include "larder/testing/temp_dir.h"

namespace larder::testing {

class MemcachedServer {
 public:
  enum class Listens : std::uint8_t { tcp, tcp6, unixSocket };
  struct Options {
    Listens listens = Listens::tcp;
    int megabytes = 16;
    /// Further arguments: {"-I", "2m"}.
    std::vector<std::string> arguments = {};
  };

  /// The error of a missing program names its Debian package.
  static Result<MemcachedServer> start(Options options);
  static Result<MemcachedServer> start() { return start(Options{}); }

  /// As a configuration writes it.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] pid_t pid() const noexcept { return process_->pid(); }

  /// Stopped by SIGSTOP: connections stay, nothing is answered. Returns when it has stopped.
  void pause();
  void resume();
  /// At once, as a crash would.
  void kill();
  /// After kill(), on the same address, empty. Other arguments if given.
  Result<> restart(std::optional<std::vector<std::string>> arguments = {});

  /// One command on a connection of its own; what it answers up to a line END, OK, STORED or the
  /// like. For looking behind a client's back.
  [[nodiscard]] std::string ask(const std::string& command);
  /// Of all it holds. Waits while the server is busy with a crawl of its own.
  [[nodiscard]] std::vector<std::string> keys();
  /// A number of its "stats", 0 if it does not say.
  [[nodiscard]] std::uint64_t stat(const std::string& name);

 private:
  MemcachedServer() = default;
  Result<> launch();

  Options options_;
  std::unique_ptr<TempDir> folder_;  ///< of a Unix socket
  std::string address_;
  std::uint16_t port_ = 0;
  std::optional<Process> process_;
};

}  // namespace larder::testing
