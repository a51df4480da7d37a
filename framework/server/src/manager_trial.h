// ManagerTrial: makes cache managers as a server would, to learn what their plugins think of their
// settings. No server of a cache needs to be there; what was made serves nothing.
//
//   ManagerTrial trial(config, [](std::string_view line) { std::cerr << line << '\n'; });
//   const auto made = trial.make(config.managers, nullptr);
//   if (!made) fail(made.error().message);                   // wrong settings, by the schemas
//   const std::string refused = newFailures(nullptr, **made);  // by the plugins
//
// One thread. What was made goes before it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "larder/cache/plugin_loader.h"
#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/http/page_head.h"
#include "larder/server/application.h"
#include "larder/server/managers.h"

namespace larder::server {

class ManagerTrial {
 public:
  /// `warn` gets what plugins warn of.
  ManagerTrial(const Config& config, std::function<void(std::string_view)> warn)
      : plugins_(moduleFolders(config.plugin_folders, "plugins")),
        refusals_(plugins_.loadAll()),
        executor_(clock_, {.threads = 1}),
        factory_({.plugins = plugins_,
                  .clock = clock_,
                  .executor = executor_,
                  .log =
                      [warn = std::move(warn)](LogLevel level, std::string_view line) {
                        if (level >= LogLevel::warning) warn(line);
                      },
                  .site_name = config.site_name,
                  .finish = http::finishStoredPage}) {}

  [[nodiscard]] const PluginLoader& plugins() const noexcept { return plugins_; }
  /// Files that are no plugins although they are where plugins are.
  [[nodiscard]] const std::vector<Refusal>& refusals() const noexcept { return refusals_; }
  Result<std::shared_ptr<const ManagerSet>> make(const std::vector<ManagerConfig>& managers,
                                                 const ManagerSet* previous) const {
    return factory_.build(managers, previous);
  }

 private:
  SystemClock clock_;
  PluginLoader plugins_;
  std::vector<Refusal> refusals_;
  ThreadPool executor_;
  ManagerFactory factory_;
};

}  // namespace larder::server
