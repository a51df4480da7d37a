#include "report.h"

#include "larder/servers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

namespace larder::server {
namespace {

using nlohmann::json;

constexpr std::size_t kSweepStep = 4096;
/// A sweep may begin in the middle, so it takes two to see everything; a full cache changes while
/// it is swept, so there is a bound.
constexpr std::size_t kMostSteps = 10'000;

/// Adds them up; of percentiles and ages the worst stands for all.
void addNumbers(json& into, const json& from) {
  for (const auto& [name, value] : from.items()) {
    if (!value.is_number()) continue;
    json& sum = into[name];
    const auto one = value.get<std::uint64_t>();
    const auto other = sum.is_number() ? sum.get<std::uint64_t>() : 0;
    const bool percentile = name.size() > 4 && name.substr(name.size() - 4, 2) == "_p";
    sum = percentile || name == "age_ms" ? std::max(one, other) : one + other;
  }
}

/// The one of `list` that has the same values of `names` as `wanted`; null if there is none.
json* findAlike(json& list, const json& wanted, std::span<const char* const> names) {
  for (json& item : list) {
    if (std::ranges::all_of(names,
                            [&](const char* name) { return item.at(name) == wanted.at(name); })) {
      return &item;
    }
  }
  return nullptr;
}

/// The largest first; paths in their order.
void keepFirst(json& objects, const ReportQuery& query) {
  const auto& column = query.sort;
  std::stable_sort(objects.begin(), objects.end(), [&](const json& a, const json& b) {
    if (column == "path") return a.at(column) < b.at(column);
    return a.value(column, std::uint64_t{0}) > b.value(column, std::uint64_t{0});
  });
  if (objects.size() > query.entries)
    objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(query.entries), objects.end());
}

void addCounters(json& into, const json& from) {
  addNumbers(into["counters"], from.at("counters"));
  for (const char* name : {"lookups", "hits", "saved_us", "observed_us"})
    into[name] = into.value(name, std::uint64_t{0}) + from.value(name, std::uint64_t{0});
}

/// A server may say anything, JSON takes UTF-8 only.
std::string readable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

json reportPlaces(const Places& places, std::size_t limit) {
  Weight total;
  std::vector<const Places::value_type*> order;
  for (const auto& place : places) {
    total.entries += place.second.entries;
    total.bytes += place.second.bytes;
    order.push_back(&place);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(limit, order.size()));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(), [](auto* a, auto* b) {
    return a->second.bytes != b->second.bytes ? a->second.bytes > b->second.bytes
                                              : a->first < b->first;
  });
  json list = json::array();
  for (auto it = order.begin(); it != order.begin() + shown; ++it) {
    const auto& [place, weight] = **it;
    list.push_back({{"path", place.first},
                    {"view", place.second},
                    {"entries", weight.entries},
                    {"bytes", weight.bytes}});
  }
  return {{"count", total.entries}, {"bytes", total.bytes}, {"paths", std::move(list)}};
}

json reportEntries(Cache& cache, Millis now, const ReportQuery& query, Places& held) {
  Places places;
  const Cache::Expendable note = [&](const CacheEntry& entry) {
    const auto [path, view] = placeOfKey(entry.key());
    if (isAtOrBelow(path, query.under)) {
      Weight& weight = places[{std::string(path), std::string(view)}];
      ++weight.entries;
      weight.bytes += entry.weight();
      weight.cost_us += entry.cost_us;
      const auto age = std::max<Millis>(now - entry.lifetime.created, 0);
      weight.age_ms = std::max(weight.age_ms, static_cast<std::uint64_t>(age));
    }
    return false;
  };
  std::size_t steps = 0;
  while (cache.sweep(note, kSweepStep) && ++steps < kMostSteps) {
  }
  places.clear();
  while (cache.sweep(note, kSweepStep) && ++steps < kMostSteps) {
  }
  // Two managers that share a cache list the same.
  for (const auto& [place, weight] : places) held[place] = weight;
  return reportPlaces(places, query.entries);
}

void mergeEntries(json& into, const json& from, const ReportQuery& query) {
  Places places;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  for (const json* report : {static_cast<const json*>(&into), &from}) {
    count += report->at("count").get<std::uint64_t>();
    bytes += report->at("bytes").get<std::uint64_t>();
    for (const json& place : report->at("paths")) {
      Weight& weight = places[{place.at("path"), place.at("view")}];
      weight.entries += place.at("entries").get<std::uint64_t>();
      weight.bytes += place.at("bytes").get<std::uint64_t>();
    }
  }
  into = reportPlaces(places, query.entries);
  into["count"] = count;  // of all, also of the places that were not listed
  into["bytes"] = bytes;
}

void mergeHealth(json& into, const json& from) {
  if (from.at("ok").get<bool>() || !into.at("ok").get<bool>()) return;
  into["ok"] = false;
  into["detail"] = from.at("detail");
}

/// Each process has its own view of a server; what that says of itself is the same.
void mergeServers(json& into, const json& from) {
  constexpr std::array kNames = {"name"};
  for (const json& server : from) {
    json* same = findAlike(into, server, kNames);
    if (!same) continue;
    mergeHealth(*same, server);
    addNumbers((*same)["counted"], server.at("counted"));
    if (same->at("own").empty()) (*same)["own"] = server.at("own");
  }
}

void mergeManager(json& into, const json& from, const ReportQuery& query) {
  mergeHealth(into, from);
  addCounters(into, from);
  // The numbers of a shared store without servers are its own, the same in every process.
  const bool counted_here = !into.at("shared").get<bool>() || !into.at("servers").empty();
  if (counted_here) addNumbers(into["stats"], from.at("stats"));
  mergeServers(into["servers"], from.at("servers"));
  if (into.at("shared").get<bool>()) return;
  if (into.contains("entries") && from.contains("entries"))
    mergeEntries(into["entries"], from.at("entries"), query);
}

}  // namespace

json reportCounters(const Counters& counters) {
  json list = json::object();
  for (std::size_t i = 0; i < static_cast<std::size_t>(Outcome::count_); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (const std::uint64_t total = counters.total(outcome); total > 0)
      list[std::string(outcomeName(outcome))] = total;
  }
  const std::uint64_t hits = counters.total(Outcome::hit) + counters.total(Outcome::hit_stale);
  return {{"counters", std::move(list)},
          {"lookups", counters.lookups()},
          {"hits", hits},
          {"saved_us", counters.savedMicroseconds()},
          {"observed_us", counters.observedMicroseconds()}};
}

json reportServer(const ServerReport& server) {
  json report = {{"name", server.name},
                 {"ok", server.health.ok},
                 {"detail", server.health.detail},
                 {"counted", json::object()},
                 {"own", json::object()}};
  for (const auto& [name, number] : server.counted) report["counted"][name] = number;
  for (const auto& [name, text] : server.own) report["own"][name] = readable(text);
  return report;
}

json reportObjects(const ObjectStatistics& objects, const Places& held, const ReportQuery& query) {
  std::map<Places::key_type, json> all;
  for (const auto& [place, weight] : held) {
    all[place] = {{"entries", weight.entries},
                  {"bytes", weight.bytes},
                  {"cost_us", weight.cost_us},
                  {"age_ms", weight.age_ms}};
  }
  objects.forEach(
      [&](std::string_view path, std::string_view view, const ObjectCounters& counters) {
        if (!path.empty() && !isAtOrBelow(path, query.under)) return;
        json& object = all[{std::string(path), std::string(view)}];
        object["lookups"] = counters.lookups();
        object["recent_hits"] = counters.recentHits();
        for (std::size_t i = 0; i < ObjectCounters::kKinds; ++i) {
          const auto kind = static_cast<ObjectCounters::Kind>(i);
          object[std::string(objectKindName(kind))] = counters.total(kind);
        }
      });
  json list = json::array();
  for (auto& [place, object] : all) {
    object["path"] = place.first;
    object["view"] = place.second;
    list.push_back(std::move(object));
  }
  keepFirst(list, query);
  return list;
}

json reportManager(const ManagerSet::Item& item, Millis now, const ReportQuery& query,
                   Places& held) {
  const CacheManager::Identity& identity = item.config.identity;
  const Counters none;
  json report = reportCounters(item.manager ? item.manager->counters() : none);
  report["id"] = identity.id;
  report["path"] = identity.path;
  report["type"] = identity.type;
  report["default"] = identity.is_default;
  report["shared"] = item.shared;
  report["stats"] = json::object();
  report["servers"] = json::array();
  if (!item.manager) {
    report["ok"] = false;
    report["detail"] = item.failure;
    return report;
  }
  Cache& cache = item.manager->cache();
  const Health health = cache.health();
  report["ok"] = health.ok;
  report["detail"] = health.detail;
  for (const auto& [name, number] : cache.stats()) report["stats"][name] = number;
  if (auto* const list = dynamic_cast<ServerList*>(&cache)) {
    for (const ServerReport& server : list->servers(kForever))
      report["servers"].push_back(reportServer(server));
  }
  if (item.enumerable) report["entries"] = reportEntries(cache, now, query, held);
  return report;
}

json mergeReports(std::vector<json> reports, const ReportQuery& query) {
  constexpr std::array kManagerNames = {"path", "id", "type"};
  constexpr std::array kViewNames = {"view"};
  constexpr std::array kObjectNames = {"path", "view"};
  json merged = std::move(reports.front());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    for (json& process : reports[i].at("processes")) merged["processes"].push_back(process);
    for (json& manager : reports[i].at("managers")) {
      if (json* same = findAlike(merged["managers"], manager, kManagerNames))
        mergeManager(*same, manager, query);
      else
        merged["managers"].push_back(std::move(manager));
    }
    for (json& view : reports[i].at("views")) {
      if (json* same = findAlike(merged["views"], view, kViewNames))
        addCounters(*same, view);
      else
        merged["views"].push_back(std::move(view));
    }
    for (json& object : reports[i]["objects"]) {
      if (json* same = findAlike(merged["objects"], object, kObjectNames))
        addNumbers(*same, object);
      else
        merged["objects"].push_back(std::move(object));
    }
  }
  keepFirst(merged["objects"], query);
  return merged;
}

std::pair<std::string_view, std::string_view> placeOfKey(std::string_view key_bytes) {
  if (!key_bytes.empty()) key_bytes.remove_prefix(1);  // the version
  const auto part = [&]() -> std::string_view {
    std::uint32_t size = 0;
    if (key_bytes.size() < sizeof size) return {};
    std::memcpy(&size, key_bytes.data(), sizeof size);
    const std::string_view text = key_bytes.substr(sizeof size, size);
    key_bytes.remove_prefix(sizeof size + text.size());
    return text;
  };
  (void)part();  // the site
  const std::string_view path = part();
  return {path, part()};
}

}  // namespace larder::server
