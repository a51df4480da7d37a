#include "larder/server/commands.h"

#include <sodium.h>

#include <charconv>
#include <iostream>

#include "command_support.h"
#include "running_settings.h"
#include "signals.h"

#ifndef LARDER_VERSION
#error "the build defines LARDER_VERSION"
#endif

namespace larder::server {

int cannotStart(std::string_view message) {
  std::cerr << message << std::endl;
  return kCannotStart;
}

std::string configFileOf(const CommandLine& line) {
  const bool is_argument =
      line.command == "serve" || line.command == "check" || line.command == "nginx-conf";
  return is_argument && !line.arguments.empty() ? line.arguments.front()
                                                : line.value("-c").value_or("conf/larder.toml");
}

std::optional<Config> configOf(const CommandLine& line) {
  auto config = loadEffectiveConfig(configFileOf(line), line.overrides);
  if (config) return std::move(*config);
  cannotStart(config.error().message);
  return std::nullopt;
}

Result<unsigned> numberOf(const CommandLine& line, std::string_view option, unsigned least,
                          unsigned most, unsigned fallback) {
  const auto text = line.value(option);
  if (!text) return fallback;
  unsigned number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    return Error{"larder: " + std::string(option) + " must be a whole number between " +
                 std::to_string(least) + " and " + std::to_string(most)};
  }
  return number;
}

int runCommand(std::span<const std::string> arguments) {
  blockSignals();
  if (::sodium_init() < 0) return cannotStart("larder: no source of random numbers");
  const auto line = parseCommandLine(arguments);
  if (!line) return cannotStart(line.error().message);
  const std::string& command = line->command;
  if (command == "serve") return serveCommand(*line, arguments);
  if (command == "check") return checkCommand(*line);
  if (command == "config diff") return configDiffCommand(*line);
  if (command == "config set") return configSetCommand(*line);
  if (command == "config revert") return configRevertCommand(*line);
  if (command == "nginx-conf") return nginxConfCommand(*line);
  if (command == "import") return importCommand(*line);
  if (command == "user add") return userAddCommand(*line);
  if (command == "user list") return userListCommand(*line);
  if (command == "user password") return userPasswordCommand(*line);
  if (command == "user role") return userRoleCommand(*line);
  if (command == "user remove") return userRemoveCommand(*line);
  if (command == "stats") return statsCommand(*line);
  if (command == "explain") return explainCommand(*line);
  if (command == "invalidate") return invalidateCommand(*line);
  if (command == "version") {
    std::cout << "larder " LARDER_VERSION << std::endl;
    return 0;
  }
  std::string topic;
  for (const std::string& word : line->arguments) topic += (topic.empty() ? "" : " ") + word;
  std::cout << helpText(topic) << std::flush;
  return 0;
}

}  // namespace larder::server
