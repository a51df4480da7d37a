#include "deadlines.h"

#include <gtest/gtest.h>

#include <array>

namespace larder::http {
namespace {

// Durations by kind: idle 100, head 10, body 20, queue 30, write 40, linger 50.
Deadlines makeDeadlines() {
  return Deadlines({100, 10, 20, 30, 40, 50});
}

TEST(Deadlines, NothingIsDueWhenNothingIsArmed) {
  const Deadlines deadlines = makeDeadlines();
  EXPECT_EQ(deadlines.due(1'000'000), nullptr);
  EXPECT_EQ(deadlines.next(), kForever);
}

TEST(Deadlines, ANodeIsDueAfterItsKindsDuration) {
  Deadlines deadlines = makeDeadlines();
  DeadlineNode node;
  deadlines.arm(node, DeadlineKind::head, 5);
  EXPECT_EQ(deadlines.next(), 15);
  EXPECT_EQ(deadlines.due(14), nullptr);
  EXPECT_EQ(deadlines.due(15), &node);
}

TEST(Deadlines, TheNextIsTheEarliestOfAllKinds) {
  Deadlines deadlines = makeDeadlines();
  DeadlineNode idle;
  DeadlineNode body;
  deadlines.arm(idle, DeadlineKind::idle, 0);
  deadlines.arm(body, DeadlineKind::body, 70);
  EXPECT_EQ(deadlines.next(), 90);
  EXPECT_EQ(deadlines.due(95), &body);
}

TEST(Deadlines, ArmingAgainStartsAnew) {
  Deadlines deadlines = makeDeadlines();
  DeadlineNode first;
  DeadlineNode second;
  deadlines.arm(first, DeadlineKind::idle, 0);
  deadlines.arm(second, DeadlineKind::idle, 1);
  deadlines.arm(first, DeadlineKind::idle, 2);
  EXPECT_EQ(deadlines.oldest(DeadlineKind::idle), &second);
  EXPECT_EQ(deadlines.due(101), &second);
  deadlines.disarm(second);
  EXPECT_EQ(deadlines.due(101), nullptr);
  EXPECT_EQ(deadlines.due(102), &first);
}

TEST(Deadlines, ArmingAnotherKindDisarmsTheFirst) {
  Deadlines deadlines = makeDeadlines();
  DeadlineNode node;
  deadlines.arm(node, DeadlineKind::head, 0);
  deadlines.arm(node, DeadlineKind::idle, 0);
  EXPECT_EQ(deadlines.oldest(DeadlineKind::head), nullptr);
  EXPECT_EQ(deadlines.due(99), nullptr);
}

TEST(Deadlines, AnyNodeCanBeTakenOut) {
  std::array<DeadlineNode, 3> nodes;
  for (std::size_t taken = 0; taken < nodes.size(); ++taken) {
    Deadlines deadlines = makeDeadlines();
    for (DeadlineNode& node : nodes) deadlines.arm(node, DeadlineKind::body, 0);
    deadlines.disarm(nodes[taken]);
    int left = 0;
    while (DeadlineNode* node = deadlines.due(1'000)) {
      EXPECT_NE(node, &nodes[taken]);
      deadlines.disarm(*node);
      ++left;
    }
    EXPECT_EQ(left, 2);
  }
}

TEST(Deadlines, ForeverIsNeverDue) {
  Deadlines deadlines({kForever, 1, 1, 1, 1, 1});
  DeadlineNode node;
  deadlines.arm(node, DeadlineKind::idle, 5);
  EXPECT_EQ(deadlines.due(1'000'000'000'000), nullptr);
  EXPECT_EQ(deadlines.next(), kForever);
}

}  // namespace
}  // namespace larder::http
