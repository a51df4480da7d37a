// What a process tells about its caches, as JSON; and several processes' reports as one.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache/object_statistics.h"
#include "larder/cache/statistics.h"
#include "larder/server/management.h"
#include "larder/server/managers.h"

namespace larder::server {

/// {"counters": {"hit": 1, ...}, "lookups", "hits", "saved_us", "observed_us"}; what is 0 is left
/// out of counters.
[[nodiscard]] nlohmann::json reportCounters(const Counters& counters);

/// What caches of this process hold of one view of one object.
struct Weight {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t cost_us = 0;  ///< what making them cost
  std::uint64_t age_ms = 0;   ///< of the oldest
};
/// By path and view.
using Places = std::map<std::pair<std::string, std::string>, Weight>;

/// One manager, with the entries it holds by path and view where it can list them; all of those
/// are noted in `held`.
[[nodiscard]] nlohmann::json reportManager(const ManagerSet::Item& item, Millis now,
                                           const ReportQuery& query, Places& held);

/// Each view of each object that was asked for or is held: the first ones by query.sort.
[[nodiscard]] nlohmann::json reportObjects(const ObjectStatistics& objects, const Places& held,
                                           const ReportQuery& query);

/// Counters are added; so are the numbers of managers that are not shared, whose entries are added
/// by path and view. What a shared manager's store, or a server behind it, says of itself is taken
/// from one report. At least one report.
[[nodiscard]] nlohmann::json mergeReports(std::vector<nlohmann::json> reports,
                                          const ReportQuery& query);

/// Path and view of a key's bytes (key_builder.h).
[[nodiscard]] std::pair<std::string_view, std::string_view> placeOfKey(std::string_view key_bytes);

}  // namespace larder::server
