// The enumerable capability: sweep() visits and removes.
#include <map>
#include <set>

#include "cases.h"

namespace larder::testing {
namespace {

class ConformanceSweep : public CacheCase {
 protected:
  static constexpr std::size_t kKeys = 500;
  static constexpr std::size_t kBudget = 64;
  /// More calls than a sweep over all keys needs: where it stops for ever, a case fails.
  static constexpr std::size_t kCalls = 10 * kKeys;

  void SetUp() override {
    for (std::size_t i = 0; i < kKeys; ++i) put("key " + std::to_string(i));
  }
  /// How often each key was visited; `expendable` decides by key.
  std::map<std::string, int> sweepAll(const std::function<bool(std::string_view)>& expendable) {
    std::map<std::string, int> visited;
    std::size_t calls = 0;
    while (cache->sweep(
        [&](const CacheEntry& entry) {
          ++visited[std::string(entry.key())];
          return expendable(entry.key());
        },
        kBudget)) {
      if (++calls == kCalls) {
        ADD_FAILURE() << "the sweep does not end";
        break;
      }
    }
    return visited;
  }
  static bool never(std::string_view) { return false; }
};
LARDER_OPTIONAL_SUITE(ConformanceSweep,
                      variantsIf(currentSubject()->plugin().can(LARDER_ENUMERABLE) &&
                                 !currentSubject()->isByteCache()));

TEST_P(ConformanceSweep, VisitsEveryEntryOnce) {
  const auto visited = sweepAll(never);
  EXPECT_EQ(visited.size(), kKeys);
  for (const auto& [key, times] : visited) EXPECT_EQ(times, 1) << key;
}

TEST_P(ConformanceSweep, StartsAnewAfterTheEnd) {
  sweepAll(never);
  EXPECT_EQ(sweepAll(never).size(), kKeys);
}

TEST_P(ConformanceSweep, KeepsToItsBudget) {
  std::size_t visited = 0;
  const bool more = cache->sweep(
      [&](const CacheEntry&) {
        ++visited;
        return false;
      },
      kBudget);
  EXPECT_TRUE(more);
  EXPECT_LE(visited, kBudget);
}

TEST_P(ConformanceSweep, RemovesWhatIsExpendableAndNothingElse) {
  const auto isOdd = [](std::string_view key) { return (key.back() - '0') % 2 != 0; };
  sweepAll(isOdd);
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string key = "key " + std::to_string(i);
    EXPECT_EQ(get(key).status, isOdd(key) ? Status::miss : Status::hit) << key;
  }
}

TEST_P(ConformanceSweep, Semantics17_WhatSomebodyHoldsOutlivesTheSweep) {
  Lookup lookup = get("key 7");
  ASSERT_TRUE(isHit(lookup));
  const EntryRef held = std::move(lookup.entry);
  sweepAll([](std::string_view) { return true; });
  EXPECT_EQ(held->value.document().root().text(), "key 7");
}

TEST_P(ConformanceSweep, AnEmptyCacheEndsAtOnce) {
  sweepAll([](std::string_view) { return true; });
  EXPECT_TRUE(sweepAll(never).empty());
}

TEST_P(ConformanceSweep, TheCacheCanBeUsedFromWithinASweep) {
  sweepAll([&](std::string_view key) {
    EXPECT_TRUE(isHit(get(key)));
    put("from within", textValue("x"));
    return false;
  });
  EXPECT_TRUE(isHit(get("from within")));
}

}  // namespace
}  // namespace larder::testing
