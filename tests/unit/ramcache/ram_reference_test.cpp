#include <thread>
#include <vector>

#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

class RamReference : public RamCacheTest {
 protected:
  /// Stores "a" and takes a reference to it.
  EntryRef pin() {
    put(entry("a", 1 << 20, &watch_));
    return get("a").entry;
  }
  std::weak_ptr<const void> watch_;
};

TEST_F(RamReference, KeepsAnErasedEntry) {
  open();
  const auto pinned = pin();
  erase("a");
  EXPECT_FALSE(has("a"));
  EXPECT_FALSE(watch_.expired());
}

TEST_F(RamReference, KeepsAReplacedEntry) {
  open();
  const auto pinned = pin();
  put("a");
  EXPECT_FALSE(watch_.expired());
}

TEST_F(RamReference, KeepsAnEvictedEntry) {
  open({{"max_entries", std::int64_t{1}}});
  const auto pinned = pin();
  for (int i = 0; i < 100; ++i) put("key " + std::to_string(i));
  EXPECT_FALSE(has("a"));
  EXPECT_FALSE(watch_.expired());
}

TEST_F(RamReference, KeepsAClearedEntry) {
  open();
  const auto pinned = pin();
  clear();
  EXPECT_FALSE(watch_.expired());
}

TEST_F(RamReference, EndOfTheLastOneLetsTheSweepFreeTheEntry) {
  open();
  {
    const auto pinned = pin();
    erase("a");
  }
  runSweep();
  EXPECT_TRUE(watch_.expired());
}

TEST_F(RamReference, OutlivesTheCache) {
  open();
  auto pinned = pin();
  cache_.reset();
  EXPECT_EQ(pinned->key(), "a");
  EXPECT_FALSE(watch_.expired());
}

TEST_F(RamReference, OfACacheThatHasGoneIsFreedByAnother) {
  open();
  {
    const auto pinned = pin();
    cache_.reset();
  }
  open();
  runSweep();
  EXPECT_TRUE(watch_.expired());
}

TEST_F(RamReference, SharedOneOutlivesTheCache) {
  open();
  EntryPtr shared = pin().share();
  cache_.reset();
  EXPECT_EQ(shared->key(), "a");
}

TEST_F(RamReference, OneThreadHoldsAsManyAsItLikes) {
  open();
  std::vector<EntryRef> pinned;
  for (int i = 0; i < 100; ++i) {
    put("key " + std::to_string(i));
    pinned.push_back(get("key " + std::to_string(i)).entry);
  }
  cache_.reset();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(pinned[static_cast<std::size_t>(i)]->key(), "key " + std::to_string(i));
}

TEST_F(RamReference, MadeDurableOneMayEndOnAnotherThread) {
  open();
  auto pinned = pin();
  pinned.makeDurable();
  std::thread([moved = std::move(pinned)]() mutable { moved = EntryRef(); }).join();
  erase("a");
  EXPECT_TRUE(watch_.expired());
}

TEST_F(RamReference, HazardRecordsAreUsedAgainByLaterThreads) {
  std::uint32_t highest = 0;
  for (int i = 0; i < 200; ++i)
    std::thread([&] { highest = std::max(highest, myRecord()->index); }).join();
  EXPECT_LT(highest, 200U);
}

TEST_F(RamReference, RecordOfAnEndedThreadStaysItsOwnWhileAReferenceIsHeld) {
  open();
  put("a");
  EntryRef kept;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::thread([&] {
    first = myRecord()->index;
    kept = get("a").entry;
  }).join();
  std::thread([&] { second = myRecord()->index; }).join();
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace larder::ram
