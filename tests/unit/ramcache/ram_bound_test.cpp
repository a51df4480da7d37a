#include <random>

#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

class RamBound : public RamCacheTest {};

TEST_F(RamBound, BytesNeverExceedTheLimit) {
  constexpr std::size_t kLimit = 1 << 20;
  open({{"max_size", std::int64_t{kLimit}}});
  std::minstd_rand random(1);
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    put("key " + std::to_string(random() % 5'000), random() % 20'000);
    most = std::max<std::size_t>(most, stat("bytes"));
  }
  EXPECT_LE(most, kLimit);
  EXPECT_GE(most, kLimit * 9 / 10);
}

TEST_F(RamBound, EntriesNeverExceedTheLimit) {
  open({{"max_entries", std::int64_t{100}}});
  std::size_t most = 0;
  for (int i = 0; i < 1'000; ++i) {
    put("key " + std::to_string(i));
    most = std::max<std::size_t>(most, stat("entries"));
  }
  EXPECT_EQ(most, 100U);
}

// Zope's RAMCache kept all unread entries until its clean-up, then none.
TEST_F(RamBound, UnreadEntriesOverTheLimitGoOneByOne) {
  open({{"max_entries", std::int64_t{3}}});
  for (int i = 0; i < 10; ++i) put("key " + std::to_string(i));
  EXPECT_EQ(stat("entries"), 3U);
  EXPECT_EQ(stat("evictions"), 7U);
}

TEST_F(RamBound, LimitOfOneEntryKeepsTheLast) {
  open({{"max_entries", std::int64_t{1}}});
  put("a");
  put("b");
  EXPECT_TRUE(has("b"));
  EXPECT_EQ(stat("entries"), 1U);
}

TEST_F(RamBound, OneLargeEntryPushesOutManySmallOnes) {
  open({{"max_size", std::int64_t{1 << 20}}});
  for (int i = 0; i < 2'000; ++i) put("key " + std::to_string(i), 100);
  put("large", 60'000);
  EXPECT_LE(stat("bytes"), 1U << 20U);
  EXPECT_TRUE(has("large"));
}

TEST_F(RamBound, WhatIsRemovedIsFreedAtOnce) {
  open({{"max_entries", std::int64_t{1}}});
  std::weak_ptr<const void> replaced;
  std::weak_ptr<const void> evicted;
  std::weak_ptr<const void> erased;
  put(entry("a", 100, &replaced));
  put(entry("a", 100, &evicted));
  EXPECT_TRUE(replaced.expired());
  put(entry("b", 100, &erased));
  EXPECT_TRUE(evicted.expired());
  erase("b");
  EXPECT_TRUE(erased.expired());
}

TEST_F(RamBound, EachPolicyKeepsWithinTheLimit) {
  for (const auto policy : kPolicies) {
    open({{"policy", std::string(policy)}, {"max_entries", std::int64_t{50}}});
    for (int i = 0; i < 1'000; ++i) {
      put("key " + std::to_string(i));
      get("key " + std::to_string(i / 2));
    }
    EXPECT_EQ(stat("entries"), 50U) << policy;
  }
}

TEST_F(RamBound, HotEntriesOutliveAFloodOfKeysUsedOnce) {
  open({{"max_entries", std::int64_t{1'000}}});
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) {
    put("flood " + std::to_string(i));
    if (i % 50 != 0) continue;
    const auto hot = "hot " + std::to_string(i / 50 % 10);
    if (has(hot)) {
      ++hits;
    } else {
      put(hot);
    }
  }
  EXPECT_GE(hits, 1'900) << "of 2000";
}

TEST_F(RamBound, DearEntriesOutliveCheapOnesThatAreUsedAsOften) {
  open({{"max_entries", std::int64_t{1'000}}});
  const auto putCosting = [this](const std::string& key, std::uint32_t cost_us) {
    auto made = entry(key);
    made->cost_us = cost_us;
    put(std::move(made));
  };
  for (int i = 0; i < 500; ++i) putCosting("dear " + std::to_string(i), 500'000);
  for (int i = 0; i < 2'000; ++i) {
    putCosting("cheap " + std::to_string(i), 50);
    get("cheap " + std::to_string(i));
  }
  int dear = 0;
  for (int i = 0; i < 500; ++i) dear += has("dear " + std::to_string(i));
  EXPECT_GE(dear, 450);
}

class RamShares : public RamCacheTest {
 protected:
  void putIn(std::uint32_t partition, const std::string& text) {
    const CacheKey key{text, digestOf(text), partition};
    auto made = CacheEntry::make(key);
    made->lifetime = {0, kForever, kForever, kForever};
    cache_->put(key, EntryPtr(std::move(made)), kNoDeadline);
  }
  std::size_t count(std::uint32_t partition) {
    std::size_t n = 0;
    while (cache_->sweep(
        [&](const CacheEntry& e) {
          n += e.partition == partition;
          return false;
        },
        1'000)) {
    }
    return n;
  }
};

TEST_F(RamShares, LargestShareKeepsAViewThatIsReadMuchFromTakingAll) {
  for (const auto policy : kPolicies) {
    open({{"policy", std::string(policy)},
          {"max_entries", std::int64_t{400}},
          {"max_share", std::int64_t{30}}});
    for (unsigned i = 0; i < 400; ++i) putIn(10 + i % 4, "quiet " + std::to_string(i));
    for (int i = 0; i < 400; ++i) get("quiet " + std::to_string(i));
    for (int i = 0; i < 4'000; ++i) {
      putIn(2, "busy " + std::to_string(i));
      get("busy " + std::to_string(i));
    }
    EXPECT_LE(count(2), 400U * 35 / 100) << policy;
    EXPECT_EQ(stat("entries"), 400U) << policy;
  }
}

TEST_F(RamShares, SmallestShareKeepsAViewThatIsReadSeldom) {
  for (const auto policy : kPolicies) {
    open({{"policy", std::string(policy)},
          {"max_entries", std::int64_t{400}},
          {"min_share", std::int64_t{20}}});
    for (int i = 0; i < 80; ++i) putIn(1, "seldom " + std::to_string(i));
    for (int i = 0; i < 4'000; ++i) putIn(2, "flood " + std::to_string(i));
    EXPECT_GE(count(1), 70U) << policy;
  }
}

TEST_F(RamShares, SpaceThatNobodyElseWantsIsUsedWhateverTheShare) {
  open({{"max_entries", std::int64_t{400}}, {"max_share", std::int64_t{30}}});
  for (int i = 0; i < 400; ++i) putIn(1, "only " + std::to_string(i));
  EXPECT_EQ(count(1), 400U);
}

TEST(Shares, OneOfSeveralThatAreOverIsStillKnownWhenAnotherNoLongerIs) {
  Shares shares(0, 0.3);
  for (const std::uint32_t partition : {1U, 2U, 3U, 4U}) shares.prepare(partition);
  const auto take = [&](std::uint32_t partition, std::size_t bytes) {
    shares.add(partition, -bytes);
  };
  shares.add(1, 45);
  shares.add(2, 55);
  take(2, 40);
  EXPECT_FALSE(shares.isOver(2));
  EXPECT_TRUE(shares.isOver(1));
  EXPECT_TRUE(shares.isAnyOver());
  shares.add(2, 10);
  shares.add(3, 25);
  take(1, 20);
  EXPECT_TRUE(shares.isAnyOver());
  shares.add(4, 25);
  EXPECT_FALSE(shares.isAnyOver());
}

TEST_F(RamShares, SmallestMustNotExceedLargest) {
  EXPECT_THROW(open({{"min_share", std::int64_t{50}}, {"max_share", std::int64_t{40}}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace larder::ram
