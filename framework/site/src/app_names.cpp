#include "app_names.h"

#include <algorithm>
#include <set>

namespace larder::site {

bool isViewName(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

bool isMethod(std::string_view method) noexcept {
  return !method.empty() &&
         std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::optional<std::string> patternProblem(std::string_view pattern) {
  if (!pattern.starts_with('/')) return "a pattern begins with '/'";
  if (pattern == "/") return std::nullopt;
  std::set<std::string_view> variables;
  std::string_view rest = pattern;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    if (segment.empty() || segment == "." || segment == "..")
      return "empty and dot segments match nothing";
    if (segment.find_first_of("{}") == std::string_view::npos) continue;
    const std::string_view name = segment.substr(1, segment.size() - 2);
    if (segment.size() < 3 || segment.front() != '{' || segment.back() != '}' || !isViewName(name))
      return "a variable is a whole segment: {name}";
    if (!variables.insert(name).second) return "variable {" + std::string(name) + "} twice";
  }
  return std::nullopt;
}

}  // namespace larder::site
