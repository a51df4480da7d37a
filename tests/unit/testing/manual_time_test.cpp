#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/manual_executor.h"

namespace larder::testing {
namespace {

TEST(ManualClock, MovesBothTimesTogether) {
  ManualClock clock(100, 5000);
  clock.advance(7);
  EXPECT_EQ(clock.monotonic(), 107);
  EXPECT_EQ(clock.wall(), 5007);
}

TEST(ManualClock, AJumpOfTheWallLeavesMonotonicTimeAlone) {
  ManualClock clock(100, 5000);
  clock.jumpWall(-1000);
  EXPECT_EQ(clock.monotonic(), 100);
  EXPECT_EQ(clock.wall(), 4000);
}

TEST(ManualClock, NeverGoesBack) {
  ManualClock clock(100, 5000);
  clock.advanceTo(50);
  EXPECT_EQ(clock.monotonic(), 100);
}

TEST(ManualEvent, TimesOutWhenTheClockIsMovedToTheDeadline) {
  ManualClock clock;
  const auto event = makeManualEvent(clock);
  bool set = true;
  std::thread waiting([&] { set = event->wait(clock.monotonic() + 500); });
  clock.awaitWaiters(1);
  clock.advance(500);
  waiting.join();
  EXPECT_FALSE(set);
}

TEST(ManualEvent, WakesWhenSet) {
  ManualClock clock;
  const auto event = makeManualEvent(clock);
  bool set = false;
  std::thread waiting([&] { set = event->wait(kForever); });
  clock.awaitWaiters(1);
  event->set();
  waiting.join();
  EXPECT_TRUE(set);
}

class ManualExecutorTest : public ::testing::Test {
 protected:
  Executor::Task note(int id) {
    return [this, id] { order.push_back(id); };
  }
  ManualClock clock;
  ManualExecutor executor{clock};
  std::vector<int> order;
};

TEST_F(ManualExecutorTest, RunsNothingByItself) {
  executor.post(note(1));
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(executor.pending(), 1u);
}

TEST_F(ManualExecutorTest, RunsInOrderOfPosting) {
  executor.post(note(1));
  executor.post(note(2));
  EXPECT_EQ(executor.runAll(), 2u);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(ManualExecutorTest, TimersFollowTheClock) {
  const Millis now = clock.monotonic();
  executor.postAt(now + 20, note(2));
  executor.postAt(now + 10, note(1));
  EXPECT_EQ(executor.runAll(), 0u);
  clock.advance(20);
  EXPECT_EQ(executor.runAll(), 2u);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(ManualExecutorTest, RefusesLikeAFullQueue) {
  executor.refuse(true);
  EXPECT_FALSE(executor.post(note(1)));
  EXPECT_FALSE(executor.postAt(0, note(1)));
}

TEST(InlineExecutor, RunsAtOnce) {
  ManualClock clock;
  InlineExecutor executor(clock);
  bool ran = false;
  EXPECT_TRUE(executor.post([&] { ran = true; }));
  EXPECT_TRUE(ran);
}

class DrivingTest : public ::testing::Test {
 protected:
  ManualClock clock;
  ManualExecutor executor{clock, ManualExecutor::Waiting::drives};
};

TEST_F(DrivingTest, WaitingRunsTheTaskThatSetsTheEvent) {
  const auto event = executor.makeEvent();
  executor.post([&] { event->set(); });
  EXPECT_TRUE(event->wait(kForever));
}

TEST_F(DrivingTest, WaitingMovesTheClockToTheNextTimer) {
  const auto event = executor.makeEvent();
  const Millis when = clock.monotonic() + 300;
  executor.postAt(when, [&] { event->set(); });
  EXPECT_TRUE(event->wait(kForever));
  EXPECT_EQ(clock.monotonic(), when);
}

TEST_F(DrivingTest, WaitingForNothingEndsAtTheDeadline) {
  const Millis deadline = clock.monotonic() + 300;
  EXPECT_FALSE(executor.makeEvent()->wait(deadline));
  EXPECT_EQ(clock.monotonic(), deadline);
}

}  // namespace
}  // namespace larder::testing
