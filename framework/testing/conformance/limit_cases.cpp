// What a cache does at its limits: entries that are too large, and a cache that is full.
#include "cases.h"

namespace larder::testing {
namespace {

constexpr std::size_t kEntryLimit = 65'536;

class ConformanceEntryLimit : public CacheCase {
 protected:
  Stored putPage(std::size_t size) {
    const CacheKey key = keyOf("key");
    EntryPtr entry(makeEntry(key, noisePage(size, 1), world.clock()));
    return limited->put(key, std::move(entry), world.soon());
  }
  std::shared_ptr<Cache> limited{world.cacheOfEntriesUpTo(kEntryLimit)};
};
LARDER_OPTIONAL_SUITE(ConformanceEntryLimit,
                      variantsIf(currentSubject()->hasSetting("max_entry_size")));

TEST_P(ConformanceEntryLimit, Semantics15_AnEntryOverTheLimitIsRefused) {
  const Stored stored = putPage(kEntryLimit + 1);
  EXPECT_FALSE(stored.ok);
  EXPECT_EQ(stored.reason, Reason::too_large);
}

TEST_P(ConformanceEntryLimit, Semantics15_ARefusedEntryLeavesNoOlderOneBehind) {
  put(*limited, "key", textValue("small"));
  putPage(kEntryLimit + 1);
  EXPECT_TRUE(isMiss(get(*limited, "key")));
}

TEST_P(ConformanceEntryLimit, AnEntryBelowTheLimitIsStored) {
  EXPECT_TRUE(isStored(putPage(kEntryLimit / 2)));
  EXPECT_TRUE(isHit(get(*limited, "key")));
}

TEST_P(ConformanceEntryLimit, TakesASmallOneAfterARefusal) {
  putPage(kEntryLimit + 1);
  put(*limited, "key", textValue("small"));
  EXPECT_TRUE(isHit(get(*limited, "key")));
}

/// Fills a cache of about a megabyte with four.
class ConformanceEviction : public CacheCase {
 protected:
  static constexpr std::size_t kPage = 8192;
  static constexpr std::size_t kPages = 512;

  static std::string fillKey(std::size_t i) { return "fill " + std::to_string(i); }
  void fill(std::size_t page_size = kPage) {
    for (std::size_t i = 0; i < kPages; ++i) offer(fillKey(i), noisePage(page_size, i));
  }
  /// A cache may refuse to admit an entry while it is full.
  void offer(std::string_view key, const Page& page) {
    small->put(keyOf(key), EntryPtr(makeEntry(keyOf(key), page, world.clock())), world.soon());
  }
  /// After fill(): some pages are found, as they were put, and not all.
  void expectAFullCache() {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < kPages; ++i) {
      const std::string key = fillKey(i);
      const Lookup lookup = get(*small, key);
      if (lookup.status != Status::hit) continue;
      ++hits;
      EXPECT_EQ(lookup.entry->key(), key);
      EXPECT_EQ(lookup.entry->value.page()->body, noisePage(kPage, i).body) << key;
    }
    EXPECT_GT(hits, 0u) << "it holds something";
    EXPECT_LT(hits, kPages) << "it does not hold four times its size";
  }
  std::shared_ptr<Cache> small{world.smallCache()};
};
LARDER_OPTIONAL_SUITE(ConformanceEviction, variantsIf(currentSubject()->canBeSmall()));

TEST_P(ConformanceEviction, AFullCacheMakesRoom) {
  fill();
  expectAFullCache();
}

TEST_P(ConformanceEviction, EntriesReplacedByLargerOnesFillItToo) {
  fill(16);
  fill();
  expectAFullCache();
}

TEST_P(ConformanceEviction, ReplacedEntriesTakeNoRoom) {
  constexpr std::size_t kBeside = 32;
  const auto besideKey = [](std::size_t i) { return "beside " + std::to_string(i); };
  for (std::size_t i = 0; i < kBeside; ++i) put(*small, besideKey(i), textValue("x"));
  for (std::size_t i = 0; i < kPages; ++i) {
    offer("key", noisePage(kPage, i));
    offer("key", noisePage(16, i));
  }
  std::size_t hits = 0;
  for (std::size_t i = 0; i < kBeside; ++i) hits += isHit(get(*small, besideKey(i))) ? 1U : 0U;
  EXPECT_GT(hits, kBeside / 2) << "what one key had before displaces no other keys";
}

TEST_P(ConformanceEviction, Semantics17_WhatSomebodyHoldsSurvivesEviction) {
  const EntryPtr expected = put(*small, "held", noisePage(kPage, 4711));
  Lookup lookup = get(*small, "held");
  ASSERT_TRUE(isHit(lookup));
  const EntryRef held = std::move(lookup.entry);
  fill();
  fill();
  EXPECT_TRUE(sameEntry(*expected, *held));
}

TEST_P(ConformanceEviction, AFullCacheStillReplacesAndErases) {
  fill();
  for (int i = 0; i < 10; ++i) {
    const std::string text = "round " + std::to_string(i);
    small->put(keyOf("key"), EntryPtr(makeEntry(keyOf("key"), textValue(text), world.clock())),
               world.soon());
    const Lookup lookup = get(*small, "key");
    if (lookup.status == Status::hit) {
      EXPECT_EQ(lookup.entry->value.document().root().text(), text);
    }
  }
  small->erase(keyOf("key"), world.soon());
  EXPECT_TRUE(isMiss(get(*small, "key")));
}

TEST_P(ConformanceEviction, AClearedCacheHasRoomAgain) {
  fill();
  ASSERT_TRUE(isStored(small->clear(world.soon())));
  put(*small, "key", textValue("x"));
  EXPECT_TRUE(isHit(get(*small, "key")));
}

}  // namespace
}  // namespace larder::testing
