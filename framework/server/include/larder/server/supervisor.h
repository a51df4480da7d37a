// Supervisor: several processes of a site behind one port.
//
// It starts the workers (this program again, with an internal option), each listening on the same
// port with SO_REUSEPORT; starts another one when one dies, later and later if that happens at once
// again and again; passes SIGHUP on; on SIGTERM ends all and goes last. It serves the management
// port itself: each worker answers it over a socket pair of the two (no file, no port), reports are
// added up, and an invalidation is committed by one worker, which makes it known to all.
//
//   Supervisor supervisor({.workers = 3, .arguments = {"serve", "conf/larder.toml"}}, config, log);
//   return supervisor.run();
//
// run() uses the calling thread, in which SIGTERM, SIGINT, SIGQUIT, SIGHUP and SIGCHLD must be
// blocked (signals.h), as in all others.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "larder/server/config.h"
#include "larder/server/log.h"

namespace larder::server {

class Supervisor {
 public:
  struct Options {
    unsigned workers = 2;
    /// Of the command line, from the command on; workers get them too.
    std::vector<std::string> arguments;
    std::vector<Override> overrides;
    std::string program = "/proc/self/exe";
  };
  Supervisor(Options options, Config config, Log& log);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Until it is told to end. The exit status: 0, 1 if a worker had to be killed, 2 if it could not
  /// start, which has been said on standard error.
  int run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A worker that lived so long, ms, did not die because of how it starts.
inline constexpr Millis kSettled = 10'000;
/// How long to wait, ms, before a worker is started again whose last `rapid_deaths` processes each
/// lived shorter than kSettled.
[[nodiscard]] Millis restartDelay(int rapid_deaths) noexcept;

}  // namespace larder::server
