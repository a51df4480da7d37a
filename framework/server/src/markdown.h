// What the import needs to know of Markdown: the first heading, and where links point.
//
// Read by lines as CommonMark says, but without its rules for nesting: a fence of code is seen at
// any indentation, which is what matters here. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace larder::server {

/// Text of the first heading, "# Title" or a line underlined with = or -; without emphasis marks of
/// code, escapes resolved.
[[nodiscard]] std::optional<std::string> firstHeading(std::string_view markdown);

/// Gives the new target of a link, or nothing to leave it as it is.
using LinkTarget = std::function<std::optional<std::string>(std::string_view target)>;

/// The text with the targets of inline links ("[a](b.md)", "[a](<b c.md> \"title\")") and of link
/// definitions ("[a]: b.md") replaced; nothing in code is touched, images are left alone.
[[nodiscard]] std::string rewriteLinks(std::string_view markdown, const LinkTarget& target);

}  // namespace larder::server
