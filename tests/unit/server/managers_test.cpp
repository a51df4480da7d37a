#include "larder/server/managers.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "larder/plugin.h"
#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"

namespace larder::server {
namespace {

/// Holds nothing; knows the manager that it was told to be made of.
class FakeCache final : public Cache {
 public:
  FakeCache(Host& host, const Settings& settings) {
    if (settings.text("fail") != "") throw std::runtime_error(settings.text("fail"));
    if (settings.boolean("posts_later")) {
      host.executor().postAt(host.clock().monotonic() + 1'000,
                             [&host] { host.log(LogLevel::info, "done later"); });
    }
    if (settings.text("part") == "") return;
    part_ = host.manager(settings.text("part"));
    if (!part_ && settings.boolean("needs_part"))
      throw std::runtime_error("part: there is no such manager");
  }
  Lookup get(const CacheKey&, Deadline) noexcept override { return {}; }
  Stored put(const CacheKey&, EntryPtr, Deadline) noexcept override { return {}; }
  Stored erase(const CacheKey&, Deadline) noexcept override { return {}; }
  Stored clear(Deadline) noexcept override { return {}; }
  [[nodiscard]] Stats stats() const noexcept override { return {}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }
  [[nodiscard]] const std::shared_ptr<Cache>& part() const { return part_; }

 private:
  std::shared_ptr<Cache> part_;
};

constexpr SettingSpec kSettings[] = {
    {"size", SettingType::size, "1M", "A size."},
    {"fail", SettingType::text, "", "Message to fail with."},
    {"part", SettingType::text, "", "Id of a manager."},
    {"needs_part", SettingType::boolean, "false", "Whether it fails without that."},
    {"posts_later", SettingType::boolean, "false", "Whether it leaves work to a second later."},
};

const larder_descriptor* fakePlugin() {
  static const larder_descriptor kDescriptor = {
      sizeof(larder_descriptor),
      LARDER_ABI_MAJOR,
      LARDER_ABI_MINOR,
      LARDER_FINGERPRINT,
      "Fake",
      "1.0",
      LARDER_OBJECT_CACHE,
      LARDER_BLOCKS | LARDER_SHARED,
      kSettings,
      std::size(kSettings),
      [](Host& host, const Settings& settings) -> void* {
        return static_cast<Cache*>(std::make_unique<FakeCache>(host, settings).release());
      },
      [](void* instance) { const std::unique_ptr<Cache> owned(static_cast<Cache*>(instance)); }};
  return &kDescriptor;
}

class Managers : public ::testing::Test {
 protected:
  Managers() : executor_(clock_), plugins_({}) { EXPECT_TRUE(plugins_.addBuiltIn(fakePlugin)); }

  static std::vector<ManagerConfig> configs(std::string_view text) {
    auto config = parseConfig(text, "conf.toml", {});
    if (!config) throw std::runtime_error(config.error().message);
    return config->managers;
  }
  Result<std::shared_ptr<const ManagerSet>> build(std::string_view text,
                                                  const ManagerSet* previous = nullptr) {
    const ManagerFactory factory({.plugins = plugins_,
                                  .clock = clock_,
                                  .executor = executor_,
                                  .log = log_,
                                  .site_name = "site",
                                  .finish = {}});
    return factory.build(configs(text), previous);
  }
  static const FakeCache& fake(const ManagerSet& set, std::size_t index) {
    return dynamic_cast<const FakeCache&>(set.items.at(index).manager->cache());
  }

  testing::ManualClock clock_;
  testing::InlineExecutor executor_;
  PluginLoader plugins_;
  std::function<void(LogLevel, std::string_view)> log_;
};

constexpr const char* kFast = "[[manager]]\nid = \"fast\"\ntype = \"Fake\"\nmax_age = \"10m\"\n";

TEST_F(Managers, AreMadeByTheirPlugins) {
  const auto set = build(kFast);
  ASSERT_TRUE(set) << set.error().message;
  const ManagerPtr manager = (*set)->registry->acquire("/a/b", "fast");
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->waits(), Waits::always);
  EXPECT_EQ(manager->policy().max_age, 600'000);
}

TEST_F(Managers, MisspeltTypeIsAnError) {
  const auto set = build("[[manager]]\nid = \"fast\"\ntype = \"Fakee\"\n");
  ASSERT_FALSE(set);
  EXPECT_TRUE(set.error().message.starts_with("conf.toml:1: manager 'fast' (Fakee): "))
      << set.error().message;
  EXPECT_NE(set.error().message.find("Fake"), std::string::npos);
}

TEST_F(Managers, UnknownSettingIsAnErrorWithItsLine) {
  const auto set = build("[[manager]]\nid = \"fast\"\ntype = \"Fake\"\nsise = \"1M\"\n");
  ASSERT_FALSE(set);
  EXPECT_TRUE(set.error().message.starts_with("conf.toml:4: ")) << set.error().message;
  EXPECT_NE(set.error().message.find("did you mean 'size'"), std::string::npos);
}

TEST_F(Managers, OneThatCannotBeMadeIsReportedAsFailed) {
  const auto set = build(std::string(kFast) +
                         "[[manager]]\nid = \"bad\"\ntype = \"Fake\"\nfail = \"no server\"\n");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ((*set)->registry->managers().size(), 1U);
  ASSERT_EQ((*set)->registry->failed().size(), 1U);
  EXPECT_NE((*set)->registry->failed()[0].reason.find("no server"), std::string::npos);
}

TEST_F(Managers, Semantics08_WhatAPluginRefusesIsToldWithItsLine) {
  const auto set =
      build(std::string(kFast) + "size = \"2M\"\nfail = \"a resize; fail, size: not both\"\n");
  ASSERT_TRUE(set) << set.error().message;
  const std::string& failure = (*set)->items[0].failure;
  EXPECT_TRUE(failure.starts_with("conf.toml:6: manager 'fast' (Fake): ")) << failure;
}

TEST_F(Managers, Semantics42_OnlyFailuresThatWereNotThereBeforeAreNews) {
  const std::string bad = "[[manager]]\nid = \"bad\"\ntype = \"Fake\"\nfail = \"no server\"\n";
  const auto before = build(std::string(kFast) + bad);
  ASSERT_TRUE(before);
  EXPECT_NE(newFailures(nullptr, **before).find("no server"), std::string::npos);
  const auto moved = build("# moved\n" + std::string(kFast) + bad, before->get());
  EXPECT_EQ(newFailures(before->get(), **moved), "");
  for (const std::string& worse :
       {kFast + bad + "size = \"2M\"\n", std::string(kFast) + "fail = \"x\"\n" + bad}) {
    const auto after = build(worse, before->get());
    ASSERT_TRUE(after);
    EXPECT_NE(newFailures(before->get(), **after), "") << worse;
  }
}

TEST_F(Managers, ReloadKeepsWhatDidNotChange) {
  const auto before = build(kFast);
  ASSERT_TRUE(before);
  const auto after = build("# moved down\n" + std::string(kFast), before->get());
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)->items[0].manager, (*before)->items[0].manager);
}

TEST_F(Managers, ReloadOfAPolicyKeepsTheEntries) {
  const auto before = build(kFast);
  ASSERT_TRUE(before);
  const auto after =
      build("[[manager]]\nid = \"fast\"\ntype = \"Fake\"\nmax_age = \"5m\"\n", before->get());
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)->items[0].manager->policy().max_age, 300'000);
  EXPECT_EQ((*after)->items[0].manager->sharedCache(), (*before)->items[0].manager->sharedCache());
}

TEST_F(Managers, ReloadOfAPluginsSettingStartsEmpty) {
  const auto before = build(kFast);
  ASSERT_TRUE(before);
  const auto after = build(std::string(kFast) + "size = \"2M\"\n", before->get());
  ASSERT_TRUE(after);
  EXPECT_NE((*after)->items[0].manager->sharedCache(), (*before)->items[0].manager->sharedCache());
}

TEST_F(Managers, FaultA32_WorkThatAReplacedOneLeftFindsItsHost) {
  // Each host has a copy of the log, and so of this.
  const auto lines = std::make_shared<std::vector<std::string>>();
  const long owners = lines.use_count();
  log_ = [lines](LogLevel, std::string_view line) { lines->emplace_back(line); };
  ASSERT_TRUE(build(std::string(kFast) + "posts_later = true\n"));
  log_ = nullptr;
  EXPECT_EQ(lines.use_count(), owners + 1);
  clock_.advance(1'000);
  executor_.runAll();
  EXPECT_EQ(*lines, std::vector<std::string>{"manager 'fast' (Fake): done later"});
  EXPECT_EQ(lines.use_count(), owners);
}

TEST_F(Managers, Semantics25_RemovedAndReplacedManagersEnd) {
  const auto before = build(std::string(kFast) + "[[manager]]\nid = \"b\"\ntype = \"Fake\"\n");
  ASSERT_TRUE(before);
  const auto after = build(std::string(kFast), before->get());
  ASSERT_TRUE(after);
  EXPECT_EQ(endedManagers(**before, **after),
            std::vector<std::string>{(*before)->items[1].manager->scope()});
}

TEST_F(Managers, MayBeMadeOfLaterOnes) {
  const auto set =
      build(std::string("[[manager]]\nid = \"two\"\ntype = \"Fake\"\npart = \"fast\"\n") + kFast);
  ASSERT_TRUE(set);
  EXPECT_EQ(fake(**set, 0).part(), (*set)->items[1].manager->sharedCache());
}

TEST_F(Managers, MadeOfEachOtherFindNothing) {
  const auto set = build(
      "[[manager]]\nid = \"a\"\ntype = \"Fake\"\npart = \"b\"\n"
      "[[manager]]\nid = \"b\"\ntype = \"Fake\"\npart = \"a\"\n");
  ASSERT_TRUE(set);
  EXPECT_TRUE(fake(**set, 0).part());
  EXPECT_FALSE(fake(**set, 1).part());
}

TEST_F(Managers, MadeOfTheNearestOfThatId) {
  const auto set =
      build(std::string(kFast) +
            "[[manager]]\nid = \"fast\"\npath = \"/a\"\ntype = \"Fake\"\n"
            "[[manager]]\nid = \"two\"\npath = \"/a/b\"\ntype = \"Fake\"\npart = \"fast\"\n");
  ASSERT_TRUE(set);
  EXPECT_EQ(fake(**set, 2).part(), (*set)->items[1].manager->sharedCache());
}

TEST_F(Managers, ReloadRemakesWhatIsMadeOfAReplacedOne) {
  const std::string two = "[[manager]]\nid = \"two\"\ntype = \"Fake\"\npart = \"fast\"\n";
  const auto before = build(kFast + two);
  ASSERT_TRUE(before);
  const auto after = build(std::string(kFast) + "size = \"2M\"\n" + two, before->get());
  ASSERT_TRUE(after);
  EXPECT_EQ(fake(**after, 1).part(), (*after)->items[0].manager->sharedCache());
}

TEST_F(Managers, Semantics42_APartThatIsMisspeltIsAnErrorWithTheNearestId) {
  const auto set =
      build(std::string(kFast) +
            "[[manager]]\nid = \"two\"\ntype = \"Fake\"\npart = \"fsat\"\nneeds_part = true\n");
  ASSERT_FALSE(set);
  const std::string& error = set.error().message;
  EXPECT_NE(error.find("manager 'two' (Fake)"), std::string::npos) << error;
  EXPECT_TRUE(error.starts_with("conf.toml:")) << error;
  EXPECT_NE(error.find("did you mean 'fast'"), std::string::npos) << error;
}

}  // namespace
}  // namespace larder::server
