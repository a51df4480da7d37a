// larder user: who may log in.
#include <iostream>

#include "command_support.h"
#include "larder/cache/system_clock.h"
#include "larder/server/commands.h"
#include "running_settings.h"

namespace larder::server {

int userAddCommand(const CommandLine& line) {
  if (!line.has("--password-stdin")) {
    return cannotStart(
        "larder user add: give the password on standard input, with --password-stdin; as an "
        "argument others could see it");
  }
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  site::NewUser user;
  user.login = line.arguments.front();
  user.name = line.value("--name").value_or(user.login);
  user.roles = line.values("--role");
  std::getline(std::cin, user.password);
  if (user.password.ends_with('\r')) user.password.pop_back();
  try {
    const SystemClock clock;
    const auto state = site::State::open(stateOptions(*config, clock));
    const auto id = state->addUser(user);
    std::cout << "user " << id << ": " << user.login << std::endl;
    return 0;
  } catch (const site::StoreError& e) {
    return cannotStart(e.what());
  }
}

int userListCommand(const CommandLine& line) {
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  try {
    const SystemClock clock;
    const auto state = site::State::open(stateOptions(*config, clock));
    for (const User& user : state->users()) {
      std::cout << user.id << '\t' << user.login << '\t' << user.name << '\t';
      for (std::size_t i = 0; i < user.roles.size(); ++i)
        std::cout << (i == 0 ? "" : ",") << user.roles[i];
      std::cout << '\n';
    }
    std::cout << std::flush;
    return 0;
  } catch (const site::StoreError& e) {
    return cannotStart(e.what());
  }
}

}  // namespace larder::server
