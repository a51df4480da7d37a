// LogExpander: turns rows of the ledger's log into the scopes that they invalidate, each once with
// the newest seq.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "larder/cache/change_map.h"
#include "larder/cache/scope.h"

namespace larder::site {

class LogExpander {
 public:
  /// `by_trigger`: the row says what happened to content, not what somebody wants invalidated.
  void add(std::string_view scope, std::uint64_t seq, Hardness hardness, bool by_trigger);
  /// All that was added. Over kMaxRows rows of one table count as one bulk change of it (L12).
  [[nodiscard]] std::vector<ChangeMap::Item> take();

  static constexpr std::size_t kMaxRows = 256;

 private:
  struct Rows {
    std::uint64_t newest = 0;
    std::vector<ChangeMap::Item> items;
  };
  std::vector<ChangeMap::Item> items_;
  std::vector<ScopeId> expanded_;
  std::unordered_map<std::string, Rows> tables_;
  std::uint64_t objects_changed_ = 0;
};

}  // namespace larder::site
