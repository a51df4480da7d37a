// larder config: what was changed while the server runs, beside what the file says (rule 42).
#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "command_support.h"
#include "larder/cache/plugin_loader.h"
#include "larder/cache/system_clock.h"
#include "larder/server/application.h"
#include "larder/server/commands.h"
#include "larder/server/managers.h"
#include "running_settings.h"
#include "text_table.h"

namespace larder::server {
namespace {

std::string whoAsks() {
  for (const char* name : {"SUDO_USER", "USER", "LOGNAME"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "uid " + std::to_string(::getuid());
}

std::string timeOf(Millis wall) {
  return Poco::DateTimeFormatter::format(Poco::Timestamp(wall * 1000),
                                         Poco::DateTimeFormat::SORTABLE_FORMAT);
}

/// A manager whose plugin refuses its settings would be reported as failed once they are taken
/// over: better to refuse them here.
Result<> checkManagers(const Config& config) {
  PluginLoader plugins(moduleFolders(config.plugin_folders, "plugins"));
  plugins.loadAll();
  for (const ManagerConfig& manager : config.managers) {
    const auto plugin = plugins.find(manager.identity.type);
    if (!plugin) continue;  // failed before
    if (const auto settings = managerSettings(**plugin, manager); !settings)
      return settings.error();
  }
  return Done{};
}

/// Runs `act` with the file's configuration, without what was changed, and the site's state.
template <class Act>
int withState(const CommandLine& line, Act act) {
  const auto config = loadConfig(configFileOf(line), line.overrides);
  if (!config) return cannotStart(config.error().message);
  try {
    const SystemClock clock;
    return act(*config, *site::State::open(stateOptions(*config, clock)));
  } catch (const site::StoreError& e) {
    return cannotStart(e.what());
  }
}

void sayWhen(const std::string& key) {
  std::cout << (needsRestart(key) ? "takes effect after a restart"
                                  : "a running server takes it over within a second")
            << std::endl;
}

}  // namespace

int configDiffCommand(const CommandLine& line) {
  return withState(line, [&](const Config& config, site::State& state) {
    TextTable table({"SETTING", "FILE", "RUNNING", "BY", "SINCE (UTC)"});
    for (const auto& changed : state.settings()) {
      const auto written = writtenValue(config.file, line.overrides, changed.key);
      table.row({changed.key, written ? *written : "(no such table)", changed.value, changed.by,
                 timeOf(changed.at)});
    }
    if (table.empty())
      std::cout << "nothing was changed while running" << std::endl;
    else
      table.print(std::cout);
    std::cout << std::flush;
    return 0;
  });
}

int configSetCommand(const CommandLine& line) {
  const std::string& key = line.arguments[0];
  const std::string& value = line.arguments[1];
  if (key == "site.data")
    return cannotStart("site.data says where changes are kept: change it in the file");
  return withState(line, [&](const Config& config, site::State& state) {
    std::vector<Override> all = runningSettings(state);
    all.push_back({key, value, "larder config set " + key});
    all.insert(all.end(), line.overrides.begin(), line.overrides.end());
    const auto checked = loadConfig(config.file, all);
    if (!checked) return cannotStart(checked.error().message);
    if (const auto fit = checkManagers(*checked); !fit) return cannotStart(fit.error().message);
    state.setSetting(key, value, whoAsks());
    std::cout << key << " = " << value
              << " (the file: " << *writtenValue(config.file, line.overrides, key) << "); ";
    sayWhen(key);
    return 0;
  });
}

int configRevertCommand(const CommandLine& line) {
  const std::string& key = line.arguments[0];
  return withState(line, [&](const Config&, site::State& state) {
    if (!state.revertSetting(key)) {
      std::cerr << key << " was not changed while running; 'larder config diff' lists what was"
                << std::endl;
      return kUndone;
    }
    std::cout << key << " is again as the file says; ";
    sayWhen(key);
    return 0;
  });
}

}  // namespace larder::server
