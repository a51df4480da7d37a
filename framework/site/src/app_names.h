// What an app may call its views, and how it may write its routes: the same for folders and
// libraries.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace larder::site {

constexpr std::string_view kViewNameRule =
    "a name is made of letters, digits, '_', '-' and '.', and does not begin with '.'";

[[nodiscard]] bool isViewName(std::string_view name) noexcept;
/// Upper case letters.
[[nodiscard]] bool isMethod(std::string_view method) noexcept;
/// What is wrong with a route's pattern, if anything.
[[nodiscard]] std::optional<std::string> patternProblem(std::string_view pattern);

}  // namespace larder::site
