// The simulation can fail: each rule that is switched off is missed within 10^6 steps.
#include "larder/cache/planted_fault.h"

#include <gtest/gtest.h>

#include <string>

#include "simulation.h"

namespace larder {

Fault planted_fault = Fault::none;

namespace simulate {
namespace {

constexpr std::uint64_t kMost = 1'000'000;

/// The first violation; empty if there was none in 10^6 steps. Prints when it was found.
std::string violationWith(Fault fault) {
  planted_fault = fault;
  const auto report = simulate({.seed = 1, .steps = kMost});
  planted_fault = Fault::none;
  std::printf("found after %llu steps\n%s\n", static_cast<unsigned long long>(report.steps),
              report.violation.substr(0, report.violation.find("the last steps")).c_str());
  return report.violation;
}

TEST(PlantedFaults, NoneIsFoundWhereThereIsNone) {
  EXPECT_EQ(simulate({.seed = 1, .steps = 40'000}).violation, "");
}
TEST(PlantedFaults, LedgerL01_UpsertsInTriggersAreFound) {
  EXPECT_NE(violationWith(Fault::l1_upsert_in_a_trigger), "");
}
TEST(PlantedFaults, LedgerL01_ChangesThatTheLogLeavesOutAreFound) {
  EXPECT_NE(violationWith(Fault::l1_not_twice_in_the_log), "");
}
TEST(PlantedFaults, LedgerL03_UnseenCommitsWithoutTriggersAreFound) {
  EXPECT_NE(violationWith(Fault::l3_commits_without_triggers), "");
}
TEST(PlantedFaults, LedgerL07_AChildOfAnotherMomentIsFound) {
  EXPECT_NE(violationWith(Fault::l7_child_of_another_moment), "");
}
TEST(PlantedFaults, LedgerL07_AMapBehindItsSnapshotIsFound) {
  EXPECT_NE(violationWith(Fault::l7_map_behind_snapshot), "");
}
TEST(PlantedFaults, LedgerL09_EntriesOfALostHistoryAreFound) {
  EXPECT_NE(violationWith(Fault::l9_no_eras), "");
}
TEST(PlantedFaults, LedgerL10_UnseenCommitsOfAnotherProcessAreFound) {
  EXPECT_NE(violationWith(Fault::l10_no_look_at_others), "");
}
TEST(PlantedFaults, LedgerL15_KeysMadeBeforeTheRenderAreFound) {
  EXPECT_NE(violationWith(Fault::l15_key_before_render), "");
}
TEST(PlantedFaults, LedgerL16_FollowersWithOtherInputsAreFound) {
  EXPECT_NE(violationWith(Fault::l16_followers_values), "");
}
TEST(PlantedFaults, LedgerL16_FollowersOfAnOlderRenderAreFound) {
  EXPECT_NE(violationWith(Fault::l16_followers_arrival), "");
}
TEST(PlantedFaults, LedgerL19_HardChangesTakenForStalenessAreFound) {
  EXPECT_NE(violationWith(Fault::l19_changed_is_stale), "");
}

}  // namespace
}  // namespace simulate
}  // namespace larder
