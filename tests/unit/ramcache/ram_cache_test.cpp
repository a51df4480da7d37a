#include <vector>

#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

class RamCache : public RamCacheTest {};

TEST_F(RamCache, FindsWhatWasStored) {
  open();
  put("a");
  const auto found = get("a");
  ASSERT_EQ(found.status, Status::hit);
  EXPECT_EQ(found.entry->key(), "a");
}

TEST_F(RamCache, UnknownKeyIsAColdMiss) {
  open();
  EXPECT_EQ(get("a").reason, Reason::cold);
}

TEST_F(RamCache, HandsOutTheStoredEntryItself) {
  open();
  auto made = entry("a");
  const CacheEntry* stored = made.get();
  put(std::move(made));
  EXPECT_EQ(get("a").entry.get(), stored);
}

TEST_F(RamCache, ReplacesTheEntryOfAKey) {
  open();
  put("a", 10);
  put("a", 20);
  EXPECT_EQ(get("a").entry->value.document().root().text().size(), 20U);
}

TEST_F(RamCache, ReplacedEntriesAreFreedInBoundedBatches) {
  open();
  std::vector<std::weak_ptr<const void>> watches(1000);
  for (auto& watch : watches) put(entry("a", 100, &watch));
  const auto alive =
      std::count_if(watches.begin(), watches.end(), [](const auto& w) { return !w.expired(); });
  EXPECT_LE(alive, 65);
}

TEST_F(RamCache, ReplacedLargeEntryIsFreedAtOnce) {
  open();
  std::weak_ptr<const void> watch;
  put(entry("a", 1 << 20, &watch));
  put("a");
  EXPECT_TRUE(watch.expired());
}

TEST_F(RamCache, ErasedKeyIsAMiss) {
  open();
  put("a");
  erase("a");
  EXPECT_FALSE(has("a"));
}

TEST_F(RamCache, ErasingAnUnknownKeySucceeds) {
  open();
  EXPECT_TRUE(cache_->erase(keyOf("a"), kNoDeadline).ok);
}

TEST_F(RamCache, ClearFreesEverything) {
  open();
  std::vector<std::weak_ptr<const void>> watches(500);
  for (std::size_t i = 0; i < watches.size(); ++i)
    put(entry("key " + std::to_string(i), 100, &watches[i]));
  clear();
  EXPECT_TRUE(
      std::all_of(watches.begin(), watches.end(), [](const auto& w) { return w.expired(); }));
}

TEST_F(RamCache, ClearLeavesNoBytesAccountedButTheEmptyIndex) {
  open();
  const auto empty = stat("bytes");
  for (int i = 0; i < 5000; ++i) put("key " + std::to_string(i));
  clear();
  EXPECT_EQ(stat("bytes"), empty);
}

TEST_F(RamCache, ClearedCacheTakesEntriesAgain) {
  open();
  put("a");
  clear();
  put("a");
  EXPECT_TRUE(has("a"));
}

TEST_F(RamCache, KeepsAllWhileItGrows) {
  open({{"max_size", std::int64_t{1} << 30}});
  for (int i = 0; i < 50'000; ++i) put("key " + std::to_string(i));
  int found = 0;
  for (int i = 0; i < 50'000; ++i) found += has("key " + std::to_string(i));
  EXPECT_EQ(found, 50'000);
}

TEST_F(RamCache, EndlessChurnKeepsTheIndexSmall) {
  open();
  for (int i = 0; i < 100'000; ++i) {
    put("key " + std::to_string(i));
    erase("key " + std::to_string(i));
  }
  EXPECT_LE(stat("index_bytes"), 64U << 10U);
}

TEST_F(RamCache, GetManyAnswersInOrder) {
  open();
  put("a");
  put("c");
  const std::array keys{keyOf("a"), keyOf("b"), keyOf("c")};
  std::array<Lookup, 3> out;
  cache_->getMany(keys, out, kNoDeadline);
  EXPECT_EQ(out[0].status, Status::hit);
  EXPECT_EQ(out[1].status, Status::miss);
  EXPECT_EQ(out[2].entry->key(), "c");
}

TEST_F(RamCache, Semantics04_SameDigestWithOtherKeyBytesIsACountedMiss) {
  open();
  put("a");
  const CacheKey forged{"b", digestOf("a"), 0};
  EXPECT_EQ(cache_->get(forged, kNoDeadline).reason, Reason::other_key);
  EXPECT_EQ(stat("misses_other_key"), 1U);
}

TEST_F(RamCache, Semantics04_ErasingAKeyOfTheSameDigestLeavesTheOther) {
  open();
  put("a");
  cache_->erase({"b", digestOf("a"), 0}, kNoDeadline);
  EXPECT_TRUE(has("a"));
}

TEST_F(RamCache, Semantics15_TooLargeAnEntryIsRefusedAndCounted) {
  open({{"max_entry_size", std::int64_t{10'000}}});
  EXPECT_EQ(put("a", 20'000).reason, Reason::too_large);
  EXPECT_EQ(stat("too_large"), 1U);
}

TEST_F(RamCache, Semantics15_RefusedEntryLeavesNoOlderOneBehind) {
  open({{"max_entry_size", std::int64_t{10'000}}});
  put("a");
  put("a", 20'000);
  EXPECT_FALSE(has("a"));
}

TEST_F(RamCache, RefusesByDefaultWhatTakesASixteenthOfTheCache) {
  open({{"max_size", std::int64_t{1'600'000}}});
  EXPECT_FALSE(put("a", 100'000).ok);
  EXPECT_TRUE(put("b", 99'000).ok);
}

TEST_F(RamCache, LedgerL24_LatePutLeavesTheNewerEntry) {
  open();
  auto newer = entry("a", 20);
  newer->stamp.as_of = 7;
  put(std::move(newer));
  auto late = entry("a", 10);
  late->stamp.as_of = 6;
  EXPECT_EQ(put(std::move(late)).reason, Reason::exists);
  EXPECT_EQ(get("a").entry->value.document().root().text().size(), 20U);
}

TEST_F(RamCache, LedgerL09_AsOfOfAnotherEraDoesNotMakeAPutLate) {
  open();
  auto old = entry("a", 20);
  old->stamp = {.as_of = 1000, .era = 1};
  put(std::move(old));
  auto fresh = entry("a", 10);
  fresh->stamp = {.as_of = 5, .era = 2};
  EXPECT_TRUE(put(std::move(fresh)).ok);
}

TEST_F(RamCache, ExpiredNewerEntryDoesNotMakeAPutLate) {
  open();
  auto old = entry("a", 20);
  old->stamp.as_of = 7;
  put(std::move(old));
  clock_.advance(3'700'000);
  EXPECT_TRUE(put("a").ok);
}

TEST_F(RamCache, CountsHitsAndMissesButNotStores) {
  open();
  get("a");
  put("a");
  get("a");
  get("a");
  EXPECT_EQ(stat("hits"), 2U);
  EXPECT_EQ(stat("misses"), 1U);
  EXPECT_EQ(stat("stores"), 1U);
}

TEST_F(RamCache, UnknownPolicyIsRefusedByName) {
  try {
    open({{"policy", std::string("lru")}});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string_view(e.what()).find("lru"), std::string_view::npos);
  }
}

TEST_F(RamCache, ShardsMustBeAPowerOfTwo) {
  EXPECT_THROW(open({{"shards", std::int64_t{3}}}), std::invalid_argument);
}

TEST_F(RamCache, NegativeLimitsAreRefused) {
  EXPECT_THROW(open({{"max_entries", std::int64_t{-1}}}), std::invalid_argument);
}

}  // namespace
}  // namespace larder::ram
