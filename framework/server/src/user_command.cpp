// larder user: who may log in.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "command_support.h"
#include "larder/cache/suggest.h"
#include "larder/cache/system_clock.h"
#include "larder/server/commands.h"
#include "running_settings.h"

namespace larder::server {

namespace {

/// `work` gets the state and returns the status.
template <class Work>
int withState(const CommandLine& line, Work&& work) {
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  try {
    const SystemClock clock;
    return work(*site::State::open(stateOptions(*config, clock)));
  } catch (const site::StoreError& e) {
    return cannotStart(e.what());
  }
}

/// `work` also gets the user whose log-in name is the first argument, and returns what was done.
template <class Work>
int withUser(const CommandLine& line, Work&& work) {
  return withState(line, [&](site::State& state) {
    const std::string& login = line.arguments.front();
    const auto user = state.userByLogin(login);
    if (!user) {
      const auto users = state.users();
      std::vector<std::string_view> logins;
      for (const User& known : users) logins.push_back(known.login);
      return cannotStart("larder " + line.command + ": there is no user '" + login + "'" +
                         didYouMean(login, logins));
    }
    std::cout << "user " << user->id << ": " << login << ' ' << work(state, *user) << std::endl;
    return 0;
  });
}

/// False, and told, when it is not to be read from there.
bool readPassword(const CommandLine& line, std::string& password) {
  if (!line.has("--password-stdin")) {
    cannotStart("larder " + line.command +
                ": give the password on standard input, with --password-stdin; as an argument "
                "others could see it");
    return false;
  }
  std::getline(std::cin, password);
  if (password.ends_with('\r')) password.pop_back();
  return true;
}

std::string joined(const std::vector<std::string>& roles) {
  std::string text;
  for (const std::string& role : roles) text += (text.empty() ? "" : ",") + role;
  return text;
}

}  // namespace

int userAddCommand(const CommandLine& line) {
  site::NewUser user;
  if (!readPassword(line, user.password)) return kCannotStart;
  user.login = line.arguments.front();
  user.name = line.value("--name").value_or(user.login);
  user.roles = line.values("--role");
  return withState(line, [&](site::State& state) {
    std::cout << "user " << state.addUser(user) << ": " << user.login << std::endl;
    return 0;
  });
}

int userListCommand(const CommandLine& line) {
  return withState(line, [](site::State& state) {
    for (const User& user : state.users()) {
      std::cout << user.id << '\t' << user.login << '\t' << user.name << '\t' << joined(user.roles)
                << '\n';
    }
    std::cout << std::flush;
    return 0;
  });
}

int userPasswordCommand(const CommandLine& line) {
  std::string password;
  if (!readPassword(line, password)) return kCannotStart;
  return withUser(line, [&](site::State& state, const User& user) {
    state.setPassword(user.id, password);
    return "has a new password and is logged out";
  });
}

int userRoleCommand(const CommandLine& line) {
  return withUser(line, [&](site::State& state, const User& user) {
    auto roles = user.roles;
    for (const std::string& role : line.values("--remove")) std::erase(roles, role);
    for (const std::string& role : line.values("--add"))
      if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
    state.setRoles(user.id, roles);
    return roles.empty() ? "has no role" : "has the roles " + joined(roles);
  });
}

int userRemoveCommand(const CommandLine& line) {
  return withUser(line, [](site::State& state, const User& user) {
    state.removeUser(user.id);
    return "is removed";
  });
}

}  // namespace larder::server
