// larder stats, larder invalidate: asked of the running server.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "command_support.h"
#include "larder/cache/units.h"
#include "larder/server/commands.h"
#include "larder/server/management.h"
#include "management_client.h"
#include "text_table.h"

namespace larder::server {
namespace {

using nlohmann::json;

int undone(const Error& error) {
  std::cerr << error.message << std::endl;
  return kUndone;
}

std::string ratio(const json& counters) {
  const double lookups = counters.value("lookups", 0.0);
  if (lookups == 0) return "-";
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * counters.value("hits", 0.0) / lookups);
  return text.data();
}

std::string number(const json& object, const char* name) {
  return std::to_string(object.value(name, std::uint64_t{0}));
}

/// For people: at most four digits.
std::string roughSize(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"", "K", "M", "G", "T"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 || value >= 100 ? "%.0f%s" : "%.1f%s", value,
                kUnits[unit]);
  return text.data();
}

void printProcesses(const json& processes) {
  TextTable table({"PROCESS", ">PID", ">UPTIME", ">REQUESTS", ">CONNECTIONS", ">LEDGER"});
  for (const json& process : processes) {
    if (process.contains("error")) {
      table.row({number(process, "worker"), process.at("error").get<std::string>()});
      continue;
    }
    const json& http = process.at("http");
    const Millis uptime = process.at("uptime_ms").get<Millis>() / 1000 * 1000;
    table.row({number(process, "worker"), number(process, "pid"), formatDuration(uptime),
               number(http, "requests"), number(http, "open_connections"),
               number(process.at("ledger"), "seq")});
  }
  table.print(std::cout);
}

/// Each process that publishes pages for nginx: what became of them.
void printPublished(const json& processes) {
  TextTable table({"PROCESS", ">PUBLISHED", ">WITHDRAWN", ">OUTBOX", "NOT PUBLISHED"});
  for (const json& process : processes) {
    if (!process.contains("nginx")) continue;
    const json& nginx = process.at("nginx");
    std::string others;
    for (const auto& [name, count] : nginx.items()) {
      if (name == "published" || name == "withdrawn" || name == "outbox" || count == 0) continue;
      others += (others.empty() ? "" : ", ") + name + ' ' + number(nginx, name.c_str());
    }
    table.row({number(process, "worker"), number(nginx, "published"), number(nginx, "withdrawn"),
               number(nginx, "outbox"), others});
  }
  if (table.empty()) return;
  std::cout << '\n';
  table.print(std::cout);
}

void printManagers(const json& managers) {
  TextTable table(
      {"MANAGER", "AT", "TYPE", ">LOOKUPS", ">HITS", ">RATIO", ">ENTRIES", ">BYTES", "HEALTH"});
  for (const json& manager : managers) {
    const bool listed = manager.contains("entries");
    table.row({manager.at("id"), manager.at("path"), manager.at("type"), number(manager, "lookups"),
               number(manager, "hits"), ratio(manager),
               listed ? number(manager.at("entries"), "count") : "",
               listed ? roughSize(manager.at("entries").value("bytes", std::uint64_t{0})) : "",
               manager.at("ok").get<bool>() ? "ok" : manager.at("detail").get<std::string>()});
  }
  table.print(std::cout);
}

/// A number that a server says of itself, as it says it; empty if it does not.
std::string own(const json& server, const char* name) {
  return server.at("own").value(name, std::string());
}
std::string ownSize(const json& server, const char* name) {
  const std::string text = own(server, name);
  return text.empty() ? text : roughSize(std::strtoull(text.c_str(), nullptr, 10));
}

void printServers(const json& managers) {
  for (const json& manager : managers) {
    const json& servers = manager.at("servers");
    if (servers.empty()) continue;
    std::cout << "\nServers of '" << manager.at("id").get<std::string>() << "' at "
              << manager.at("path").get<std::string>() << '\n';
    TextTable table({"SERVER", ">REQUESTS", ">HITS", ">MISSES", ">TIMEOUTS", ">OTHER ERRORS",
                     ">NOT ASKED", ">P50 US", ">P99 US", ">VERSION", ">UPTIME", ">ITEMS", ">BYTES",
                     ">OF", ">EVICTIONS", ">CONNECTIONS", "STATE"});
    for (const json& server : servers) {
      const json& counted = server.at("counted");
      const auto other = counted.value("errors_unreachable", std::uint64_t{0}) +
                         counted.value("errors_protocol", std::uint64_t{0}) +
                         counted.value("errors_other", std::uint64_t{0});
      table.row({server.at("name"), number(counted, "requests"), number(counted, "hits"),
                 number(counted, "misses"), number(counted, "errors_timeout"),
                 std::to_string(other), number(counted, "errors_breaker"),
                 number(counted, "latency_us_p50"), number(counted, "latency_us_p99"),
                 own(server, "version"), own(server, "uptime"), own(server, "curr_items"),
                 ownSize(server, "bytes"), ownSize(server, "limit_maxbytes"),
                 own(server, "evictions"), own(server, "curr_connections"),
                 server.at("ok").get<bool>() ? "ok" : server.at("detail").get<std::string>()});
    }
    table.print(std::cout, "  ");
  }
}

void printViews(const json& views) {
  TextTable table({"VIEW", ">LOOKUPS", ">HITS", ">RATIO", ">RENDERS", ">SAVED"});
  for (const json& view : views) {
    const Millis saved = view.value("saved_us", std::int64_t{0}) / 1000;
    table.row({view.at("view"), number(view, "lookups"), number(view, "hits"), ratio(view),
               number(view.at("counters"), "renders"), formatDuration(saved)});
  }
  if (table.empty()) return;
  std::cout << '\n';
  table.print(std::cout);
}

void printObjects(const json& objects, const std::string& sort) {
  if (objects.empty()) return;
  std::cout << "\nObjects by " << sort << '\n';
  TextTable table({"PATH", "VIEW", ">LOOKUPS", ">HITS", ">RECENT", ">STALE", ">MISSES", ">RENDERS",
                   ">SAVED", ">ENTRIES", ">BYTES", ">AGE", ">COST US"});
  for (const json& object : objects) {
    const auto path = object.at("path").get<std::string>();
    const auto millis = [&](const char* name) { return object.value(name, std::int64_t{0}); };
    const bool held = object.contains("entries");
    table.row({path.empty() ? "(others)" : path, object.at("view"), number(object, "lookups"),
               number(object, "hits"), number(object, "recent_hits"), number(object, "stale"),
               number(object, "misses"), number(object, "renders"),
               formatDuration(millis("saved_us") / 1000), held ? number(object, "entries") : "",
               held ? roughSize(object.value("bytes", std::uint64_t{0})) : "",
               held ? formatDuration(millis("age_ms") / 1000 * 1000) : "",
               held ? number(object, "cost_us") : ""});
  }
  table.print(std::cout, "  ");
}

void printObserved(const json& views) {
  TextTable table({"OBSERVED VIEW", ">LOOKUPS", ">WOULD HIT", ">WOULD SAVE", ">DIFFERENT"});
  for (const json& view : views) {
    const json& counters = view.at("counters");
    if (!counters.contains("observed_hits")) continue;
    table.row({view.at("view"), number(view, "lookups"), number(counters, "observed_hits"),
               formatDuration(view.value("observed_us", std::int64_t{0}) / 1000),
               number(counters, "audit_mismatches")});
  }
  if (table.empty()) return;
  std::cout << '\n';
  table.print(std::cout);
}

}  // namespace

int statsCommand(const CommandLine& line) {
  constexpr unsigned kMostEntries = 100'000;
  const auto entries = numberOf(line, "--entries", 0, kMostEntries, 10);
  if (!entries) return cannotStart(entries.error().message);
  const auto sort = readObjectColumn(line.value("--sort").value_or(ReportQuery().sort));
  if (!sort) return cannotStart("larder stats: " + sort.error().message);
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  auto client = ManagementClient::of(*config);
  if (!client) return undone(client.error());
  const auto report =
      client->get("/@@caches?entries=" + std::to_string(*entries) + "&sort=" + *sort);
  if (!report) return undone(report.error());
  if (line.has("--json")) {
    std::cout << report->dump(2) << std::endl;
    return 0;
  }
  printProcesses(report->at("processes"));
  std::cout << '\n';
  printManagers(report->at("managers"));
  printServers(report->at("managers"));
  printViews(report->at("views"));
  printObserved(report->at("views"));
  printObjects(report->at("objects"), *sort);
  printPublished(report->at("processes"));
  std::cout << std::flush;
  return 0;
}

int invalidateCommand(const CommandLine& line) {
  // Checked before a server is asked, and sent as the server itself would read it.
  const auto body = invalidationBody(line.arguments.front(), line.has("--soft"));
  if (!body) return cannotStart("larder invalidate: " + body.error().message);
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  auto client = ManagementClient::of(*config);
  if (!client) return undone(client.error());
  const auto answer = client->post("/@@invalidate", json::parse(*body));
  if (!answer) return undone(answer.error());
  for (const json& scope : answer->at("invalidated"))
    std::cout << "invalidated " << scope.get<std::string>() << ", change " << answer->at("seq")
              << '\n';
  std::cout << std::flush;
  return 0;
}

}  // namespace larder::server
