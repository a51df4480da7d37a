#include "larder/server/managers.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "larder/cache/envelope.h"
#include "larder/cache/scope.h"
#include "larder/cache/suggest.h"

namespace larder::server {
namespace {

constexpr Millis kLeastSnapshotInterval = 1000;

std::string describe(const ManagerConfig& config) {
  return "manager '" + config.identity.id + "' (" + config.identity.type + ")";
}

/// What one manager's plugin sees of the server. Lives as long as an instance or a task of it.
class ManagerHost final : public Host,
                          private Executor,
                          public std::enable_shared_from_this<ManagerHost> {
 public:
  using Find = std::function<std::shared_ptr<Cache>(std::string_view id)>;

  ManagerHost(const ManagerFactory::Lent& lent, const ManagerConfig& config, Find find)
      : clock_(lent.clock),
        executor_(lent.executor),
        log_(lent.log),
        prefix_(describe(config) + ": "),
        find_(std::move(find)) {}

  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] Executor& executor() noexcept override { return *this; }
  void log(LogLevel level, std::string_view message) noexcept override {
    try {
      if (log_) log_(level, prefix_ + std::string(message));
    } catch (...) {  // for want of memory a line is lost
    }
  }
  [[nodiscard]] std::shared_ptr<Cache> manager(std::string_view id) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      const auto known = found_.find(id);
      if (known != found_.end()) return known->second;
      std::shared_ptr<Cache> cache = find_ ? find_(id) : nullptr;
      if (cache) found_.emplace(id, cache);
      return cache;
    } catch (...) {
      return nullptr;
    }
  }
  /// After create(): other managers may have gone.
  std::vector<std::pair<std::string, std::shared_ptr<Cache>>> finish() {
    const std::lock_guard lock(mutex_);
    find_ = nullptr;
    return {found_.begin(), found_.end()};
  }

 private:
  /// A plugin's task refers to the host, also when the manager has been replaced meanwhile.
  struct Kept {
    std::shared_ptr<ManagerHost> host;
    Task task;  // goes first
    void operator()() const { task(); }
  };
  [[nodiscard]] Task kept(Task task) { return Kept{shared_from_this(), std::move(task)}; }
  bool post(Task task) noexcept override try {
    return executor_.post(kept(std::move(task)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  bool postAt(Millis when, Task task) noexcept override try {
    return executor_.postAt(when, kept(std::move(task)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  [[nodiscard]] std::unique_ptr<Event> makeEvent() override { return executor_.makeEvent(); }

  const Clock& clock_;
  Executor& executor_;
  std::function<void(LogLevel, std::string_view)> log_;
  const std::string prefix_;
  std::mutex mutex_;
  Find find_;
  std::map<std::string, std::shared_ptr<Cache>, std::less<>> found_;
};

/// The plugin's instance, which keeps its host alive.
template <class Interface>
std::shared_ptr<Interface> keep(PluginInstance<Interface> instance,
                                std::shared_ptr<ManagerHost> host) {
  const PluginDestroyer destroy = instance.get_deleter();
  return {instance.release(), [destroy, host = std::move(host)](Interface* i) { destroy(i); }};
}

/// Where the setting is written whose name stands first in what the plugin says, else the manager.
std::string originOf(const ManagerConfig& config, std::string_view message) {
  std::string_view origin = config.origin;
  std::size_t first = message.npos;
  for (const auto& [name, setting] : config.plugin) {
    for (auto at = message.find(name); at < first; at = message.find(name, at + 1)) {
      const auto end = at + name.size();
      const bool is_word = (at == 0 || message[at - 1] == ' ') &&
                           (end == message.size() ||
                            std::string_view(" :,=").find(message[end]) != std::string_view::npos);
      if (!is_word) continue;
      first = at;
      origin = setting.origin;
    }
  }
  return std::string(origin);
}

std::string refusalOf(const ManagerConfig& config, const std::string& message) {
  return originOf(config, message) + ": " + describe(config) + ": " + message;
}

bool sameSettings(const RawSettings& a, const RawSettings& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.value == y.second.value;
  });
}

bool samePolicy(const ManagerConfig& a, const ManagerConfig& b) {
  return std::ranges::all_of(policySchema(), [&](const SettingSpec& spec) {
    return settingText(a.policy, spec.name) == settingText(b.policy, spec.name);
  });
}

/// Of an enumerable plugin whose schema has `snapshot`. Returns what is wrong with its settings.
std::string planSnapshot(const Settings& settings, ManagerSet::Item& item) {
  if (!item.enumerable || !settings.has("snapshot")) return {};
  const std::string& kind = settings.text("snapshot");
  if (kind == "off") return {};
  if (kind != "file") return "snapshot = \"" + kind + "\" is unknown; write \"file\" or \"off\"";
  const Millis interval = settings.duration("snapshot_interval");
  if (interval < kLeastSnapshotInterval)
    return "snapshot_interval is less than " + std::to_string(kLeastSnapshotInterval / 1000) +
           "s; \"forever\" writes at the end only";
  item.snapshot = SnapshotPlan{settings.size("snapshot_size"), interval};
  return {};
}

bool samePlace(const ManagerConfig& a, const ManagerConfig& b) {
  return a.identity.path == b.identity.path && a.identity.id == b.identity.id;
}

}  // namespace

std::vector<SettingSpec> managerSchema(const Plugin& plugin) {
  std::vector<SettingSpec> schema(plugin.settings().begin(), plugin.settings().end());
  if (plugin.kind() == LARDER_BYTE_CACHE)
    schema.insert(schema.end(), envelopeSettings().begin(), envelopeSettings().end());
  return schema;
}

Result<Settings> managerSettings(const Plugin& plugin, const ManagerConfig& config) {
  return readSettings(managerSchema(plugin), config.plugin,
                      config.origin + ": " + describe(config));
}

class ManagerFactory::Build {
 public:
  Build(const Lent& lent, const std::vector<ManagerConfig>& configs, const ManagerSet* previous)
      : lent_(lent), previous_(previous), set_(std::make_shared<ManagerSet>()) {
    for (const ManagerConfig& config : configs)
      set_->items.push_back({.config = config, .manager = {}, .failure = {}, .parts = {}});
    states_.resize(configs.size(), State::open);
  }

  Result<std::shared_ptr<const ManagerSet>> run() {
    for (std::size_t i = 0; i < set_->items.size(); ++i) make(i);
    if (!errors_.empty()) return Error{errors_};
    std::vector<ManagerPtr> managers;
    std::vector<FailedManager> failed;
    for (const ManagerSet::Item& item : set_->items) {
      if (item.manager)
        managers.push_back(item.manager);
      else
        failed.push_back({item.config.identity, item.failure});
    }
    set_->registry =
        std::make_shared<const CacheManagerRegistry>(std::move(managers), std::move(failed));
    return std::shared_ptr<const ManagerSet>(set_);
  }

 private:
  enum class State : std::uint8_t { open, under_way, done };

  void make(std::size_t index) {
    if (states_[index] != State::open) return;
    states_[index] = State::under_way;
    ManagerSet::Item& item = set_->items[index];
    if (!keepPrevious(item)) create(item);
    states_[index] = State::done;
  }

  /// The cache of the nearest manager `id` at or above the path of the one that asks; made now if
  /// it is not yet. Null for none, and for one that is itself waiting for the one that asks.
  std::shared_ptr<Cache> find(const ManagerSet::Item& asking, std::string_view id) {
    std::size_t best = set_->items.size();
    for (std::size_t i = 0; i < set_->items.size(); ++i) {
      const CacheManager::Identity& candidate = set_->items[i].config.identity;
      if (&set_->items[i] == &asking || candidate.id != id ||
          !isAtOrBelow(asking.config.identity.path, candidate.path)) {
        continue;
      }
      if (best == set_->items.size() ||
          candidate.path.size() > set_->items[best].config.identity.path.size()) {
        best = i;
      }
    }
    if (best == set_->items.size()) unknown_ = id;
    if (best == set_->items.size() || states_[best] == State::under_way) return nullptr;
    make(best);
    const ManagerPtr& manager = set_->items[best].manager;
    return manager ? manager->sharedCache() : nullptr;
  }

  bool keepPrevious(ManagerSet::Item& item) {
    if (!previous_) return false;
    const auto old = std::ranges::find_if(previous_->items, [&](const ManagerSet::Item& candidate) {
      return candidate.manager && samePlace(candidate.config, item.config) &&
             candidate.config.identity.type == item.config.identity.type &&
             sameSettings(candidate.config.plugin, item.config.plugin);
    });
    if (old == previous_->items.end()) return false;
    for (const auto& [id, part] : old->parts)
      if (find(item, id) != part) return false;
    const bool same = samePolicy(old->config, item.config) &&
                      old->config.identity.is_default == item.config.identity.is_default;
    item.shared = old->shared;
    item.enumerable = old->enumerable;
    item.snapshot = old->snapshot;
    item.parts = old->parts;
    item.manager = same ? old->manager
                        : std::make_shared<const CacheManager>(
                              item.config.identity, item.config.policy, old->manager->sharedCache(),
                              old->manager->waits(), old->manager->leases());
    return true;
  }

  void create(ManagerSet::Item& item) {
    const ManagerConfig& config = item.config;
    const Result<PluginPtr> plugin = lent_.plugins.find(config.identity.type);
    if (!plugin) {
      // With a refused file about, the type may be right and its plugin broken.
      if (lent_.plugins.refusals().empty())
        error(refusalOf(config, plugin.error().message));
      else
        item.failure = refusalOf(config, plugin.error().message);
      return;
    }
    const Result<Settings> settings = managerSettings(**plugin, config);
    if (!settings) return error(settings.error().message);
    item.shared = (*plugin)->can(LARDER_SHARED);
    item.enumerable = (*plugin)->can(LARDER_ENUMERABLE);
    if (const auto problem = planSnapshot(*settings, item); !problem.empty())
      return error(refusalOf(config, problem));
    unknown_.clear();
    const auto host = std::make_shared<ManagerHost>(
        lent_, config, [this, &item](std::string_view id) { return find(item, id); });
    Result<std::shared_ptr<Cache>> cache = instantiate(**plugin, config, *settings, host);
    item.parts = host->finish();
    if (!cache && !unknown_.empty()) {
      return error(refusalOf(config, cache.error().message) + nearestId(unknown_, config));
    }
    if (!cache) {
      item.failure = refusalOf(config, cache.error().message);
      return;
    }
    const std::shared_ptr<Cache> made = std::move(*cache);
    Waits waits = (*plugin)->can(LARDER_BLOCKS) ? Waits::always : Waits::never;
    LeaseStore* leases =
        (*plugin)->can(LARDER_LEASES) ? dynamic_cast<LeaseStore*>(made.get()) : nullptr;
    // Of managers that are made of others.
    for (const auto& [id, part] : item.parts) {
      const ManagerSet::Item& its = itemOf(part);
      item.shared |= its.shared;
      if (waits == Waits::never && its.manager->waits() != Waits::never) waits = Waits::given_time;
      if (!leases) leases = its.manager->leases();
    }
    item.manager =
        std::make_shared<const CacheManager>(config.identity, config.policy, made, waits, leases);
  }

  /// Of a cache that find() gave.
  [[nodiscard]] const ManagerSet::Item& itemOf(const std::shared_ptr<Cache>& cache) const {
    return *std::ranges::find_if(set_->items, [&cache](const ManagerSet::Item& item) {
      return item.manager && item.manager->sharedCache() == cache;
    });
  }

  Result<std::shared_ptr<Cache>> instantiate(const Plugin& plugin, const ManagerConfig& config,
                                             const Settings& settings,
                                             const std::shared_ptr<ManagerHost>& host) {
    if (plugin.kind() != LARDER_BYTE_CACHE) {
      auto cache = plugin.instantiate<Cache>(*host, settings);
      if (!cache) return cache.error();
      return keep(std::move(*cache), host);
    }
    auto store = plugin.instantiate<ByteCache>(*host, settings);
    if (!store) return store.error();
    try {
      return std::shared_ptr<Cache>(std::make_shared<EnvelopeCache>(
          keep(std::move(*store), host), lent_.clock,
          envelopeOptions(
              settings, lent_.site_name + '\n' + config.identity.path + '\n' + config.identity.id),
          lent_.finish,
          [host](std::string_view message) { host->log(LogLevel::warning, message); }));
    } catch (const std::exception& e) {
      return Error{e.what()};
    }
  }

  [[nodiscard]] std::string nearestId(std::string_view id, const ManagerConfig& asking) const {
    std::vector<std::string_view> ids;
    for (const ManagerSet::Item& item : set_->items)
      if (item.config.identity.id != asking.identity.id) ids.push_back(item.config.identity.id);
    return didYouMean(id, ids);
  }

  void error(const std::string& message) { errors_ += (errors_.empty() ? "" : "\n") + message; }

  const Lent& lent_;
  const ManagerSet* previous_;
  std::shared_ptr<ManagerSet> set_;
  std::vector<State> states_;
  /// An id that the plugin which is being made has asked for and nobody has.
  std::string unknown_;
  std::string errors_;
};

Result<std::shared_ptr<const ManagerSet>> ManagerFactory::build(
    const std::vector<ManagerConfig>& configs, const ManagerSet* previous) const {
  return Build(lent_, configs, previous).run();
}

std::string newFailures(const ManagerSet* before, const ManagerSet& after) {
  const auto known = [before](const ManagerSet::Item& item) {
    return before != nullptr &&
           std::ranges::any_of(before->items, [&item](const ManagerSet::Item& old) {
             return !old.manager && samePlace(old.config, item.config) &&
                    old.config.identity.type == item.config.identity.type &&
                    sameSettings(old.config.plugin, item.config.plugin);
           });
  };
  std::string lines;
  for (const ManagerSet::Item& item : after.items)
    if (!item.manager && !known(item)) lines += (lines.empty() ? "" : "\n") + item.failure;
  return lines;
}

std::vector<std::string> endedManagers(const ManagerSet& before, const ManagerSet& after) {
  std::vector<std::string> scopes;
  for (const ManagerSet::Item& old : before.items) {
    const bool goes_on = std::ranges::any_of(after.items, [&](const ManagerSet::Item& item) {
      return item.manager && old.manager && samePlace(item.config, old.config) &&
             item.manager->sharedCache() == old.manager->sharedCache();
    });
    if (old.manager && !goes_on) scopes.push_back(old.manager->scope());
  }
  return scopes;
}

}  // namespace larder::server
