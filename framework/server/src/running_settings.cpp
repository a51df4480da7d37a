#include "running_settings.h"

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

}  // namespace larder::server
