// The small parts: breaker, latency, expiry, ring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "breaker.h"
#include "commands.h"
#include "latency.h"
#include "ring.h"

namespace larder::memcached {
namespace {

TEST(Breaker, OpensAfterFailuresInARow) {
  Breaker breaker(2, 500, 5000);
  EXPECT_FALSE(breaker.failed());
  breaker.succeeded();
  EXPECT_FALSE(breaker.failed());
  EXPECT_FALSE(breaker.isOpen());
  EXPECT_TRUE(breaker.failed());
  EXPECT_TRUE(breaker.isOpen());
}

TEST(Breaker, OnlyOneFailureOpensIt) {
  Breaker breaker(1, 500, 5000);
  EXPECT_TRUE(breaker.failed());
  EXPECT_FALSE(breaker.failed());
}

TEST(Breaker, ALateSuccessDoesNotCloseIt) {
  Breaker breaker(1, 500, 5000);
  (void)breaker.failed();
  breaker.succeeded();
  EXPECT_TRUE(breaker.isOpen());
  breaker.close();
  EXPECT_FALSE(breaker.isOpen());
}

TEST(Breaker, Semantics27_ProbesAtGrowingUnevenCappedIntervals) {
  for (const std::uint32_t dice : {0u, 20u, 4294967295u}) {
    Breaker breaker(1, 500, 5000);
    (void)breaker.failed();
    Millis whole = 500;
    for (int i = 0; i < 40; ++i) {
      const Millis wait = breaker.nextProbe(dice);
      EXPECT_GE(wait, whole * 3 / 4);
      EXPECT_LT(wait, whole);
      whole = std::min<Millis>(2 * whole, 5000);
    }
  }
}

TEST(Breaker, BeginsWithShortIntervalsAgainWhenItOpensAgain) {
  Breaker breaker(1, 500, 5000);
  (void)breaker.failed();
  for (int i = 0; i < 10; ++i) (void)breaker.nextProbe(0);
  breaker.close();
  (void)breaker.failed();
  EXPECT_EQ(breaker.nextProbe(0), 475);
}

TEST(Latency, IsExactBelowSixteenMicroseconds) {
  Latency latency;
  for (int us = 1; us <= 10; ++us) latency.add(std::chrono::microseconds(us));
  EXPECT_EQ(latency.percentile(50), 5u);
  EXPECT_EQ(latency.percentile(99), 10u);
}

TEST(Latency, IsAtMostAFifthTooHighAbove) {
  for (std::uint64_t us = 16; us < 10'000'000; us = us * 17 / 16 + 1) {
    Latency latency;
    latency.add(std::chrono::microseconds(us));
    EXPECT_GE(latency.percentile(50), us);
    EXPECT_LE(latency.percentile(50), us + us / 4);
  }
}

TEST(Latency, HasAnAnswerWithoutEntriesAndForVeryLongOnes) {
  Latency latency;
  EXPECT_EQ(latency.percentile(99), 0u);
  latency.add(std::chrono::hours(1000));
  EXPECT_GT(latency.percentile(99), 10'000'000u);
}

constexpr Millis kDay = 86'400'000;
constexpr Millis kWall = 1'700'000'000'500;

TEST(Expiry, Semantics11_RoundsUpAndIsNeverZero) {
  EXPECT_EQ(expiryFor(1, kWall), 1);
  EXPECT_EQ(expiryFor(400, kWall), 1);
  EXPECT_EQ(expiryFor(1000, kWall), 1);
  EXPECT_EQ(expiryFor(1001, kWall), 2);
}

TEST(Expiry, FaultA30_IsAPointInTimeFromThirtyDaysOn) {
  EXPECT_EQ(expiryFor(29 * kDay, kWall), 29 * 86'400);
  for (const Millis days : {30, 31, 3650}) {
    EXPECT_EQ(expiryFor(days * kDay, kWall), 1'700'000'001 + days * 86'400);
  }
}

TEST(Expiry, ForEverAndWhatMemcachedCannotHoldHaveNone) {
  EXPECT_EQ(expiryFor(kForever, kWall), 0);
  EXPECT_EQ(expiryFor(36'500 * kDay, kWall), 0);
  EXPECT_EQ(expiryFor(kForever - 1, kWall), 0);
}

std::vector<Endpoint> endpoints(std::vector<std::string> texts) {
  std::vector<Endpoint> all;
  for (const auto& text : texts) all.push_back(endpointOf(*parseServer(text)));
  return all;
}

std::string keyOf(int i) {
  return "larder:key-" + std::to_string(i);
}

TEST(Ring, SharesKeysByWeight) {
  const Ring ring(endpoints({"127.0.0.1:11211?1", "[::1]:11212?3", "/run/mc.sock?1"}));
  std::map<std::size_t, int> keys;
  for (int i = 0; i < 20'000; ++i) ++keys[ring.serverOf(keyOf(i))];
  EXPECT_NEAR(keys[0], 4000, 1200);
  EXPECT_NEAR(keys[1], 12000, 1500);
  EXPECT_NEAR(keys[2], 4000, 1200);
}

TEST(Ring, AServerThatGoesMovesOnlyItsOwnKeys) {
  const Ring all(endpoints({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"}));
  const Ring fewer(endpoints({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}));
  int moved = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto before = all.serverOf(keyOf(i));
    if (before != 3 && fewer.serverOf(keyOf(i)) != before) ++moved;
  }
  EXPECT_LT(moved, 200);
}

TEST(Ring, IsTheSameWhereverAServerIs) {
  auto servers = endpoints({"localhost:1", "no-such-host.invalid:2"});
  const Ring before(servers);
  for (Endpoint& server : servers) server = resolved(server);
  const Ring after(servers);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(before.serverOf(keyOf(i)), after.serverOf(keyOf(i)));
}

TEST(Ring, OneServerHasAllKeys) {
  const Ring ring(endpoints({"127.0.0.1:11211"}));
  EXPECT_EQ(ring.serverOf("any"), 0u);
}

}  // namespace
}  // namespace larder::memcached
