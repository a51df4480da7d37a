// Scopes: the names of what can change, and what one change of them means for the others.
//
// A render records the scopes that it read; the ledger's log names what changed; expandChange()
// turns one log row into the scopes whose readers it invalidates. Both sides use only the functions
// of this header.
//
//   site:               everything
//   manager:PATH:ID     what one cache manager holds
//   view:NAME@PATH      one view of one object
//   obj:PATH            an object, also while it is absent
//   children:PATH       the list of an object's children
//   subtree:PATH        an object and all below it, as a whole
//   under:PATH          any edit at PATH or below it (an entry with too many scopes is coarsened to
//   it) tag:NAME            what views tagged so table:T             a table, row:T:KEY a row of
//   it, bulk:T many rows of it at once file:PATH           a template, script or SQL file of an app
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larder/entry.h"
#include "larder/key.h"

namespace larder {

enum class Hardness : std::uint8_t { hard, soft };

/// What the ledger's log holds: the text of one row. Beside the scopes above these may be changed:
///   new:PATH  del:PATH   an object was created or removed
struct Change {
  std::string scope;
  Hardness hardness = Hardness::hard;
};

inline constexpr std::string_view kSiteScope = "site:";

[[nodiscard]] std::string managerScope(std::string_view path, std::string_view id);
[[nodiscard]] std::string viewScope(std::string_view view, std::string_view path);
[[nodiscard]] std::string objectScope(std::string_view path);
[[nodiscard]] std::string childrenScope(std::string_view path);
[[nodiscard]] std::string subtreeScope(std::string_view path);
[[nodiscard]] std::string underScope(std::string_view path);
[[nodiscard]] std::string tagScope(std::string_view tag);
[[nodiscard]] std::string tableScope(std::string_view table);
[[nodiscard]] std::string rowScope(std::string_view table, std::int64_t key);
[[nodiscard]] std::string bulkScope(std::string_view table);
[[nodiscard]] std::string fileScope(std::string_view path);

[[nodiscard]] inline ScopeId scopeId(std::string_view name) noexcept {
  return hash64(name);
}

/// Canonical path of the parent; "/" for a top-level path; empty for "/".
[[nodiscard]] std::string_view parentPath(std::string_view path) noexcept;

/// Appends to `out` the ids of every scope that a change of `scope` invalidates.
void expandChange(std::string_view scope, std::vector<ScopeId>& out);

/// At most `limit` scopes: first rows become their table, then objects and lists become `under:` of
/// their parents, deepest first. Keeps the order of what stays. The result depends on at least what
/// the argument depended on.
[[nodiscard]] std::vector<std::string> coarsen(std::vector<std::string> scopes, std::size_t limit);

}  // namespace larder
