// Application: one process of a site: everything that serves it, and who owns whom.
//
//   SystemClock clock;
//   auto app = Application::start(std::move(*config), {}, log, clock);
//   if (!app) return fail(app.error().message);
//   ...
//   (*app)->reload(std::move(*changed));      // SIGHUP
//   (*app)->drain(4'000);                     // SIGTERM
//
// Application owns the executor, the store and its state, plugins and managers, the engine, the
// site and the HTTP front, each built on those before it. Log and clock are borrowed. reload() and
// drain() are for one thread; the rest is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larder/clock.h"
#include "larder/result.h"
#include "larder/server/config.h"
#include "larder/server/log.h"
#include "larder/server/management.h"

namespace larder::server {

class Application {
 public:
  struct Options {
    /// One of several processes on one port: which one.
    int worker = 0;
    bool shares_port = false;
    /// Told, on a thread of the application's, when settings were changed while running: read the
    /// configuration again and reload() it.
    std::function<void()> settings_changed = {};
  };
  /// Listens when it returns. The error is for the person who started it: what, where, remedy.
  static Result<std::unique_ptr<Application>> start(Config config, const Options& options, Log& log,
                                                    const Clock& clock);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  /// Takes over apps, managers, rules and the log's level; managers whose settings did not change
  /// keep what they hold, the others start empty while those they replace finish what runs. Fails
  /// without changing anything, also when a plugin refuses a manager's new settings. What needs a
  /// restart is logged.
  Result<> reload(Config config);
  /// Lets requests finish, at most `patience` ms, and writes what managers keep for the next start;
  /// true when all did and nothing runs in the background. Else views may still run, and the end of
  /// this object waits for them.
  bool drain(Millis patience);

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] ManagementBackend& management() noexcept;

 private:
  class Impl;
  explicit Application(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Folders of plugins ("plugins") or app libraries ("apps"): those that are configured, or the one
/// that belongs to this program, ../lib/larder/KIND beside it.
[[nodiscard]] std::vector<std::string> moduleFolders(
    const std::vector<std::filesystem::path>& configured, std::string_view kind);

}  // namespace larder::server
