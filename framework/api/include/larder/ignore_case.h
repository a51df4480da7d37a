// Comparing without regard to the case of ASCII letters, as names of HTTP headers, hosts and
// directives are compared; other bytes must be equal. Pure functions.
#pragma once

#include <algorithm>
#include <string_view>

namespace larder {

constexpr bool sameIgnoringCase(char a, char b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return a == b || lower(a) == lower(b);
}

[[nodiscard]] constexpr bool equalsIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), sameIgnoringCase);
}

[[nodiscard]] constexpr bool containsIgnoringCase(std::string_view text,
                                                  std::string_view part) noexcept {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), sameIgnoringCase) !=
             text.end() ||
         part.empty();
}

}  // namespace larder
