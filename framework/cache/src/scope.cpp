#include "larder/cache/scope.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace larder {

namespace {

std::string join(std::string_view kind, std::string_view name) {
  std::string s;
  s.reserve(kind.size() + name.size());
  s.append(kind).append(name);
  return s;
}

bool takePrefix(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void addUnder(std::string_view path, std::vector<ScopeId>& out) {
  for (; !path.empty(); path = parentPath(path)) out.push_back(scopeId(underScope(path)));
}

/// The table of "TABLE:KEY"; keys are integers, so the last colon divides.
std::string_view tableOfRow(std::string_view row) noexcept {
  return row.substr(0, row.rfind(':'));
}

}  // namespace

std::string managerScope(std::string_view path, std::string_view id) {
  return join("manager:", path).append(":").append(id);
}
std::string viewScope(std::string_view view, std::string_view path) {
  return join("view:", view).append("@").append(path);
}
std::string objectScope(std::string_view path) {
  return join("obj:", path);
}
std::string childrenScope(std::string_view path) {
  return join("children:", path);
}
std::string subtreeScope(std::string_view path) {
  return join("subtree:", path);
}
std::string underScope(std::string_view path) {
  return join("under:", path);
}
std::string tagScope(std::string_view tag) {
  return join("tag:", tag);
}
std::string tableScope(std::string_view table) {
  return join("table:", table);
}
std::string rowScope(std::string_view table, std::int64_t key) {
  return join("row:", table).append(":").append(std::to_string(key));
}
std::string bulkScope(std::string_view table) {
  return join("bulk:", table);
}
std::string fileScope(std::string_view path) {
  return join("file:", path);
}

std::string_view parentPath(std::string_view path) noexcept {
  if (path.size() <= 1) return {};
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

void expandChange(std::string_view scope, std::vector<ScopeId>& out) {
  std::string_view rest = scope;
  if (takePrefix(rest, "obj:") || takePrefix(rest, "subtree:") || takePrefix(rest, "children:")) {
    out.push_back(scopeId(scope));
    addUnder(rest, out);
  } else if (takePrefix(rest, "new:") || takePrefix(rest, "del:")) {
    out.push_back(scopeId(objectScope(rest)));
    out.push_back(scopeId(subtreeScope(rest)));
    if (const auto parent = parentPath(rest); !parent.empty())
      out.push_back(scopeId(childrenScope(parent)));
    addUnder(rest, out);
  } else if (takePrefix(rest, "row:")) {
    out.push_back(scopeId(scope));
    out.push_back(scopeId(tableScope(tableOfRow(rest))));
  } else if (takePrefix(rest, "bulk:") || takePrefix(rest, "table:")) {
    out.push_back(scopeId(tableScope(rest)));
    out.push_back(scopeId(bulkScope(rest)));
  } else {
    out.push_back(scopeId(scope));
  }
}

std::vector<std::string> coarsen(std::vector<std::string> scopes, std::size_t limit) {
  // One pass makes the finest scopes coarser; repeated until they fit or nothing more can be
  // joined.
  const auto replace = [&](auto&& coarser) {
    std::vector<std::string> out;
    std::unordered_set<std::string> seen;
    for (auto& s : scopes) {
      std::string t = coarser(s);
      if (seen.insert(t).second) out.push_back(std::move(t));
    }
    scopes = std::move(out);
  };
  if (scopes.size() > limit) {
    replace([](const std::string& s) {
      std::string_view rest = s;
      return takePrefix(rest, "row:") ? tableScope(tableOfRow(rest)) : s;
    });
  }
  const auto depthOf = [](std::string_view path) {
    return std::count(path.begin(), path.end(), '/');
  };
  while (scopes.size() > limit) {
    // The deepest paths go to their parents; subtree scopes of what `under` covers stay with its
    // ancestors only.
    std::ptrdiff_t deepest = 0;
    const auto pathOf = [](std::string_view s) -> std::string_view {
      for (const std::string_view kind : {"obj:", "children:", "subtree:", "under:"}) {
        if (takePrefix(s, kind)) return s == "/" ? std::string_view{} : s;
      }
      return {};
    };
    for (const auto& s : scopes) deepest = std::max(deepest, depthOf(pathOf(s)));
    if (deepest == 0) break;
    replace([&](const std::string& s) {
      const auto path = pathOf(s);
      return !path.empty() && depthOf(path) == deepest ? underScope(parentPath(path)) : s;
    });
  }
  return scopes;
}

}  // namespace larder
