// The contract of Cache: of an object cache, and of a byte cache in the engine's envelope. Numbers
// in names are those of the rules in the documentation of semantics.
#include <algorithm>
#include <limits>

#include "cases.h"
#include "larder/cache/key_builder.h"
#include "larder/cache/system_clock.h"

namespace larder::testing {
namespace {

constexpr std::size_t kManyKeys = 10'000;

using ConformanceCache = CacheCase;
INSTANTIATE_TEST_SUITE_P(, ConformanceCache, ::testing::ValuesIn(variantsIf(true)), variantName);

TEST_P(ConformanceCache, AColdKeyIsAMiss) {
  const Lookup lookup = get("never put");
  EXPECT_TRUE(isMiss(lookup));
  EXPECT_EQ(lookup.reason, Reason::cold);
}

TEST_P(ConformanceCache, ReturnsWhatWasPut) {
  const EntryPtr entry = put("key");
  const Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*entry, *lookup.entry));
}

TEST_P(ConformanceCache, ReturnsTheInputsOfItsKey) {
  KeyBuilder builder;
  builder.begin("site", "/handbook", "page", 7);
  builder.input("header:Accept-Language", 1);
  builder.text("de");
  builder.input("param:page", 2);
  builder.text("1");
  builder.text("2");
  builder.absent("user");
  const CacheKey key = builder.key();
  const std::string inputs[] = {"header:Accept-Language", "param:page", "user"};
  const EntryPtr expected(makeEntry(key, textValue("x"), world.clock(), inputs));
  ASSERT_TRUE(isStored(cache->put(key, expected, world.soon())));
  const Lookup lookup = cache->get(key, world.soon());
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*expected, *lookup.entry));
}

TEST_P(ConformanceCache, Semantics14_APageReplaysExactly) {
  Page page;
  page.status = 302;
  page.headers = {{"Location", "/handbook/dpkg?q=a%20b"},
                  {"Content-Type", "text/html; charset=utf-8"},
                  {"Link", "</a>; rel=prev"},
                  {"Link", "</b>; rel=next"},
                  {"X-Empty", ""}};
  page.body = std::string("moved\0\xff", 7);
  page.gzip = std::string("\x1f\x8b\0", 3);
  page.etag = "0123456789abcdef0123456789abcdef";
  page.last_modified = 1'700'000'000'123;
  page.head = "HTTP/1.1 302 Found\r\nLocation: /handbook/dpkg?q=a%20b\r\n";
  page.gzip_head = page.head + "Content-Encoding: gzip\r\n";
  const EntryPtr entry = put("page", page);
  const Lookup lookup = get("page");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*entry, *lookup.entry));
}

TEST_P(ConformanceCache, Semantics16_EveryTypeOfValueIsPreserved) {
  Tree nested = Tree::map();
  nested.set("list",
             Tree::list({Tree(), Tree(0), Tree::list(), Tree::map(), Tree("\xe2\x82\xac")}));
  nested.set("", Tree::map().set("bytes", Tree::Bytes{std::string("\0\xff", 2)}));
  Page compressible;
  compressible.body.assign(200'000, 'x');
  const std::vector<std::pair<std::string, Value>> values = {
      {"null", Document()},
      {"false", Document::from(false)},
      {"true", Document::from(true)},
      {"0", Document::from(0)},
      {"least integer", Document::from(std::numeric_limits<std::int64_t>::min())},
      {"largest integer", Document::from(std::numeric_limits<std::int64_t>::max())},
      {"0.0", Document::from(0.0)},
      {"least real", Document::from(std::numeric_limits<double>::denorm_min())},
      {"infinity", Document::from(std::numeric_limits<double>::infinity())},
      {"empty text", Document::from("")},
      {"text with a NUL", Document::from(std::string_view("a\0b", 3))},
      {"empty bytes", Document::from(Tree::Bytes{})},
      {"text that is a number", Document::from("1")},
      {"bytes like a text", Document::from(Tree::Bytes{"1"})},
      {"empty list", Document::from(Tree::list())},
      {"empty map", Document::from(Tree::map())},
      {"nested", Document::from(nested)},
      {"empty page", Page()},
      {"compressible page", compressible},
      {"incompressible page", noisePage(200'000, 1)}};
  std::vector<EntryPtr> entries;
  entries.reserve(values.size());
  for (const auto& [name, value] : values) entries.push_back(put(name, value));
  for (const auto& entry : entries) {
    const std::string name(entry->key());
    const Lookup lookup = get(name);
    ASSERT_TRUE(isHit(lookup)) << name;
    EXPECT_TRUE(sameEntry(*entry, *lookup.entry)) << name;
  }
}

TEST_P(ConformanceCache, Semantics24_EveryByteOfAKeyCounts) {
  const std::vector<std::string> keys = {
      "",   std::string(1, '\0'), std::string(2, '\0'),     " ",   "\n", "a", "A",
      "a ", "\xff\xfe",           std::string(70'000, 'k'), "a\rb"};
  for (const auto& key : keys) put(key);
  for (const auto& key : keys) {
    const Lookup lookup = get(key);
    ASSERT_TRUE(isHit(lookup)) << "key of " << key.size() << " bytes";
    EXPECT_EQ(lookup.entry->key(), key);
    EXPECT_EQ(lookup.entry->value.document().root().text(), key);
  }
}

TEST_P(ConformanceCache, Semantics04_OtherKeyBytesUnderTheSameDigestAreNeverReturned) {
  const CacheKey first{"first", {17, 42}, 0};
  const CacheKey second{"second", {17, 42}, 0};
  ASSERT_TRUE(isStored(cache->put(
      first, EntryPtr(makeEntry(first, textValue("first"), world.clock())), world.soon())));
  EXPECT_TRUE(isHit(cache->get(first, world.soon())));
  EXPECT_TRUE(isMiss(cache->get(second, world.soon())));
}

TEST_P(ConformanceCache, Semantics04_KeysOfOneDigestNeverMixTheirValues) {
  const CacheKey keys[] = {{"first", {17, 42}, 0}, {"second", {17, 42}, 0}};
  for (const CacheKey& key : keys) {
    ASSERT_TRUE(isStored(cache->put(
        key, EntryPtr(makeEntry(key, textValue(key.bytes), world.clock())), world.soon())));
  }
  EXPECT_TRUE(isHit(cache->get(keys[1], world.soon()))) << "the later one has just been stored";
  std::vector<Lookup> found(2);
  cache->getMany(keys, found, world.soon());
  for (std::size_t i = 0; i < 2; ++i) {
    if (found[i].status == Status::hit) {
      EXPECT_EQ(found[i].entry->key(), keys[i].bytes);
    }
  }
}

TEST_P(ConformanceCache, PutReplaces) {
  put("key", textValue("old"));
  const EntryPtr entry = put("key", textValue("new"));
  const Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*entry, *lookup.entry));
}

TEST_P(ConformanceCache, EraseRemovesOneKeyAndNoOther) {
  put("gone");
  put("kept");
  EXPECT_TRUE(isStored(cache->erase(keyOf("gone"), world.soon())));
  EXPECT_TRUE(isMiss(get("gone")));
  EXPECT_TRUE(isHit(get("kept")));
}

TEST_P(ConformanceCache, EraseOfAnAbsentKeySucceeds) {
  EXPECT_TRUE(isStored(cache->erase(keyOf("never put"), world.soon())));
}

TEST_P(ConformanceCache, AKeyCanBePutAgainAfterErase) {
  put("key", textValue("old"));
  cache->erase(keyOf("key"), world.soon());
  put("key", textValue("new"));
  const Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_EQ(lookup.entry->value.document().root().text(), "new");
}

TEST_P(ConformanceCache, Semantics30_ClearFreesAllOfItsOwnOrSaysThatItCannot) {
  for (int i = 0; i < 100; ++i) put("key " + std::to_string(i));
  const Stored cleared = cache->clear(world.soon());
  if (!cleared.ok) {
    EXPECT_EQ(cleared.reason, Reason::unsupported);
  }
  for (int i = 0; i < 100; ++i) {
    const Lookup lookup = get("key " + std::to_string(i));
    EXPECT_EQ(lookup.status, cleared.ok ? Status::miss : Status::hit) << lookup.reason;
  }
}

TEST_P(ConformanceCache, AKeyCanBePutAgainAfterClear) {
  put("key", textValue("old"));
  cache->clear(world.soon());
  const EntryPtr entry = put("key", textValue("new"));
  const Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*entry, *lookup.entry));
}

TEST_P(ConformanceCache, Semantics06_TwoInstancesNeverSeeNorClearEachOther) {
  const auto other = world.cache("b");
  put("ours");
  put(*other, "theirs", textValue("theirs"));
  EXPECT_TRUE(isMiss(get(*other, "ours")));
  EXPECT_TRUE(isMiss(get("theirs")));
  other->erase(keyOf("ours"), world.soon());
  other->clear(world.soon());
  EXPECT_TRUE(isHit(get("ours")));
}

TEST_P(ConformanceCache, Semantics17_WhatSomebodyHoldsOutlivesEraseReplaceAndClear) {
  const EntryPtr expected = put("key", textValue("held"));
  Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  const EntryRef held = std::move(lookup.entry);
  put("key", textValue("another"));
  EXPECT_TRUE(sameEntry(*expected, *held));
  cache->erase(keyOf("key"), world.soon());
  EXPECT_TRUE(sameEntry(*expected, *held));
  cache->clear(world.soon());
  EXPECT_TRUE(sameEntry(*expected, *held));
}

TEST_P(ConformanceCache, Semantics17_WhatSomebodyHoldsOutlivesTheCache) {
  const EntryPtr expected = put("key");
  Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  const EntryRef borrowed = std::move(lookup.entry);
  const EntryPtr shared = borrowed.share();
  cache.reset();
  EXPECT_TRUE(sameEntry(*expected, *shared));
  EXPECT_TRUE(sameEntry(*expected, *borrowed));
}

TEST_P(ConformanceCache, OneThreadMayHoldManyEntriesAtATime) {
  constexpr std::size_t kHeld = 1000;
  std::vector<Lookup> held;
  for (std::size_t i = 0; i < kHeld; ++i) put("key " + std::to_string(i));
  for (std::size_t i = 0; i < kHeld; ++i) held.push_back(get("key " + std::to_string(i)));
  for (std::size_t i = 0; i < kHeld; ++i) {
    ASSERT_TRUE(isHit(held[i]));
    EXPECT_EQ(held[i].entry->key(), "key " + std::to_string(i));
  }
}

TEST_P(ConformanceCache, ServesUntilTheLastUseOfAnEntryIsOver) {
  auto entry = makeEntry(keyOf("key"), textValue("x"), world.clock());
  const Millis now = world.clock().monotonic();
  entry->lifetime = {now, now, now + 200, now + 1300};
  ASSERT_TRUE(isStored(cache->put(keyOf("key"), EntryPtr(std::move(entry)), world.soon())));
  world.pass(300);
  EXPECT_TRUE(isHit(get("key"))) << "it may still be served when a render fails";
  world.pass(1200);
  EXPECT_TRUE(isMiss(get("key"))) << "the render's failure no longer excuses it";
}

TEST_P(ConformanceCache, AnEntryThatIsOverWhenPutIsNeverServed) {
  auto entry = makeEntry(keyOf("key"), textValue("x"), world.clock());
  const Millis now = world.clock().monotonic();
  entry->lifetime = {now - 3000, now - 2000, now - 2000, now - 2000};
  put("key", textValue("older"));
  cache->put(keyOf("key"), EntryPtr(std::move(entry)), world.soon());
  EXPECT_TRUE(isMiss(get("key")));
}

TEST_P(ConformanceCache, Semantics08_ForeverIsForever) {
  auto entry = makeEntry(keyOf("key"), textValue("x"), world.clock());
  entry->lifetime = {world.clock().monotonic(), kForever, kForever, kForever};
  const EntryPtr expected(std::move(entry));
  ASSERT_TRUE(isStored(cache->put(keyOf("key"), expected, world.soon())));
  if (world.manualClock()) world.pass(Millis{1000} * 365 * 86'400'000);
  const Lookup lookup = get("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*expected, *lookup.entry));
}

TEST_P(ConformanceCache, Semantics32_GetManyAnswersAsSingleGetsDo) {
  std::vector<std::string> names;
  names.reserve(302);
  for (int i = 0; i < 300; ++i) names.push_back("key " + std::to_string(i));
  for (std::size_t i = 0; i < names.size(); i += 3) put(names[i]);
  names.push_back(names[0]);  // asked for twice
  names.push_back(names[1]);
  std::vector<CacheKey> keys;
  keys.reserve(names.size());
  for (const auto& name : names) keys.push_back(keyOf(name));
  std::vector<Lookup> found(keys.size());
  cache->getMany(keys, found, world.soon());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Lookup single = get(names[i]);
    ASSERT_EQ(found[i].status, single.status) << names[i];
    if (single.status == Status::hit) {
      EXPECT_TRUE(sameEntry(*single.entry, *found[i].entry));
    }
  }
}

TEST_P(ConformanceCache, GetManyOfNothingIsNothing) {
  cache->getMany({}, {}, world.soon());
  EXPECT_TRUE(isMiss(get("key")));
}

TEST_P(ConformanceCache, HoldsManyKeys) {
  for (std::size_t i = 0; i < kManyKeys; ++i) put("key " + std::to_string(i));
  std::size_t hits = 0;
  for (std::size_t i = 0; i < kManyKeys; ++i) {
    const std::string key = "key " + std::to_string(i);
    const Lookup lookup = get(key);
    if (lookup.status != Status::hit) continue;
    ++hits;
    ASSERT_EQ(lookup.entry->value.document().root().text(), key);
  }
  // Any entry may be lost, but a cache that has room does not lose many.
  EXPECT_GE(hits, kManyKeys * 95 / 100);
}

TEST_P(ConformanceCache, ADeadlineInThePastDoesNotHang) {
  put("key");
  const SystemClock real;
  const Millis begin = real.monotonic();
  const Deadline past = world.clock().monotonic() - 1000;
  const CacheKey key = keyOf("key");
  std::vector<Lookup> found(1);
  const Lookup lookup = cache->get(key, past);
  cache->getMany({&key, 1}, found, past);
  cache->put(key, EntryPtr(makeEntry(key, textValue("x"), world.clock())), past);
  cache->erase(key, past);
  cache->clear(past);
  EXPECT_LT(real.monotonic() - begin, 5000);
  EXPECT_EQ(lookup.status == Status::hit, static_cast<bool>(lookup.entry));
}

TEST_P(ConformanceCache, WorksOnAfterADeadlineInThePast) {
  put("key");
  cache->get(keyOf("key"), world.clock().monotonic() - 1000);
  world.pass(1);
  EXPECT_TRUE(isHit(get("key")));
}

TEST_P(ConformanceCache, HasStatisticsWithNamesOfTheirOwn) {
  put("key");
  get("key");
  const Stats stats = cache->stats();
  EXPECT_FALSE(stats.empty());
  std::vector<std::string> names;
  for (const auto& [name, number] : stats) {
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name << " is there twice";
    names.push_back(name);
  }
}

TEST_P(ConformanceCache, IsHealthyWhenAllIsWell) {
  put("key");
  const Health health = cache->health();
  EXPECT_TRUE(health.ok) << health.detail;
}

class ConformanceManualTime : public CacheCase {};
LARDER_OPTIONAL_SUITE(ConformanceManualTime, manualVariants());

TEST_P(ConformanceManualTime, Semantics07_TheLastMillisecondCounts) {
  const EntryPtr entry = put("key");
  world.manualClock()->advanceTo(entry->lifetime.end() - 1);
  EXPECT_TRUE(isHit(get("key")));
  world.pass(2);
  EXPECT_TRUE(isMiss(get("key")));
}

TEST_P(ConformanceManualTime, Semantics12_AJumpOfTheWallClockExpiresNothing) {
  put("key");
  world.manualClock()->jumpWall(3'600'000);
  EXPECT_TRUE(isHit(get("key")));
}

TEST_P(ConformanceManualTime, Semantics12_AJumpOfTheWallClockRevivesNothing) {
  put("key");
  world.pass(180'001);
  world.manualClock()->jumpWall(-3'600'000);
  EXPECT_TRUE(isMiss(get("key")));
}

}  // namespace
}  // namespace larder::testing
