// The contract of ByteCache, below the envelope.
#include <algorithm>
#include <atomic>
#include <thread>

#include "cases.h"
#include "larder/cache/system_clock.h"

namespace larder::testing {
namespace {

::testing::AssertionResult holds(const ByteLookup& lookup, std::string_view expected) {
  if (lookup.status != Status::hit)
    return ::testing::AssertionFailure() << lookup.status << " (" << lookup.reason << ")";
  if (lookup.value.data == expected) return ::testing::AssertionSuccess();
  const auto shorten = [](std::string_view text) {
    return std::to_string(text.size()) + " bytes '" + std::string(text.substr(0, 40)) + "'";
  };
  return ::testing::AssertionFailure()
         << "holds " << shorten(lookup.value.data) << " instead of " << shorten(expected);
}

::testing::AssertionResult isAbsent(const ByteLookup& lookup) {
  if (lookup.status == Status::miss && lookup.reason != Reason::none)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << lookup.status << " (" << lookup.reason << ")";
}

std::string noise(std::size_t size, std::uint64_t seed) {
  return noisePage(size, seed).body;
}

class ConformanceBytes : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::string key(std::string_view name) const {
    return world.keyPrefix() + std::string(name);
  }
  ByteLookup get(std::string_view name) { return store->get(key(name), world.soon()); }
  Stored put(std::string_view name, std::string_view value, Millis ttl = 60'000) {
    return store->put(key(name), value, ttl, world.soon());
  }

  World world{*currentSubject(), GetParam()};
  std::shared_ptr<ByteCache> store{world.bytes()};
};
LARDER_OPTIONAL_SUITE(ConformanceBytes, storeVariantsIf(currentSubject()->isByteCache()));

TEST_P(ConformanceBytes, AColdKeyIsAMiss) {
  const ByteLookup lookup = get("never-put");
  EXPECT_TRUE(isAbsent(lookup));
  EXPECT_EQ(lookup.reason, Reason::cold);
}

TEST_P(ConformanceBytes, ReturnsWhatWasPut) {
  ASSERT_TRUE(isStored(put("key", "value")));
  EXPECT_TRUE(holds(get("key"), "value"));
}

TEST_P(ConformanceBytes, Semantics16_AnEmptyValueIsAValue) {
  ASSERT_TRUE(isStored(put("key", "")));
  EXPECT_TRUE(holds(get("key"), ""));
}

TEST_P(ConformanceBytes, AnyByteIsPreserved) {
  std::string value;
  for (int i = 0; i < 512; ++i) value.push_back(static_cast<char>(i));
  value += "\r\nEND\r\nVALUE x 0 1\r\nERROR\r\n";
  ASSERT_TRUE(isStored(put("key", value)));
  EXPECT_TRUE(holds(get("key"), value));
}

TEST_P(ConformanceBytes, Semantics05_AKeyMayHaveTwoHundredPrintableBytes) {
  std::string longest = key("");
  for (char c = '!'; longest.size() < 200; c = c == '~' ? '!' : static_cast<char>(c + 1))
    longest.push_back(c);
  std::string sibling = longest;
  sibling.back() = sibling.back() == '!' ? '~' : '!';
  ASSERT_TRUE(isStored(store->put(longest, "longest", 60'000, world.soon())));
  ASSERT_TRUE(isStored(store->put(sibling, "sibling", 60'000, world.soon())));
  EXPECT_TRUE(holds(store->get(longest, world.soon()), "longest"));
  EXPECT_TRUE(holds(store->get(sibling, world.soon()), "sibling"));
}

TEST_P(ConformanceBytes, PutReplaces) {
  put("key", "old");
  put("key", "new");
  EXPECT_TRUE(holds(get("key"), "new"));
}

TEST_P(ConformanceBytes, EraseRemovesOneKeyAndNoOther) {
  put("gone", "x");
  put("kept", "x");
  EXPECT_TRUE(isStored(store->erase(key("gone"), world.soon())));
  EXPECT_TRUE(isAbsent(get("gone")));
  EXPECT_TRUE(holds(get("kept"), "x"));
}

TEST_P(ConformanceBytes, EraseOfAnAbsentKeySucceeds) {
  EXPECT_TRUE(isStored(store->erase(key("never-put"), world.soon())));
}

TEST_P(ConformanceBytes, TheLargestValueIsTaken) {
  const std::string largest = noise(store->maxValueBytes(), 1);
  ASSERT_TRUE(isStored(put("key", largest)));
  EXPECT_TRUE(holds(get("key"), largest));
}

TEST_P(ConformanceBytes, Semantics15_AValueOverTheLimitIsRefusedAndLeavesNothingBehind) {
  put("key", "small");
  const Stored stored = put("key", noise(store->maxValueBytes() + 1, 1));
  EXPECT_FALSE(stored.ok);
  EXPECT_EQ(stored.reason, Reason::too_large);
  EXPECT_TRUE(isAbsent(get("key")));
}

TEST_P(ConformanceBytes, WorksOnAfterARefusal) {
  put("key", noise(store->maxValueBytes() + 1, 1));
  ASSERT_TRUE(isStored(put("key", "small")));
  EXPECT_TRUE(holds(get("key"), "small"));
}

TEST_P(ConformanceBytes, Semantics11_TimesToLiveMeanWhatTheySay) {
  constexpr Millis kDay = 86'400'000;
  ASSERT_TRUE(isStored(put("second", "x", 1000)));
  ASSERT_TRUE(isStored(put("30-days", "x", 30 * kDay)));
  ASSERT_TRUE(isStored(put("31-days", "x", 31 * kDay)));
  ASSERT_TRUE(isStored(put("10-years", "x", 3650 * kDay)));
  ASSERT_TRUE(isStored(put("forever", "x", kForever)));
  // Three, because a store that counts whole seconds may end one with the tick that just came.
  int hits = 0;
  for (const char* name : {"instant-1", "instant-2", "instant-3"}) {
    put(name, "x", 1);
    if (get(name).status == Status::hit) ++hits;
  }
  EXPECT_GT(hits, 0) << "less than a second rounds up";
  world.pass(2200);
  EXPECT_TRUE(isAbsent(get("second")));
  EXPECT_TRUE(isAbsent(get("instant-1"))) << "less than a second is not for ever";
  EXPECT_TRUE(holds(get("30-days"), "x"));
  EXPECT_TRUE(holds(get("31-days"), "x"));
  EXPECT_TRUE(holds(get("10-years"), "x"));
  EXPECT_TRUE(holds(get("forever"), "x"));
}

TEST_P(ConformanceBytes, Semantics32_GetManyAnswersAsSingleGetsDo) {
  std::vector<std::string> keys;
  keys.reserve(1002);
  for (int i = 0; i < 1000; ++i) keys.push_back(key(std::to_string(i)));
  for (std::size_t i = 0; i < keys.size(); i += 3) put(std::to_string(i), std::to_string(i));
  keys.push_back(keys[0]);  // asked for twice
  keys.push_back(keys[1]);
  const std::vector<std::string_view> asked(keys.begin(), keys.end());
  std::vector<ByteLookup> found(asked.size());
  store->getMany(asked, found, world.soon());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ByteLookup single = store->get(keys[i], world.soon());
    ASSERT_EQ(found[i].status, single.status) << keys[i];
    if (single.status == Status::hit) {
      EXPECT_TRUE(holds(found[i], single.value.data)) << keys[i];
    }
  }
}

TEST_P(ConformanceBytes, GetManyOfNothingIsNothing) {
  store->getMany({}, {}, world.soon());
  EXPECT_TRUE(isAbsent(get("key")));
}

TEST_P(ConformanceBytes, HoldsManyKeys) {
  constexpr std::size_t kKeys = 10'000;
  for (std::size_t i = 0; i < kKeys; ++i) put(std::to_string(i), std::to_string(i));
  std::size_t hits = 0;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const ByteLookup lookup = get(std::to_string(i));
    if (lookup.status != Status::hit) continue;
    ++hits;
    ASSERT_TRUE(holds(lookup, std::to_string(i)));
  }
  EXPECT_GE(hits, kKeys * 95 / 100);
}

TEST_P(ConformanceBytes, AValueOutlivesTheNextLookUpAndTheStore) {
  put("first", "the first value, longer than a string keeps in place");
  put("second", "the second value, longer than a string keeps in place");
  const ByteLookup first = get("first");
  get("second");
  EXPECT_TRUE(holds(first, "the first value, longer than a string keeps in place"));
  store->erase(key("first"), world.soon());
  store.reset();
  EXPECT_TRUE(holds(first, "the first value, longer than a string keeps in place"));
}

TEST_P(ConformanceBytes, Semantics30_ClearFreesAllOfItsOwnOrSaysThatItCannot) {
  put("key", "x");
  const Stored cleared = store->clear(world.soon());
  if (cleared.ok) {
    EXPECT_TRUE(isAbsent(get("key")));
  } else {
    EXPECT_EQ(cleared.reason, Reason::unsupported);
    EXPECT_TRUE(holds(get("key"), "x"));
  }
}

TEST_P(ConformanceBytes, ADeadlineInThePastDoesNotHang) {
  put("key", "x");
  const SystemClock real;
  const Millis begin = real.monotonic();
  const Deadline past = world.clock().monotonic() - 1000;
  const std::string name = key("key");
  const std::string_view asked = name;
  ByteLookup found;
  store->get(name, past);
  store->getMany({&asked, 1}, {&found, 1}, past);
  store->put(name, "y", 60'000, past);
  store->add(name, "y", 60'000, past);
  store->release(name, "y", past);
  store->erase(name, past);
  EXPECT_LT(real.monotonic() - begin, 5000);
}

TEST_P(ConformanceBytes, WorksOnAfterADeadlineInThePast) {
  put("key", "x");
  for (int i = 0; i < 3; ++i) store->get(key("key"), world.clock().monotonic() - 1000);
  EXPECT_TRUE(holds(get("key"), "x"));
}

TEST_P(ConformanceBytes, WorksOnAfterItWasToldThatAKeyWasWrong) {
  put("key", "x");
  get("key");
  store->distrust(key("key"));
  EXPECT_TRUE(holds(get("key"), "x"));
}

TEST_P(ConformanceBytes, NoThreadSeesAnotherKeysValueOrHalfOfOne) {
  std::atomic<int> wrong{0};
  std::atomic<int> hits{0};
  runOnThreads(8, [&](int t) {
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::to_string((t * 31 + i * 7) % 20);
      // A value repeats its key; its length tells who wrote it.
      std::string value;
      for (int n = 0; n <= t * 10; ++n) value += name + ";";
      if (i % 3 == 0) put(name, value);
      if (i % 50 == 0) store->erase(key(name), world.soon());
      const ByteLookup lookup = get(name);
      if (lookup.status != Status::hit) continue;
      ++hits;
      std::string_view rest = lookup.value.data;
      while (rest.starts_with(name + ";")) rest.remove_prefix(name.size() + 1);
      if (!rest.empty() || lookup.value.data.empty()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
}

TEST_P(ConformanceBytes, HasStatisticsAndIsHealthyWhenAllIsWell) {
  put("key", "x");
  get("key");
  EXPECT_FALSE(store->stats().empty());
  const Health health = store->health();
  EXPECT_TRUE(health.ok) << health.detail;
}

using ConformanceShared = ConformanceBytes;
LARDER_OPTIONAL_SUITE(ConformanceShared,
                      storeVariantsIf(currentSubject()->isByteCache() &&
                                      currentSubject()->plugin().can(LARDER_SHARED)));

TEST_P(ConformanceShared, AnotherInstanceSeesWhatThisOneHolds) {
  put("key", "x");
  const auto other = world.bytes();
  EXPECT_TRUE(holds(other->get(key("key"), world.soon()), "x"));
}

TEST_P(ConformanceShared, WhatAnotherInstanceErasesIsGone) {
  put("key", "x");
  world.bytes()->erase(key("key"), world.soon());
  EXPECT_TRUE(isAbsent(get("key")));
}

class ConformanceLeases : public ConformanceBytes {
 protected:
  Stored add(std::string_view token, Millis ttl = 60'000) {
    return store->add(key("lease"), token, ttl, world.soon());
  }
  Stored release(std::string_view token) {
    return store->release(key("lease"), token, world.soon());
  }
};
LARDER_OPTIONAL_SUITE(ConformanceLeases,
                      storeVariantsIf(currentSubject()->isByteCache() &&
                                      currentSubject()->plugin().can(LARDER_LEASES)));

TEST_P(ConformanceLeases, Semantics31_TheFirstGetsTheLease) {
  EXPECT_TRUE(isStored(add("first")));
  const Stored second = add("second");
  EXPECT_FALSE(second.ok);
  EXPECT_EQ(second.reason, Reason::exists);
  EXPECT_TRUE(holds(get("lease"), "first"));
}

TEST_P(ConformanceLeases, Semantics31_OfManyThreadsOneGetsTheLease) {
  for (int round = 0; round < 20; ++round) {
    const std::string lease = key("lease-" + std::to_string(round));
    std::atomic<int> leaders{0};
    runOnThreads(8, [&](int t) {
      if (store->add(lease, std::to_string(t), 60'000, world.soon()).ok) ++leaders;
    });
    EXPECT_EQ(leaders, 1);
  }
}

TEST_P(ConformanceLeases, AReleasedLeaseCanBeTakenAgain) {
  add("first");
  EXPECT_TRUE(isStored(release("first")));
  EXPECT_TRUE(isAbsent(get("lease")));
  EXPECT_TRUE(isStored(add("second")));
}

TEST_P(ConformanceLeases, ALeaseOfAnotherIsNotReleased) {
  add("first");
  release("second");
  EXPECT_TRUE(holds(get("lease"), "first"));
}

TEST_P(ConformanceLeases, ReleasingNothingLeavesNothing) {
  release("first");
  EXPECT_TRUE(isAbsent(get("lease")));
  EXPECT_TRUE(isStored(add("second")));
}

TEST_P(ConformanceLeases, Semantics31_ALeaseOfACrashedLeaderEndsWithItsTime) {
  ASSERT_TRUE(isStored(add("crashed", 1000)));
  world.pass(2200);
  EXPECT_TRUE(isStored(add("next")));
}

}  // namespace
}  // namespace larder::testing
