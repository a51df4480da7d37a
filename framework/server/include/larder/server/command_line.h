// The command line: larder COMMAND ARGUMENTS, with options anywhere behind the command.
//
//   auto line = parseCommandLine({"serve", "conf/larder.toml", "-D", "http.port=0"});
//   if (!line) fail(line.error().message);       // unknown command or option, with the nearest
//   name
//
// Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.h"
#include "larder/server/config.h"

namespace larder::server {

struct CommandLine {
  std::string command;                 ///< "serve", "user add"
  std::vector<std::string> arguments;  ///< without options
  std::vector<Override> overrides;     ///< -D, in order
  std::multimap<std::string, std::string, std::less<>>
      options;  ///< "--to" and its value; flags: ""

  [[nodiscard]] bool has(std::string_view option) const { return options.contains(option); }
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
};

Result<CommandLine> parseCommandLine(std::span<const std::string> arguments);

/// What `larder help` prints; with a command, more about it; with the first word of some, these.
[[nodiscard]] std::string helpText(std::string_view command);

}  // namespace larder::server
