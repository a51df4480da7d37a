#include "sqlite_arguments.h"

#include <algorithm>

namespace larder::site::sqlite {

Rows runWith(Statement& statement, const Arguments& arguments) {
  statement.restart();
  const int parameters = sqlite3_bind_parameter_count(statement.handle());
  std::size_t nameless = 0;
  const auto nextNameless = [&] {
    while (nameless < arguments.size() && !arguments[nameless].first.empty()) ++nameless;
    return nameless < arguments.size() ? &arguments[nameless++] : nullptr;
  };
  for (int i = 1; i <= parameters; ++i) {
    const char* raw = sqlite3_bind_parameter_name(statement.handle(), i);
    const std::string_view name = raw ? raw : std::string_view{};
    const std::pair<std::string, Tree>* argument = nullptr;
    if (name.empty() || name.front() == '?') {
      argument = nextNameless();
    } else {
      const auto it = std::find_if(arguments.begin(), arguments.end(),
                                   [&](const auto& a) { return a.first == name.substr(1); });
      if (it != arguments.end()) argument = &*it;
    }
    if (!argument) {
      throw StoreError("no argument for the parameter " +
                       (name.empty() ? "?" + std::to_string(i) : std::string(name)) + " [" +
                       std::string(statement.sql()) + "]");
    }
    statement.bind(i, argument->second);
  }
  if (nextNameless()) {
    throw StoreError("more arguments than parameters [" + std::string(statement.sql()) + "]");
  }
  return Rows(statement);
}

}  // namespace larder::site::sqlite
