// Process: a child process of a test: started, awaited until it is ready, signalled, and ended at
// the latest when the object goes, with all processes that it started.
//
//   auto server = Process::start("memcached", {"-s", dir.file("mc")}, {.package = "memcached"});
//   ASSERT_TRUE(server) << server.error().message;
//   auto ready = server->waitForSocket(dir.file("mc"));
//   ASSERT_TRUE(ready) << ready.error().message;
//   server->signal(SIGTERM);
//   EXPECT_EQ(server->wait(5000), 0);
//
// Used by one thread, which must outlive the child: the kernel kills the child when the thread that
// started it ends. Times are milliseconds of real time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/result.h"

namespace larder::testing {

/// A TCP port of 127.0.0.1 that nobody listened on a moment ago. Throws std::system_error.
[[nodiscard]] std::uint16_t freePort();

class Process {
 public:
  /// How long wait functions wait unless told otherwise: long enough for a sanitizer's build on a
  /// busy machine.
  static constexpr Millis kPatience = 30'000;

  struct Options {
    /// Added to the environment of this process.
    std::vector<std::pair<std::string, std::string>> environment = {};
    /// Working directory, or this process's.
    std::string directory = {};
    /// The Debian package of the program: part of the error when it is missing.
    std::string package = {};
  };

  /// `program` without a slash is looked for in PATH, /usr/sbin and /usr/local/sbin. Its output,
  /// standard and error, is kept for output().
  static Result<Process> start(const std::string& program, std::vector<std::string> arguments,
                               const Options& options);
  static Result<Process> start(const std::string& program, std::vector<std::string> arguments) {
    return start(program, std::move(arguments), Options{});
  }

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  /// Kills the child and what it started, if it still runs.
  ~Process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// To the child alone, not to what it started.
  void signal(int number) noexcept;
  [[nodiscard]] bool running() noexcept;
  /// The exit status (128 + signal when one ended it), or nothing if it still runs after
  /// `patience`.
  std::optional<int> wait(Millis patience = kPatience) noexcept;
  /// SIGTERM, then SIGKILL if that was not enough; the exit status.
  int stop(Millis patience = kPatience) noexcept;
  /// All that it has written so far.
  [[nodiscard]] std::string output() const;

  /// Waits until `ready` returns true. The error holds the output: when the child ended, or when
  /// it is not ready in time.
  Result<> waitUntil(const std::function<bool()>& ready, std::string_view what,
                     Millis patience = kPatience);
  Result<> waitForPort(std::uint16_t port, Millis patience = kPatience);
  Result<> waitForSocket(const std::string& path, Millis patience = kPatience);
  Result<> waitForOutput(std::string_view text, Millis patience = kPatience);

 private:
  Process(std::string program, pid_t pid, int output) noexcept;

  std::string program_;
  pid_t pid_ = -1;
  int output_ = -1;
  std::optional<int> status_;
};

}  // namespace larder::testing
