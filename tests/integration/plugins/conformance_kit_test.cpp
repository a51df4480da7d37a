// The conformance kit itself: it passes what is right, notices each way to be wrong, and never
// passes by having done nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "larder/test/paths.h"
#include "larder/testing/process.h"
#include "larder/testing/temp_dir.h"

namespace larder::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int status = -1;
  std::string output;
};

class ConformanceKit : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments) {
    auto process =
        Process::start(test::buildDir() + "/bin/larder-conformance", std::move(arguments));
    if (!process) return {-1, process.error().message};
    const auto status = process->wait(120'000);
    return {status.value_or(-1), process->output()};
  }
  /// Runs the cases of `filter` over a module of this folder's.
  Outcome run(const std::string& module, const std::string& config, const std::string& filter) {
    return run({"--plugin", plugin(module), "--config", dir.write("c.toml", config),
                "--gtest_filter=" + filter});
  }
  static std::string plugin(const std::string& module) {
    return test::buildDir() + "/tests/plugins/" + module + ".so";
  }

  TempDir dir;
};

TEST_F(ConformanceKit, PassesARightObjectCache) {
  const Outcome outcome = run("test_cache", "", "*");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(ConformanceKit, PassesARightByteCache) {
  const Outcome outcome = run("test_store", "", "*");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(ConformanceKit, FailsWhenNoCaseRan) {
  const Outcome outcome = run("test_cache", "", "NoSuchCase*");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("no case ran"));
}

TEST_F(ConformanceKit, ListsWhatIsNotPromised) {
  EXPECT_THAT(run("test_store", "", "*.AColdKey*").output,
              HasSubstr("not promised: outages: the configuration names no ${MEMCACHED}"));
}

TEST_F(ConformanceKit, RunsAllCasesOfEachVariant) {
  const Outcome outcome = run("test_cache", "[variant.tiny]\nmax_size = \"2M\"\n", "*.AColdKey*");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("AColdKeyIsAMiss/default"), HasSubstr("AColdKeyIsAMiss/tiny"),
                    HasSubstr("2 cases passed")));
}

TEST_F(ConformanceKit, AMissingPluginIsNamed) {
  const Outcome outcome = run({"--plugin", "/no/such.so"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("/no/such.so cannot be found"));
}

TEST_F(ConformanceKit, ARefusedPluginIsExplained) {
  const Outcome outcome = run({"--plugin", plugin("bad_major")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("is built for plugin ABI 2.0"));
}

TEST_F(ConformanceKit, APluginThatCannotBeSetUpIsExplainedOnce) {
  const Outcome outcome = run({"--plugin", plugin("bad_throw")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("could not be set up: the store at 10.0.0.1 refuses"));
}

TEST_F(ConformanceKit, WithoutArgumentsShowsHowToUseIt) {
  const Outcome outcome = run(std::vector<std::string>{});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("larder-conformance --plugin FILE.so"));
}

TEST_F(ConformanceKit, AnUnknownArgumentIsNotIgnored) {
  const Outcome outcome = run({"--plugin", plugin("test_cache"), "--confg", "x"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("unknown argument '--confg'"));
}

TEST_F(ConformanceKit, AMistakeInTheConfigurationIsShownWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"[settings]\nmax_siz = \"1M\"\n",
       "c.toml:2: unknown setting 'max_siz'; did you mean 'max_size'?"},
      {"[settings]\nmax_size = 1\n", "c.toml:2: 'max_size': \"1\" has no unit"},
      {"[variant.small]\nmax_size = true\n", "c.toml:2: 'max_size': true is not a size"},
      {"[small]\nmax_size = \"1\"\n", "c.toml:2: 'max_size': \"1\" has no unit"},
      {"[setings]\n", "c.toml:1: unknown table 'setings'; did you mean 'settings'?"},
      {"[variant.default]\n", "c.toml:1: a variant is named by letters and digits"},
      {"[settings]\nfault = \"${REDIS}\"\n", "'${REDIS}' names what this kit does not provide"},
      {"[settings]\nfault = \"${MEMCACHED\"\n", "it knows ${MEMCACHED}, ${MEMCACHED_2}"},
      {"settings = 1\n", "c.toml:1: must be a table of settings"},
      {"[settings\n", "c.toml:1: "}};
  for (const auto& [text, message] : mistakes) {
    const Outcome outcome = run("test_cache", text, "*");
    EXPECT_EQ(outcome.status, 2) << text;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << text;
  }
}

TEST_F(ConformanceKit, AMissingConfigurationIsAnError) {
  const Outcome outcome =
      run({"--plugin", plugin("test_cache"), "--config", dir.file("missing.toml")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("missing.toml"));
}

TEST_F(ConformanceKit, StartsTheMemcachedThatTheConfigurationNamesAndEndsIt) {
  // The setting's text shows up in the error: it is the address.
  const Outcome outcome = run("test_cache", "[settings]\nfault = \"${MEMCACHED}\"\n", "*");
  const std::string before = "there is no fault '127.0.0.1:";
  const std::size_t at = outcome.output.find(before);
  ASSERT_NE(at, std::string::npos) << outcome.output;
  const int port = std::stoi(outcome.output.substr(at + before.size()));
  auto again = Process::start(
      "memcached", {"-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", std::to_string(port)});
  ASSERT_TRUE(again) << again.error().message;
  const auto ready = again->waitForPort(static_cast<std::uint16_t>(port));
  EXPECT_TRUE(ready) << ready.error().message;
}

struct Fault {
  const char* module;
  const char* name;
  /// A case that has to notice it.
  const char* noticed_by;
};
std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.name;
}

class ConformanceKitNotices : public ConformanceKit, public ::testing::WithParamInterface<Fault> {};

TEST_P(ConformanceKitNotices, AFault) {
  const Fault& fault = GetParam();
  const std::string suite_and_case = fault.noticed_by;
  const Outcome outcome =
      run(fault.module, "[settings]\nfault = \"" + std::string(fault.name) + "\"\n",
          suite_and_case + "*");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("[  FAILED  ] " + suite_and_case));
}

constexpr Fault kCacheFaults[] = {
    {"test_cache", "other_key", "ConformanceCache.Semantics04_OtherKeyBytes"},
    {"test_cache", "keeps_refused", "ConformanceEntryLimit.Semantics15_ARefusedEntry"},
    {"test_cache", "ignores_limit", "ConformanceEntryLimit.Semantics15_AnEntryOver"},
    {"test_cache", "ignores_limit", "ConformanceEviction.AFullCacheMakesRoom"},
    {"test_cache", "no_expiry", "ConformanceCache.ServesUntil"},
    {"test_cache", "no_expiry", "ConformanceCache.AnEntryThatIsOver"},
    {"test_cache", "early_expiry", "ConformanceCache.ServesUntil"},
    {"test_cache", "wall_time", "ConformanceManualTime.Semantics12_AJumpOfTheWallClockExpires"},
    {"test_cache", "wall_time", "ConformanceManualTime.Semantics12_AJumpOfTheWallClockRevives"},
    {"test_cache", "loses_type", "ConformanceCache.Semantics16"},
    {"test_cache", "no_erase", "ConformanceCache.EraseRemoves"},
    {"test_cache", "no_clear", "ConformanceCache.Semantics30"},
    {"test_cache", "clears_all", "ConformanceCache.Semantics06"},
    {"test_cache", "many_shifted", "ConformanceCache.Semantics32"},
    {"test_cache", "sweeps_all", "ConformanceSweep.RemovesWhatIsExpendable"},
    {"test_cache", "no_sweep", "ConformanceSweep.VisitsEveryEntryOnce"},
    {"test_cache", "no_stats", "ConformanceCache.HasStatistics"},
    {"test_cache", "unhealthy", "ConformanceCache.IsHealthy"},
    {"test_cache", "loses_puts", "ConformanceCache.HoldsManyKeys"},
    {"test_cache", "mixes_threads", "ConformanceThreads.NoThread"},
    {"test_cache", "no_replace", "ConformanceCache.PutReplaces"},
    {"test_cache", "replaces_for_free", "ConformanceEviction.EntriesReplacedByLarger"},
    {"test_cache", "replaces_twice", "ConformanceEviction.ReplacedEntriesTakeNoRoom"},
    {"test_cache", "keeps_by_thread", "ConformanceThreads.WhatOneThreadChanges"}};
constexpr Fault kStoreFaults[] = {
    {"test_store", "keeps_refused", "ConformanceBytes.Semantics15"},
    {"test_store", "takes_large", "ConformanceBytes.Semantics15"},
    {"test_store", "text_only", "ConformanceBytes.AnyByte"},
    {"test_store", "empty_is_miss", "ConformanceBytes.Semantics16"},
    {"test_store", "short_is_zero", "ConformanceBytes.Semantics11"},
    {"test_store", "month_past", "ConformanceBytes.Semantics11"},
    {"test_store", "no_expiry", "ConformanceLeases.Semantics31_ALeaseOfACrashed"},
    {"test_store", "add_replaces", "ConformanceLeases.Semantics31_TheFirst"},
    {"test_store", "add_replaces", "ConformanceLeases.Semantics31_OfManyThreads"},
    {"test_store", "release_any", "ConformanceLeases.ALeaseOfAnother"},
    {"test_store", "clears_all", "ConformanceCache.Semantics06"},
    {"test_store", "no_clear", "ConformanceBytes.Semantics30"},
    {"test_store", "no_erase", "ConformanceBytes.EraseRemoves"},
    {"test_store", "many_shifted", "ConformanceBytes.Semantics32"},
    {"test_store", "borrows", "ConformanceBytes.AValueOutlives"},
    {"test_store", "no_stats", "ConformanceBytes.HasStatistics"},
    {"test_store", "unhealthy", "ConformanceBytes.HasStatistics"}};

std::string faultName(const ::testing::TestParamInfo<Fault>& info) {
  return std::string(info.param.name) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(ObjectCache, ConformanceKitNotices, ::testing::ValuesIn(kCacheFaults),
                         faultName);
INSTANTIATE_TEST_SUITE_P(ByteCache, ConformanceKitNotices, ::testing::ValuesIn(kStoreFaults),
                         faultName);

}  // namespace
}  // namespace larder::testing
