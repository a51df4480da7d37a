// larder config: what was changed while the server runs, beside what the file says (rule 42).
#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeFormatter.h>
#include <Poco/Timestamp.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "command_support.h"
#include "larder/cache/system_clock.h"
#include "larder/server/commands.h"
#include "manager_trial.h"
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

/// A running server refuses what a plugin refuses: better to say so here.
Result<> checkManagers(const std::vector<ManagerConfig>& now, const Config& next) {
  const ManagerTrial trial(next, [](std::string_view line) { std::cerr << line << std::endl; });
  const auto before = trial.make(now, nullptr);
  const ManagerSet* known = before ? before->get() : nullptr;
  const auto after = trial.make(next.managers, known);
  if (!after) return after.error();
  if (auto failures = newFailures(known, **after); !failures.empty())
    return Error{std::move(failures)};
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
      table.row({changed.key, written ? shownValue(changed.key, *written) : "(no such table)",
                 shownValue(changed.key, changed.value), changed.by, timeOf(changed.at)});
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
    const auto now = loadConfig(config.file, all);
    all.push_back({key, value, "larder config set " + key});
    all.insert(all.end(), line.overrides.begin(), line.overrides.end());
    const auto checked = loadConfig(config.file, all);
    if (!checked) return cannotStart(checked.error().message);
    const auto fit = checkManagers(now ? now->managers : config.managers, *checked);
    if (!fit) return cannotStart(fit.error().message);
    state.setSetting(key, value, whoAsks());
    std::cout << key << " = " << shownValue(key, value)
              << " (the file: " << shownValue(key, *writtenValue(config.file, line.overrides, key))
              << "); ";
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
