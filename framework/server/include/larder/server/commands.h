// The commands of the program. Each returns its exit status: 0; 1 when something was left undone,
// which standard error says; 2 when it could not start: a wrong command line or configuration, a
// port in use, a folder that cannot be written.
#pragma once

#include <span>
#include <string>

#include "larder/server/command_line.h"

namespace larder::server {

/// main() without the program's name. Blocks signals, so it is called before any thread is started.
int runCommand(std::span<const std::string> arguments);

int serveCommand(const CommandLine& line, std::span<const std::string> arguments);
int checkCommand(const CommandLine& line);
int configDiffCommand(const CommandLine& line);
int configSetCommand(const CommandLine& line);
int configRevertCommand(const CommandLine& line);
int nginxConfCommand(const CommandLine& line);
int importCommand(const CommandLine& line);
int userAddCommand(const CommandLine& line);
int userListCommand(const CommandLine& line);
int userPasswordCommand(const CommandLine& line);
int userRoleCommand(const CommandLine& line);
int userRemoveCommand(const CommandLine& line);
int statsCommand(const CommandLine& line);
int explainCommand(const CommandLine& line);
int invalidateCommand(const CommandLine& line);

}  // namespace larder::server
