#include "report.h"

#include <gtest/gtest.h>

#include "larder/cache/key_builder.h"

namespace larder::server {
namespace {

using nlohmann::json;

json managerReport(bool shared, std::uint64_t bytes, json paths) {
  return {{"id", "fast"},
          {"path", "/"},
          {"type", "RAMCache"},
          {"shared", shared},
          {"ok", true},
          {"detail", ""},
          {"counters", {{"hit", 2}}},
          {"lookups", 3},
          {"hits", 2},
          {"saved_us", 10},
          {"stats", {{"bytes", bytes}}},
          {"servers", json::array()},
          {"entries", {{"count", 1}, {"bytes", bytes}, {"paths", std::move(paths)}}}};
}

json processReport(int worker, json manager) {
  return {{"site", "x"},
          {"processes", json::array({{{"worker", worker}}})},
          {"managers", json::array({std::move(manager)})},
          {"views", json::array({{{"view", "/a page"},
                                  {"counters", {{"hit", 1}}},
                                  {"lookups", 1},
                                  {"hits", 1},
                                  {"saved_us", 5}}})}};
}

json place(const char* path, std::uint64_t bytes) {
  return {{"path", path}, {"view", "page"}, {"entries", 1}, {"bytes", bytes}};
}

json merged(bool shared) {
  return mergeReports(
      {processReport(0, managerReport(shared, 100, {place("/a", 60)})),
       processReport(1, managerReport(shared, 50, {place("/a", 20), place("/b", 30)}))},
      {.entries = 10, .under = "/"});
}

TEST(MergeReports, KeepsEveryProcess) {
  EXPECT_EQ(merged(false)["processes"].size(), 2U);
}

TEST(MergeReports, AddsCounters) {
  const json manager = merged(false)["managers"][0];
  EXPECT_EQ(manager["counters"]["hit"], 4);
  EXPECT_EQ(manager["lookups"], 6);
  EXPECT_EQ(merged(false)["views"][0]["saved_us"], 10);
}

TEST(MergeReports, AddsEntriesByPath) {
  const json entries = merged(false)["managers"][0]["entries"];
  EXPECT_EQ(entries["bytes"], 150);
  ASSERT_EQ(entries["paths"].size(), 2U);
  EXPECT_EQ(entries["paths"][0]["path"], "/a");
  EXPECT_EQ(entries["paths"][0]["bytes"], 80);
}

TEST(MergeReports, CountsASharedStoreOnce) {
  EXPECT_EQ(merged(true)["managers"][0]["stats"]["bytes"], 100);
}

json serverReport(const char* name, bool ok, std::uint64_t hits, std::uint64_t p99) {
  return {{"name", name},
          {"ok", ok},
          {"detail", ok ? "" : "no answer"},
          {"counted", {{"hits", hits}, {"latency_us_p99", p99}}},
          {"own", ok ? json{{"version", "1.6.18"}} : json::object()}};
}

TEST(MergeReports, EachServerIsSeenByAllProcesses) {
  json one = managerReport(true, 1, json::array());
  one["servers"] = {serverReport("a", true, 5, 100), serverReport("b", false, 1, 50)};
  one["stats"] = {{"hits", 6}};
  json two = managerReport(true, 1, json::array());
  two["servers"] = {serverReport("a", true, 7, 90), serverReport("b", true, 2, 60)};
  two["stats"] = {{"hits", 9}};
  const json manager =
      mergeReports({processReport(0, one), processReport(1, two)}, {})["managers"][0];
  EXPECT_EQ(manager["stats"]["hits"], 15);
  ASSERT_EQ(manager["servers"].size(), 2U);
  EXPECT_EQ(manager["servers"][0]["counted"]["hits"], 12);
  EXPECT_EQ(manager["servers"][0]["counted"]["latency_us_p99"], 100);
  EXPECT_EQ(manager["servers"][1]["ok"], false);
  EXPECT_EQ(manager["servers"][1]["own"]["version"], "1.6.18");
}

TEST(MergeReports, OneProcessInTroubleShows) {
  json bad = managerReport(false, 1, json::array());
  bad["ok"] = false;
  bad["detail"] = "server a is down";
  const json report = mergeReports(
      {processReport(0, managerReport(false, 1, json::array())), processReport(1, std::move(bad))},
      {});
  EXPECT_EQ(report["managers"][0]["ok"], false);
  EXPECT_EQ(report["managers"][0]["detail"], "server a is down");
}

TEST(MergeReports, ListsAtMostWhatWasAsked) {
  const json report =
      mergeReports({processReport(0, managerReport(false, 1, {place("/a", 1), place("/b", 2)})),
                    processReport(1, managerReport(false, 1, {place("/c", 3)}))},
                   {.entries = 2, .under = "/"});
  const json& entries = report["managers"][0]["entries"];
  EXPECT_EQ(entries["paths"].size(), 2U);
  EXPECT_EQ(entries["count"], 2);
}

std::vector<std::string> pathsBy(const std::string& sort) {
  ObjectStatistics objects;
  const auto look = [&](const char* path, Outcome outcome, int times) {
    for (int i = 0; i < times; ++i) objects.of(path, "page").add(outcome);
  };
  look("/a", Outcome::hit, 5);
  look("/a", Outcome::miss_cold, 1);
  look("/b", Outcome::hit, 2);
  objects.beginPeriod();
  objects.beginPeriod();
  look("/b", Outcome::hit, 1);
  const Places held = {{{"/a", "page"}, {.entries = 1, .bytes = 10, .cost_us = 7, .age_ms = 1'000}},
                       {{"/c", "page"}, {.entries = 3, .bytes = 30, .cost_us = 5, .age_ms = 500}}};
  std::vector<std::string> paths;
  for (const auto& object : reportObjects(objects, held, {.sort = sort}))
    paths.push_back(object.at("path"));
  return paths;
}

TEST(ReportObjects, AreSortedByWhatIsAsked) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(pathsBy("lookups"), (Paths{"/a", "/b", "/c"}));
  EXPECT_EQ(pathsBy("recent_hits"), (Paths{"/b", "/a", "/c"}));
  EXPECT_EQ(pathsBy("entries"), (Paths{"/c", "/a", "/b"}));
  EXPECT_EQ(pathsBy("age_ms"), (Paths{"/a", "/c", "/b"}));
  EXPECT_EQ(pathsBy("path"), (Paths{"/a", "/b", "/c"}));
}

TEST(ReportObjects, TellWhatIsHeldAndWhatWasCounted) {
  ObjectStatistics objects;
  objects.of("/a", "page").add(Outcome::hit);
  const Places held = {
      {{"/a", "page"}, {.entries = 2, .bytes = 10, .cost_us = 7, .age_ms = 1'000}}};
  const auto list = reportObjects(objects, held, {});
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["hits"], 1);
  EXPECT_EQ(list[0]["recent_hits"], 1);
  EXPECT_EQ(list[0]["entries"], 2);
  EXPECT_EQ(list[0]["cost_us"], 7);
}

TEST(MergeReports, OfAnObjectsAgesTheOldestCounts) {
  std::vector<json> reports;
  for (const std::uint64_t age : {5'000U, 7'000U}) {
    reports.push_back(processReport(0, managerReport(false, 1, json::array())));
    reports.back()["objects"] = reportObjects(
        {}, {{{"/a", "page"}, {.entries = 1, .bytes = 10, .cost_us = 7, .age_ms = age}}}, {});
  }
  const auto object = mergeReports(std::move(reports), {})["objects"][0];
  EXPECT_EQ(object["entries"], 2);
  EXPECT_EQ(object["age_ms"], 7'000);
}

TEST(ObjectColumns, AWrongOneIsToldWithTheNearest) {
  EXPECT_EQ(*readObjectColumn("recent_hits"), "recent_hits");
  const auto wrong = readObjectColumn("recent");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("recent"), std::string::npos);
}

TEST(PlaceOfKey, ReadsPathAndView) {
  KeyBuilder key;
  key.begin("site", "/a/b", "page", 7);
  key.input("param:x", 1);
  key.text("1");
  EXPECT_EQ(placeOfKey(key.bytes()),
            (std::pair<std::string_view, std::string_view>("/a/b", "page")));
}

TEST(PlaceOfKey, TakesAnyBytes) {
  EXPECT_EQ(placeOfKey("").first, "");
  EXPECT_EQ(placeOfKey("\x01\xff\xff\xff\xff\x01").first, "");
}

}  // namespace
}  // namespace larder::server
