// Many threads on one cache: whatever is found under a key was once put under it, as a whole.
#include <atomic>
#include <barrier>
#include <charconv>
#include <random>
#include <thread>

#include "cases.h"

namespace larder::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 2000;
constexpr int kKeys = 40;

/// A page that says which key it is for and which version it is; its body follows from the version.
Page selfDescribing(std::string_view key, std::uint64_t version) {
  Page page = noisePage(100 + version % 3000, version);
  page.setHeader("X-Key", std::string(key));
  page.setHeader("X-Version", std::to_string(version));
  return page;
}

/// Whether the entry is one that selfDescribing() has made for this key.
bool isWhole(std::string_view key, const CacheEntry& entry) {
  const auto page = entry.value.page();
  if (entry.key() != key || !page) return false;
  const auto named = page->header("X-Key");
  const auto version = page->header("X-Version");
  if (!named || *named != key || !version) return false;
  std::uint64_t number = 0;
  std::from_chars(version->data(), version->data() + version->size(), number);
  return page->body == noisePage(100 + number % 3000, number).body;
}

struct Tally {
  std::atomic<std::uint64_t> hits{0}, wrong{0}, versions{0};
};

void useFromOneThread(Cache& cache, const World& world, unsigned seed, Tally& tally) {
  std::mt19937 random(seed);
  const auto check = [&](std::string_view key, const Lookup& lookup) {
    if (lookup.status != Status::hit) return;
    ++tally.hits;
    if (!lookup.entry || !isWhole(key, *lookup.entry)) ++tally.wrong;
  };
  for (int i = 0; i < kRounds; ++i) {
    const std::string key = "key " + std::to_string(random() % kKeys);
    const unsigned action = random() % 16;
    if (action < 9) {
      check(key, cache.get(keyOf(key), world.soon()));
    } else if (action < 13) {
      auto entry = makeEntry(keyOf(key), selfDescribing(key, ++tally.versions), world.clock());
      cache.put(keyOf(key), EntryPtr(std::move(entry)), world.soon());
    } else if (action < 14) {
      cache.erase(keyOf(key), world.soon());
    } else if (action < 15) {
      const std::string other = "key " + std::to_string(random() % kKeys);
      const CacheKey keys[] = {keyOf(key), keyOf(other)};
      Lookup found[2];
      cache.getMany(keys, found, world.soon());
      check(key, found[0]);
      check(other, found[1]);
    } else if (i % 64 == 0) {
      cache.clear(world.soon());
    } else {
      cache.sweep([](const CacheEntry& entry) { return entry.key().back() == '7'; }, 10);
    }
  }
}

void useFromManyThreads(Cache& cache, const World& world, Tally& tally) {
  runOnThreads(kThreads,
               [&](int i) { useFromOneThread(cache, world, static_cast<unsigned>(i), tally); });
}

using ConformanceThreads = CacheCase;
INSTANTIATE_TEST_SUITE_P(, ConformanceThreads, ::testing::ValuesIn(variantsIf(true)), variantName);

TEST_P(ConformanceThreads, NoThreadSeesAnotherKeysValueOrHalfOfOne) {
  Tally tally;
  useFromManyThreads(*cache, world, tally);
  EXPECT_EQ(tally.wrong, 0u);
  EXPECT_GT(tally.hits, 0u);
}

TEST_P(ConformanceThreads, StatisticsAndHealthCanBeAskedMeanwhile) {
  Tally tally;
  std::atomic<bool> stop{false};
  std::thread asking([&] {
    while (!stop) {
      EXPECT_FALSE(cache->stats().empty());
      static_cast<void>(cache->health());
      std::this_thread::yield();
    }
  });
  useFromManyThreads(*cache, world, tally);
  stop = true;
  asking.join();
  EXPECT_EQ(tally.wrong, 0u);
}

TEST_P(ConformanceThreads, AReferenceMayBeSharedWithAnotherThread) {
  const EntryPtr expected = put("key");
  Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EntryPtr shared = lookup.entry.share();
  lookup = {};
  cache->erase(keyOf("key"), world.soon());
  std::thread reading(
      [&expected, shared = std::move(shared)] { EXPECT_TRUE(sameEntry(*expected, *shared)); });
  reading.join();
}

TEST_P(ConformanceThreads, WhatOneThreadChangesTheOtherSees) {
  const auto putText = [&](std::string_view text) { put("key", textValue(text)); };
  std::atomic<bool> cleared{true};
  const std::vector<std::pair<std::function<void()>, std::string>> steps = {
      {[&] { putText("one"); }, "one"},
      {[&] { putText("two"); }, "two"},
      {[&] { cache->erase(keyOf("key"), world.soon()); }, ""},
      {[&] { putText("three"); }, "three"},
      {[&] { cleared = cache->clear(world.soon()).ok; }, ""}};
  // Each change is made by one of the threads in turn, and looked at by both.
  std::barrier together(2);
  runOnThreads(2, [&](int thread) {
    for (std::size_t i = 0; i < 2 * steps.size(); ++i) {
      const auto& [change, text] = steps[i % steps.size()];
      if (static_cast<int>(i % 2) == thread) change();
      together.arrive_and_wait();
      const Lookup lookup = get("key");
      if (!text.empty()) {
        const bool found = lookup.status == Status::hit;
        EXPECT_EQ(found ? lookup.entry->value.document().root().text() : "a miss", text) << i;
      } else if (cleared) {
        EXPECT_TRUE(isMiss(lookup)) << i;
      }
      together.arrive_and_wait();
    }
  });
}

TEST_P(ConformanceThreads, ThreadsThatComeAndGoLeaveTheCacheWorking) {
  put("key");
  for (int i = 0; i < 200; ++i) {
    std::thread([&] { EXPECT_TRUE(isHit(get("key"))); }).join();
  }
  EXPECT_TRUE(isHit(get("key")));
}

using ConformanceFullThreads = CacheCase;
LARDER_OPTIONAL_SUITE(ConformanceFullThreads, variantsIf(currentSubject()->canBeSmall()));

TEST_P(ConformanceFullThreads, ThreadsThatForceEvictionSeeNoWrongValue) {
  const auto small = world.smallCache();
  Tally tally;
  runOnThreads(kThreads, [&](int i) {
    for (int n = 0; n < 500; ++n) {
      const std::string key = "fill " + std::to_string((i * 37 + n) % 700);
      auto entry = makeEntry(keyOf(key), selfDescribing(key, ++tally.versions), world.clock());
      small->put(keyOf(key), EntryPtr(std::move(entry)), world.soon());
      const Lookup lookup = small->get(keyOf(key), world.soon());
      if (lookup.status != Status::hit) continue;
      ++tally.hits;
      if (!isWhole(key, *lookup.entry)) ++tally.wrong;
    }
  });
  EXPECT_EQ(tally.wrong, 0u);
}

}  // namespace
}  // namespace larder::testing
