// Rows of the object table as Objects.
#pragma once

#include <string>
#include <string_view>

#include "larder/view.h"
#include "sqlite.h"

namespace larder::site {

/// Columns of a SELECT from `object` for readObject().
inline constexpr std::string_view kObjectColumns =
    "path, name, type, title, body, properties, revision, created, modified, manager, "
    "(SELECT group_concat(tag, char(10)) FROM object_tag WHERE object_tag.object = object.id)";
[[nodiscard]] Object readObject(const sqlite::Rows& row);

/// The half-open range of paths strictly below `path`: from first() up to, not including, last().
struct PathsBelow {
  explicit PathsBelow(std::string_view path)
      : first(path == "/" ? "/" : std::string(path) + "/"), last(first) {
    last.back() = '/' + 1;
  }
  std::string first;
  std::string last;
};

/// The text as a LIKE pattern with '\' as escape that matches it anywhere.
[[nodiscard]] std::string containsPattern(std::string_view text);

// Throw StoreError with what is wrong.
void checkPath(std::string_view path);
void checkObject(const Object& object);

}  // namespace larder::site
