// larder check: what the configuration comes to, and where each setting is from.
#include <algorithm>
#include <iostream>
#include <set>

#include "app_host.h"
#include "command_support.h"
#include "larder/cache/plugin_loader.h"
#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/server/application.h"
#include "larder/server/apps.h"
#include "larder/server/commands.h"
#include "manager_trial.h"
#include "text_table.h"

namespace larder::server {
namespace {

/// A path that the pattern covers and that only patterns at least as wide cover too.
std::string sampleOf(std::string_view pattern) {
  std::string path;
  for (const char c : pattern)
    if (c != '*' || !path.ends_with('*')) path += c;
  return path;
}

class Check {
 public:
  explicit Check(const Config& config)
      : config_(config),
        trial_(config, [](std::string_view line) { std::cerr << line << '\n'; }),
        libraries_(moduleFolders(config.app_folders, "apps")),
        rules_(config.rules) {}

  int run() {
    printServer();
    printApps();
    printManagers();
    printRules();
    printViews();
    for (const Refusal& refusal : trial_.refusals()) problem(refusal.file + ": " + refusal.message);
    for (const std::string& warning : config_.warnings) std::cerr << warning << '\n';
    std::cout << std::flush;
    for (const std::string& text : problems_) std::cerr << text << '\n';
    return problems_.empty() ? 0 : kCannotStart;
  }

 private:
  void problem(const std::string& text) { problems_.push_back(text); }

  void printServer() const {
    TextTable table({"SETTING", "VALUE", "FROM"});
    for (const ShownSetting& setting : config_.shown)
      table.row({setting.name, setting.value, setting.origin});
    table.print(std::cout);
  }

  void printApps() const {
    if (config_.apps.empty()) return;
    std::cout << '\n';
    TextTable table({"APP AT", "FOLDER", "LIBRARY", "FROM"});
    for (const AppConfig& app : config_.apps)
      table.row({app.mount, app.folder.string(), app.library, app.origin});
    table.print(std::cout);
  }

  void printManagers() {
    for (const ManagerConfig& manager : config_.managers) {
      const CacheManager::Identity& identity = manager.identity;
      std::cout << "\nManager '" << identity.id << "' at " << identity.path << ": " << identity.type
                << (identity.is_default ? ", default" : "") << " (" << manager.origin << ")\n";
      TextTable table({"SETTING", "VALUE", "FROM"});
      addPluginSettings(manager, table);
      addPolicy(manager.policy, manager.settings, table);
      table.print(std::cout, "  ");
    }
    const auto made = trial_.make(config_.managers, nullptr);
    const std::string refused = made ? newFailures(nullptr, **made) : made.error().message;
    if (!refused.empty()) problem(refused);
  }

  /// None of a manager that cannot be made: why is told with the other problems.
  void addPluginSettings(const ManagerConfig& manager, TextTable& table) const {
    const auto plugin = trial_.plugins().find(manager.identity.type);
    if (!plugin) return;
    const auto settings = managerSettings(**plugin, manager);
    if (!settings) return;
    for (const SettingSpec& spec : managerSchema(**plugin)) {
      auto given = manager.plugin.find(spec.name);
      if (given == manager.plugin.end() && spec.alias) given = manager.plugin.find(spec.alias);
      table.row({spec.name, shownValue(spec.name, showSetting(spec, *settings)),
                 given == manager.plugin.end() ? "default" : given->second.origin});
    }
  }

  static void addPolicy(const Policy& policy, const std::vector<PolicySetting>& given,
                        TextTable& table) {
    for (const SettingSpec& spec : policySchema()) {
      const auto setting = std::ranges::find(given, spec.name, &PolicySetting::name);
      table.row({spec.name, settingText(policy, spec.name),
                 setting == given.end() ? "default" : setting->origin});
    }
  }

  /// The manager as acquisition finds it, at or above the path: by id, or the nearest default.
  [[nodiscard]] const ManagerConfig* nearest(std::string_view path, const std::string& id) const {
    const ManagerConfig* best = nullptr;
    for (const ManagerConfig& manager : config_.managers) {
      const CacheManager::Identity& identity = manager.identity;
      if (!isAtOrBelow(path, identity.path)) continue;
      if (id.empty() ? !identity.is_default : identity.id != id) continue;
      if (!best || identity.path.size() > best->identity.path.size()) best = &manager;
    }
    return best;
  }

  /// Each pattern and view that the file tells apart: rules, mounts, places of managers.
  void printRules() const {
    std::set<std::pair<std::string, std::string>> places = {{"/**", ""}};
    for (const Rule& rule : config_.rules) places.emplace(rule.pattern, rule.view);
    for (const AppConfig& app : config_.apps) places.emplace(below(app.mount), "");
    for (const ManagerConfig& manager : config_.managers)
      places.emplace(below(manager.identity.path), "");
    std::cout << '\n';
    TextTable table({"PATH", "VIEW", "MANAGER", "SETTING", "VALUE", "FROM"});
    for (const auto& [pattern, view] : places) addPlace(pattern, view, table);
    table.print(std::cout);
  }

  static std::string below(const std::string& path) { return path == "/" ? "/**" : path + "/**"; }

  void addPlace(const std::string& pattern, const std::string& view, TextTable& table) const {
    const std::string path = sampleOf(pattern);
    const Resolved& resolved = rules_.resolve(path, view);
    const std::string shown_view = view.empty() ? "(any)" : view;
    const ManagerConfig* manager = resolved.disabled() ? nullptr : nearest(path, resolved.manager);
    const std::string from = resolved.manager.empty() ? (manager ? manager->origin : "default")
                                                      : resolved.manager_origin;
    table.row({pattern, shown_view,
               manager ? manager->identity.id + " at " + manager->identity.path : "none", "manager",
               resolved.manager.empty() ? "(nearest default)" : '"' + resolved.manager + '"',
               from});
    if (!manager) return;
    const Policy policy = resolved.apply(manager->policy);
    for (const SettingSpec& spec : policySchema()) {
      const auto own = std::ranges::find(resolved.settings, spec.name, &PolicySetting::name);
      const auto inherited = std::ranges::find(manager->settings, spec.name, &PolicySetting::name);
      const bool by_rule = own != resolved.settings.end();
      if (!by_rule && inherited == manager->settings.end() &&
          spec.name != std::string_view("max_age"))
        continue;
      table.row({"", "", "", spec.name, settingText(policy, spec.name),
                 by_rule                                ? own->origin
                 : inherited != manager->settings.end() ? inherited->origin
                                                        : "default"});
    }
  }

  /// Loads the apps as the server would, so that what is wrong in their files is told here, too.
  void printViews() {
    const SystemClock clock;
    ThreadPool executor(clock, {.threads = 1});
    Log log(LogLevel::warning);
    AppHost host(clock, executor, log);
    AppLoader loader(libraries_, host);
    const auto mounts = loader.load(config_.apps);
    if (!mounts) return problem(mounts.error().message);
    for (const std::string& warning : warnOfIdleRules(config_.rules, *mounts))
      std::cerr << warning << '\n';
    if (mounts->empty()) return;
    std::cout << '\n';
    TextTable table({"APP AT", "VIEW", "OF", "KIND", "MANAGER", "FROM", "MAX_AGE", "FROM"});
    for (const site::Mount& mount : *mounts)
      for (const site::ViewDefinition& view : mount.app->views) addView(mount.path, view, table);
    table.print(std::cout);
  }

  /// As the site decides: the rules, then the view itself, then the manager.
  void addView(const std::string& mount, const site::ViewDefinition& view, TextTable& table) const {
    const std::string path = sampleOf(below(mount));
    const Resolved& resolved = rules_.resolve(path, view.name);
    const bool by_rule = !resolved.manager.empty();
    const std::string& id = by_rule ? resolved.manager : view.caching.manager;
    const ManagerConfig* manager = id == "none" ? nullptr : nearest(path, id);
    const std::string from = by_rule       ? resolved.manager_origin
                             : !id.empty() ? mount + ": " + view.origin
                             : manager     ? manager->origin
                                           : "default";
    std::vector<std::string> row = {
        mount,
        view.name,
        view.type,
        std::string(viewKindName(view.kind)),
        manager ? manager->identity.id + " at " + manager->identity.path : "none",
        from};
    if (manager) {
      Policy policy = manager->policy;
      auto setting = std::ranges::find(manager->settings, "max_age", &PolicySetting::name);
      std::string age_from = setting == manager->settings.end() ? "default" : setting->origin;
      if (view.caching.max_age) {
        policy.max_age = *view.caching.max_age;
        age_from = mount + ": " + view.origin;
      }
      if (const auto own = std::ranges::find(resolved.settings, "max_age", &PolicySetting::name);
          own != resolved.settings.end()) {
        age_from = own->origin;
      }
      policy = resolved.apply(policy);
      row.push_back(settingText(policy, "max_age"));
      row.push_back(age_from);
    }
    table.row(std::move(row));
  }

  const Config& config_;
  ManagerTrial trial_;
  PluginLoader libraries_;
  RuleSet rules_;
  std::vector<std::string> problems_;
};

}  // namespace

int checkCommand(const CommandLine& line) {
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  return Check(*config).run();
}

}  // namespace larder::server
