#include "running_settings.h"

#include <algorithm>

#include "larder/cache/system_clock.h"

namespace larder::server {

site::StateOptions stateOptions(const Config& config, const Clock& clock, site::LogFunction log) {
  site::StateOptions options;
  options.data_dir = config.data;
  options.clock = &clock;
  options.log = std::move(log);
  options.writer_wait = config.store.writer_wait;
  return options;
}

std::vector<Override> runningSettings(site::State& state) {
  std::vector<Override> changes;
  for (const auto& changed : state.settings()) {
    changes.push_back(
        {changed.key, changed.value,
         "changed while running ('larder config revert " + changed.key + "' takes it back)"});
  }
  return changes;
}

Result<Config> loadEffectiveConfig(const std::string& file, std::span<const Override> overrides) {
  auto config = loadConfig(file, overrides);
  std::error_code ignored;
  if (!config || !std::filesystem::exists(config->data / "state.db", ignored)) return config;
  std::vector<Override> changes;
  try {
    const SystemClock clock;
    changes = runningSettings(*site::State::open(stateOptions(*config, clock)));
  } catch (const site::StoreError& e) {
    return Error{e.what()};
  }
  if (changes.empty()) return config;
  std::vector<Override> all = changes;
  all.insert(all.end(), overrides.begin(), overrides.end());
  config = loadConfig(file, all);
  if (config) config->changes = std::move(changes);
  return config;
}

bool needsRestart(std::string_view key) noexcept {
  const auto table = key.substr(0, key.find('.'));
  return table != "manager" && table != "rule" && table != "app" && key != "log.level";
}

std::vector<Override> settingsInForce(const Config& running) {
  std::vector<Override> fixed;
  for (const ShownSetting& setting : running.shown)
    if (needsRestart(setting.name)) fixed.push_back({setting.name, setting.value});
  return fixed;
}

std::vector<std::string> waitingForRestart(const Config& running, const Config& read) {
  std::vector<std::string> lines;
  for (const ShownSetting& setting : read.shown) {
    const auto before = std::ranges::find(running.shown, setting.name, &ShownSetting::name);
    if (!needsRestart(setting.name) || before->value == setting.value) continue;
    lines.push_back(setting.origin + ": " + setting.name +
                    " takes effect after a restart; it stays " + before->value);
  }
  return lines;
}

}  // namespace larder::server
