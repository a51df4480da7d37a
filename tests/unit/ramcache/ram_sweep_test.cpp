#include <set>

#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

class RamSweep : public RamCacheTest {
 protected:
  void fill(int count) {
    for (int i = 0; i < count; ++i) put("key " + std::to_string(i));
  }
};

TEST_F(RamSweep, VisitsAtMostItsBudget) {
  open();
  fill(1'000);
  int visited = 0;
  EXPECT_TRUE(cache_->sweep(
      [&](const CacheEntry&) {
        ++visited;
        return false;
      },
      100));
  EXPECT_EQ(visited, 100);
}

TEST_F(RamSweep, VisitsEveryEntryOnceInARound) {
  open();
  fill(1'000);
  std::multiset<std::string> seen;
  const auto note = [&](const CacheEntry& e) {
    seen.emplace(e.key());
    return false;
  };
  while (cache_->sweep(note, 77)) {
  }
  EXPECT_EQ(seen.size(), 1'000U);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 1'000U);
}

TEST_F(RamSweep, StartsAnewAfterTheEnd) {
  open();
  fill(10);
  int visited = 0;
  const auto count = [&](const CacheEntry&) {
    ++visited;
    return false;
  };
  EXPECT_FALSE(cache_->sweep(count, 1'000));
  EXPECT_FALSE(cache_->sweep(count, 1'000));
  EXPECT_EQ(visited, 20);
}

TEST_F(RamSweep, RemovesTheExpendableOnly) {
  open();
  fill(1'000);
  while (cache_->sweep([](const CacheEntry& e) { return e.key().back() == '7'; }, 100)) {
  }
  EXPECT_EQ(stat("entries"), 900U);
  EXPECT_FALSE(has("key 17"));
  EXPECT_TRUE(has("key 18"));
}

TEST_F(RamSweep, EmptyCacheEndsAtOnce) {
  open();
  EXPECT_FALSE(cache_->sweep([](const CacheEntry&) { return true; }, 10));
}

TEST_F(RamSweep, AsksWithoutALock) {
  open({{"shards", std::int64_t{1}}});
  fill(10);
  EXPECT_FALSE(cache_->sweep(
      [&](const CacheEntry& e) {
        put("new " + std::string(e.key()));
        erase(e.key());
        return true;
      },
      10'000));
  EXPECT_FALSE(has("key 1"));
}

TEST_F(RamSweep, DoesNotRemoveWhatHasReplacedTheExpendable) {
  open();
  put("a", 10);
  cache_->sweep(
      [&](const CacheEntry&) {
        put("a", 20);
        return true;
      },
      1);
  EXPECT_TRUE(has("a"));
}

}  // namespace
}  // namespace larder::ram
