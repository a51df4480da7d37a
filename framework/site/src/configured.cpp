// What of a configuration results depend on, and which manager it gives a view.
#include <algorithm>
#include <array>

#include "larder/cache/key_builder.h"
#include "larder/cache/policy_settings.h"
#include "parts_hash.h"
#include "site_internal.h"

namespace larder::site {

namespace {

/// Those that change what a view sees, what becomes of its answer, or whether an error is kept. All
/// others are obeyed when a stored result is found.
constexpr std::array<std::string_view, 3> kOfResults = {"normalise", "strip_set_cookie",
                                                        "max_age_error"};

const RuleSet& rulesOf(const SiteConfig& config) {
  static const RuleSet kNone;
  return config.rules ? *config.rules : kNone;
}

const std::vector<ManagerPtr>& managersOf(const SiteConfig& config) {
  static const std::vector<ManagerPtr> kNone;
  return config.registry ? config.registry->managers() : kNone;
}

std::uint64_t assignmentOf(const SiteConfig& config) {
  PartsHash hash;
  for (const ManagerPtr& manager : managersOf(config)) {
    const auto& identity = manager->identity();
    hash.add(identity.path).add(identity.id).add(identity.is_default ? "default" : "");
  }
  for (const Rule& rule : rulesOf(config).rules())
    hash.add(rule.pattern).add(rule.view).add(rule.manager);
  for (const Mount& mount : config.mounts) {
    hash.add(mount.path);
    for (const ViewDefinition& view : mount.app->views)
      hash.add(view.name).add(view.type).add(view.caching.manager);
  }
  return hash.value();
}

/// A page may hold the result of any other view, wherever that is, so it is one for all. Where
/// nobody has such settings it does not matter either who has which manager.
std::uint64_t revisionOf(const SiteConfig& config, std::uint64_t assignment) {
  PartsHash mounts;
  for (const Mount& mount : config.mounts) mounts.add(mount.path);
  PartsHash hash;
  bool any = false;
  hash.add(assignment);
  const auto add = [&](const Policy& policy, std::string_view name) {
    const std::string text = settingText(policy, name);
    any |= text != settingText(Policy{}, name);
    hash.add(name).add(text);
  };
  for (const ManagerPtr& manager : managersOf(config))
    for (const auto name : kOfResults) add(manager->policy(), name);
  for (const Rule& rule : rulesOf(config).rules()) {
    hash.add(rule.pattern);
    Policy policy;
    for (const PolicySetting& setting : rule.settings) {
      if (std::ranges::find(kOfResults, setting.name) == kOfResults.end()) continue;
      if (applySetting(policy, setting.name, setting.value)) add(policy, setting.name);
    }
  }
  return any ? mounts.add(hash.value()).value() : mounts.value();
}

/// Null: not cached there under this configuration.
std::shared_ptr<Cache> cacheOf(const Configured& configured, std::string_view path,
                               std::string_view view) {
  const Mount* const mount = configured.mountOf(path);
  if (!mount) return nullptr;
  const auto& views = mount->app->views;
  const auto found = std::ranges::find(views, view, &ViewDefinition::name);
  if (found == views.end()) return nullptr;
  const ManagerPtr manager = configured.managerOf(path, *found, {});
  return manager ? manager->sharedCache() : nullptr;
}

}  // namespace

Configured::Configured(SiteConfig with)
    : config(std::move(with)),
      assignment(assignmentOf(config)),
      revision(larder::site::revisionOf(config, assignment)) {}

std::uint64_t Configured::revisionOf(const Mount& mount, const ViewDefinition& view) const {
  return PartsHash().add(view.revision).add(mount.path).add(revision).value();
}

const Resolved& Configured::rulesFor(std::string_view path, std::string_view view) const {
  return rulesOf(config).resolve(path, view);
}

const Mount* Configured::mountOf(std::string_view path) const {
  const auto found = std::ranges::find_if(
      config.mounts, [&](const Mount& mount) { return isAtOrBelow(path, mount.path); });
  return found == config.mounts.end() ? nullptr : &*found;
}

// Object before rule before view: what somebody set while the site runs says more than files, and
// what the operator configured says more than the app.
ManagerPtr Configured::managerOf(std::string_view path, const ViewDefinition& view,
                                 std::string_view of_object) const {
  std::string_view id = of_object;
  if (id.empty()) id = rulesFor(path, view.name).manager;
  if (id.empty()) id = view.caching.manager;
  if (id == "none" || !config.registry) return nullptr;
  return id.empty() ? config.registry->nearestDefault(path) : config.registry->acquire(path, id);
}

// Rule 25. What an object's own manager holds is not told apart by a configuration, and stays.
void freeMoved(const Configured& before, const Configured& now) {
  if (before.assignment == now.assignment) return;
  for (const ManagerPtr& manager : managersOf(now.config)) {
    Cache& cache = manager->cache();
    const Cache::Expendable moved = [&](const CacheEntry& entry) {
      const auto parts = keyParts(entry.key());
      if (parts.size() < 3) return false;
      const std::string& path = parts[1].values.front();
      std::string_view view = parts[2].values.front();
      if (view.starts_with(kJsonForm)) view.remove_prefix(kJsonForm.size());
      return cacheOf(before, path, view).get() == &cache &&
             cacheOf(now, path, view).get() != &cache;
    };
    constexpr std::size_t kStep = 1'000;
    // From where some other sweep stopped to the end, then from the beginning.
    for (int pass = 0; pass < 2; ++pass) {
      while (cache.sweep(moved, kStep)) {
      }
    }
  }
}

}  // namespace larder::site
