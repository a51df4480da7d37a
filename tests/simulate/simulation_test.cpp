// What CI runs of the simulation; scripts/bench simulate runs more of it.
#include "simulation.h"

#include <gtest/gtest.h>

namespace larder::simulate {
namespace {

TEST(Simulation, Semantics20_Ledger_NoAnswerOfAHundredThousandStepsIsWrong) {
  const auto report = simulate({.seed = 1, .steps = 100'000});
  EXPECT_EQ(report.violation, "");
  EXPECT_EQ(report.steps, 100'000U);
  // It would prove little if hardly anything came from a cache, or nothing ever went wrong.
  EXPECT_GT(report.answers, 8'000U);
  EXPECT_GT(report.hits, report.answers / 5);
  EXPECT_GT(report.stale_hits, 0U);
  EXPECT_GT(report.coalesced, 0U);
  EXPECT_GT(report.crashes, 0U);
  EXPECT_GT(report.restores, 0U);
  EXPECT_GT(report.clones, 0U);
  EXPECT_GT(report.faults, 0U);
}

TEST(Simulation, ASeedDoesTheSameAgain) {
  const auto once = simulate({.seed = 5, .steps = 20'000});
  const auto again = simulate({.seed = 5, .steps = 20'000});
  EXPECT_EQ(once.trace, again.trace);
  EXPECT_EQ(once.hits, again.hits);
  EXPECT_NE(once.trace, simulate({.seed = 6, .steps = 20'000}).trace);
}

}  // namespace
}  // namespace larder::simulate
