// ManagerFactory: makes the cache managers that a configuration names, by their plugins.
//
//   ManagerFactory factory({.plugins = loader, .clock = clock, .executor = pool, .log = log, ...});
//   auto set = factory.build(config.managers, nullptr);
//   if (!set) fail(set.error().message);                // a wrong setting, a misspelt type
//   site.configure({.registry = (*set)->registry, ...});
//   ...
//   auto next = factory.build(changed.managers, set->get());   // what did not change keeps its
//   entries
//
// A manager whose plugin was refused or whose create() failed is no error: it is in the registry as
// failed, with the reason, and its views render uncached.
//
// Used by one thread at a time; what it lends must outlive every manager.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/cache_manager.h"
#include "larder/cache/plugin_loader.h"
#include "larder/clock.h"
#include "larder/executor.h"
#include "larder/host.h"
#include "larder/result.h"
#include "larder/server/config.h"
#include "larder/value.h"

namespace larder::server {

/// What of a manager's entries outlives the process.
struct SnapshotPlan {
  std::size_t max_bytes = 0;
  Millis interval = 0;
};

/// The managers of one configuration. Immutable.
struct ManagerSet {
  struct Item {
    ManagerConfig config;
    ManagerPtr manager;   ///< null: failed
    std::string failure;  ///< why, with the file and line of what has to be changed
    bool shared = false;
    bool enumerable = false;
    std::optional<SnapshotPlan> snapshot = {};
    /// Managers that this one is made of, by id.
    std::vector<std::pair<std::string, std::shared_ptr<Cache>>> parts;
  };
  std::vector<Item> items;
  std::shared_ptr<const CacheManagerRegistry> registry;
};

/// The settings that the configuration may give a manager of this plugin, beside its policy.
[[nodiscard]] std::vector<SettingSpec> managerSchema(const Plugin& plugin);
[[nodiscard]] Result<Settings> managerSettings(const Plugin& plugin, const ManagerConfig& config);

class ManagerFactory {
 public:
  struct Lent {
    const PluginLoader& plugins;
    const Clock& clock;
    Executor& executor;
    std::function<void(LogLevel, std::string_view)> log;
    std::string site_name;
    /// Completes a page that comes from a store of bytes.
    std::function<Result<>(Page&)> finish;
  };
  explicit ManagerFactory(Lent lent) : lent_(std::move(lent)) {}

  /// `previous` may be null. The error names the place of every setting that is wrong.
  Result<std::shared_ptr<const ManagerSet>> build(const std::vector<ManagerConfig>& configs,
                                                  const ManagerSet* previous) const;

 private:
  class Build;
  Lent lent_;
};

/// A line for each manager that failed and had not failed with the same settings before. `before`
/// may be null.
[[nodiscard]] std::string newFailures(const ManagerSet* before, const ManagerSet& after);

/// Scopes of the managers of `before` that are gone in `after` or start anew: to invalidate, so
/// that nothing of them comes back with a later manager of that id.
[[nodiscard]] std::vector<std::string> endedManagers(const ManagerSet& before,
                                                     const ManagerSet& after);

}  // namespace larder::server
