#include "ledger_expand.h"

#include <string>
#include <utility>

namespace larder::site {

namespace {

constexpr std::string_view kRow = "row:";

bool isObjectChange(std::string_view scope) noexcept {
  return scope.starts_with("obj:") || scope.starts_with("new:") || scope.starts_with("del:");
}

}  // namespace

void LogExpander::add(std::string_view scope, std::uint64_t seq, Hardness hardness,
                      bool by_trigger) {
  if (by_trigger && scope.starts_with(kRow)) {
    const auto table = scope.substr(kRow.size(), scope.rfind(':') - kRow.size());
    auto& rows = tables_[std::string(table)];
    rows.newest = seq;
    // Past the limit the table's bulk scope stands for them all.
    if (rows.items.size() <= kMaxRows) rows.items.push_back({scopeId(scope), seq, hardness});
    return;
  }
  // SQL statements read the objects as a table.
  if (by_trigger && isObjectChange(scope)) objects_changed_ = seq;
  expanded_.clear();
  expandChange(scope, expanded_);
  for (const auto id : expanded_) items_.push_back({id, seq, hardness});
}

std::vector<ChangeMap::Item> LogExpander::take() {
  for (auto& [table, rows] : tables_) {
    items_.push_back({scopeId(tableScope(table)), rows.newest, Hardness::hard});
    if (rows.items.size() > kMaxRows) {
      items_.push_back({scopeId(bulkScope(table)), rows.newest, Hardness::hard});
    } else {
      items_.insert(items_.end(), rows.items.begin(), rows.items.end());
    }
  }
  tables_.clear();
  if (objects_changed_ > 0)
    items_.push_back({scopeId(tableScope("object")), objects_changed_, Hardness::hard});
  objects_changed_ = 0;
  return std::exchange(items_, {});
}

}  // namespace larder::site
