#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

class RamExpiry : public RamCacheTest {
 protected:
  void putUntil(std::string_view key, Millis fresh, Millis stale, Millis error,
                std::weak_ptr<const void>* watch = nullptr) {
    auto made = entry(key, 100, watch);
    made->lifetime = {clock_.monotonic(), fresh, stale, error};
    put(std::move(made));
  }
  Millis in(Millis ms) { return clock_.monotonic() + ms; }
};

TEST_F(RamExpiry, EntryIsFoundUntilTheLastInstantOfItsUse) {
  open();
  putUntil("a", in(100), in(200), in(300));
  clock_.advance(300);
  EXPECT_TRUE(has("a"));
}

TEST_F(RamExpiry, EntryPastItsWholeLifetimeIsACountedMiss) {
  open();
  putUntil("a", in(100), in(200), in(300));
  clock_.advance(301);
  EXPECT_EQ(get("a").reason, Reason::expired);
  EXPECT_EQ(stat("misses_expired"), 1U);
}

TEST_F(RamExpiry, ForeverDoesNotEnd) {
  open();
  putUntil("a", kForever, kForever, kForever);
  clock_.advance(Millis{1} << 40);
  runSweep();
  EXPECT_TRUE(has("a"));
}

TEST_F(RamExpiry, Semantics12_WallClockJumpsChangeNothing) {
  open();
  putUntil("a", in(100'000), in(100'000), in(100'000));
  clock_.jumpWall(3'600'000);
  EXPECT_TRUE(has("a"));
  clock_.advance(100'001);
  clock_.jumpWall(-7'200'000);
  EXPECT_FALSE(has("a"));
}

TEST_F(RamExpiry, ExpiredEntriesAreFreedThoughNothingIsStoredAnyMore) {
  open();
  std::weak_ptr<const void> watch;
  putUntil("a", in(100), in(100), in(100), &watch);
  runSweep();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(stat("expired"), 1U);
}

TEST_F(RamExpiry, BackgroundSweepLeavesWhatIsOfUse) {
  open();
  put("a");
  runSweep();
  EXPECT_TRUE(has("a"));
}

TEST_F(RamExpiry, BackgroundSweepGoesOnForEver) {
  open();
  for (int round = 0; round < 5; ++round) {
    putUntil("a", in(100), in(100), in(100));
    runSweep();
    ASSERT_EQ(stat("entries"), 0U) << round;
  }
}

TEST_F(RamExpiry, ManyExpireInOneSweep) {
  open();
  for (int i = 0; i < 40'000; ++i) {
    const auto key = "key " + std::to_string(i);
    putUntil(key, in(100), in(100), in(100));
  }
  runSweep();
  EXPECT_EQ(stat("entries"), 0U);
}

TEST_F(RamExpiry, SweepIsAskedForAgainAfterTheExecutorRefusedIt) {
  executor_.refuse(true);
  open();
  executor_.refuse(false);
  putUntil("a", in(100), in(100), in(100));
  runSweep();
  EXPECT_EQ(stat("entries"), 0U);
}

TEST_F(RamExpiry, IntervalOfZeroAsksForNoSweep) {
  open({{"cleanup_interval", std::int64_t{0}}});
  put("a");
  EXPECT_EQ(executor_.timers(), 0U);
}

TEST_F(RamExpiry, NothingRunsAfterTheCacheHasGone) {
  open();
  cache_.reset();
  clock_.advance(60'000);
  executor_.runAll();
  EXPECT_EQ(executor_.timers(), 0U);
}

}  // namespace
}  // namespace larder::ram
