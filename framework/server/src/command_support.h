// What the commands share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "larder/server/command_line.h"
#include "larder/server/config.h"

namespace larder::server {

inline constexpr int kUndone = 1;
inline constexpr int kCannotStart = 2;

/// Writes to standard error and returns kCannotStart.
int cannotStart(std::string_view message);

/// The configuration file that the command names: its argument, or -c.
std::string configFileOf(const CommandLine& line);
/// What it says with what was changed while running. Nothing after an error, which has been said.
std::optional<Config> configOf(const CommandLine& line);

/// The value of an option that is a whole number; `fallback` if it is not given.
Result<unsigned> numberOf(const CommandLine& line, std::string_view option, unsigned least,
                          unsigned most, unsigned fallback);

}  // namespace larder::server
