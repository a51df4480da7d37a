#include "larder/cache/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <msgpack.hpp>
#include <set>
#include <string>

#include "envelope_format.h"
#include "envelope_support.h"
#include "larder/cache/settings_reader.h"
#include "larder/http/page_head.h"
#include "larder/testing/manual_clock.h"

namespace larder {
namespace {

using larder::testing::makeEntry;
using larder::testing::ManualClock;
using larder::testing::MemoryStore;
using larder::testing::TestKey;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Deadline kSoon = kForever;

class Envelope : public ::testing::Test {
 protected:
  std::unique_ptr<EnvelopeCache> open(EnvelopeOptions options, EnvelopeCache::Finish finish = {}) {
    return std::make_unique<EnvelopeCache>(store_, clock_, std::move(options), std::move(finish),
                                           [this](std::string_view text) { log_ = text; });
  }
  Stored put(Cache& cache, const CacheKey& key, Value value) {
    return cache.put(key, EntryPtr(makeEntry(key, clock_, std::move(value))), kSoon);
  }
  /// The only item of the store.
  std::string& onlyItem() {
    EXPECT_EQ(store_->items.size(), 1u);
    return store_->items.begin()->second.value;
  }
  static std::uint64_t counter(const Cache& cache, std::string_view name) {
    for (const auto& [n, value] : cache.stats()) {
      if (n == name) return value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  ManualClock clock_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::unique_ptr<EnvelopeCache> cache_ = open({.name_space = "site /a shared"});
  std::string log_;
  const TestKey key_{"/a"};
};

const Tree kTree = Tree::map().set("title", "dpkg").set("tags", Tree::list({"debian", 1, nullptr}));

TEST_F(Envelope, ADocumentComesBackWithAllThatDecidesItsValidity) {
  const TestKey key("/a", "x");
  auto entry = makeEntry(key, clock_, Document::from(kTree), {"param:q"});
  entry->is_private = true;
  ASSERT_TRUE(cache_->put(key, EntryPtr(std::move(entry)), kSoon).ok);

  const Lookup found = cache_->get(key, kSoon);
  ASSERT_EQ(found.status, Status::hit);
  EXPECT_EQ(found.entry->value.document(), Document::from(kTree));
  EXPECT_EQ(found.entry->key(), CacheKey(key).bytes);
  EXPECT_EQ(found.entry->digest, CacheKey(key).digest);
  EXPECT_EQ(found.entry->partition, 7u);
  EXPECT_EQ(found.entry->stamp.as_of, 41u);
  EXPECT_EQ(found.entry->stamp.era, 0xfedcba9876543210u);
  EXPECT_EQ(found.entry->stamp.schema, 0x8000000000000001u);
  EXPECT_THAT(found.entry->scopes(), ElementsAre(hash64("obj:/a"), hash64("tag:news")));
  EXPECT_THAT(found.entry->scopeNames(), ElementsAre("obj:/a", "tag:news"));
  EXPECT_THAT(found.entry->inputs(), ElementsAre("param:q"));
  EXPECT_TRUE(found.entry->is_private);
  EXPECT_EQ(found.entry->cost_us, 1234u);
  EXPECT_EQ(found.entry->created_wall, clock_.wall());
}

TEST_F(Envelope, Semantics14_APageComesBackAndIsFinished) {
  const auto cache = open({}, [](Page& page) -> Result<> {
    page.head = "HTTP/1.1 " + page.body;
    return Done{};
  });
  Page page;
  page.status = 301;
  page.headers = {{"Location", "/b"}};
  page.body = "moved";
  ASSERT_TRUE(put(*cache, key_, page).ok);

  const Lookup found = cache->get(key_, kSoon);
  ASSERT_EQ(found.status, Status::hit);
  const auto copy = found.entry->value.page();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->status, 301);
  EXPECT_EQ(*copy->header("location"), "/b");
  EXPECT_EQ(copy->head, "HTTP/1.1 moved");
}

TEST_F(Envelope, AMissIsColdAndAnErrorKeepsItsReason) {
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::cold);
  store_->failure = Reason::breaker;
  const Lookup found = cache_->get(key_, kSoon);
  EXPECT_EQ(found.status, Status::error);
  EXPECT_EQ(found.reason, Reason::breaker);
  EXPECT_EQ(put(*cache_, key_, Document()).reason, Reason::breaker);
}

TEST_F(Envelope, Semantics32_SeveralKeysTakeOneRoundTrip) {
  const TestKey b("/b"), c("/c");
  put(*cache_, key_, Document::from("a"));
  put(*cache_, c, Document::from("c"));
  const CacheKey keys[] = {key_, b, c};
  Lookup found[3];
  store_->round_trips = 0;
  cache_->getMany(keys, found, kSoon);
  EXPECT_EQ(store_->round_trips, 1u);
  EXPECT_EQ(found[0].entry->value.document().root().text(), "a");
  EXPECT_EQ(found[1].status, Status::miss);
  EXPECT_EQ(found[2].entry->value.document().root().text(), "c");
}

// ---- Keys

TEST_F(Envelope, FaultA27_Semantics05_NoByteOfARequestReachesTheWireKey) {
  for (const std::string& path :
       {std::string("/x\r\nset victim 0 0 1\r\nZ\r\n"), std::string("/\0", 2),
        std::string(65536, 'k'), std::string("/ü x")}) {
    put(*cache_, TestKey(path), Document());
  }
  EXPECT_EQ(store_->items.size(), 4u);
  for (const auto& [wire_key, item] : store_->items) {
    EXPECT_THAT(wire_key, ::testing::MatchesRegex("larder:[A-Za-z0-9_-]{22}"));
  }
}

TEST_F(Envelope, FaultA28_KeysWithACommonBeginningAreApart) {
  const std::string common(250, 'k');
  const TestKey one(common + "1"), two(common + "2");
  put(*cache_, one, Document::from(1));
  put(*cache_, two, Document::from(2));
  EXPECT_EQ(cache_->get(one, kSoon).entry->value.document().root().integer(), 1);
  EXPECT_EQ(cache_->get(two, kSoon).entry->value.document().root().integer(), 2);
}

TEST_F(Envelope, WireKeysKeepEveryBitOfTheHash) {
  std::set<char> seen[22];
  for (int i = 0; i < 2000; ++i) put(*cache_, TestKey("/" + std::to_string(i)), Document());
  EXPECT_EQ(store_->items.size(), 2000u);
  for (const auto& [wire_key, item] : store_->items) {
    for (std::size_t i = 0; i < 22; ++i) seen[i].insert(wire_key[7 + i]);
  }
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(seen[i].size(), 64u) << i;
  EXPECT_EQ(seen[21].size(), 4u);
}

TEST_F(Envelope, Semantics06_NameSpacesAndPrefixesNeverMeet) {
  const auto other_space = open({.name_space = "other site"});
  const auto other_prefix = open({.prefix = "test:", .name_space = "site /a shared"});
  put(*cache_, key_, Document::from("mine"));
  EXPECT_EQ(other_space->get(key_, kSoon).status, Status::miss);
  EXPECT_EQ(other_prefix->get(key_, kSoon).status, Status::miss);
  other_space->erase(key_, kSoon);
  other_prefix->erase(key_, kSoon);
  EXPECT_EQ(cache_->get(key_, kSoon).status, Status::hit);
}

TEST_F(Envelope, FaultA27_APrefixThatNoStoreTakesIsRefused) {
  EXPECT_THROW(open({.prefix = "a\r\nset victim"}), std::invalid_argument);
  EXPECT_THROW(open({.prefix = "a b"}), std::invalid_argument);
  EXPECT_THROW(open({.prefix = "\x7f"}), std::invalid_argument);
  EXPECT_THROW(open({.prefix = std::string(EnvelopeOptions::kMaxPrefix + 1, 'p')}),
               std::invalid_argument);
  EXPECT_NO_THROW(open({.prefix = std::string(EnvelopeOptions::kMaxPrefix, 'p')}));
}

TEST_F(Envelope, Semantics04_AnotherKeysEnvelopeIsACountedMissAndReported) {
  const TestKey other("/other");
  put(*cache_, other, Document::from("other"));
  const std::string foreign = onlyItem();
  put(*cache_, key_, Document::from("mine"));
  for (auto& [wire_key, item] : store_->items) item.value = foreign;

  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::other_key);
  EXPECT_EQ(counter(*cache_, "envelope_other_key"), 1u);
  EXPECT_EQ(store_->distrusted.size(), 1u);
  EXPECT_EQ(cache_->get(other, kSoon).status, Status::hit);
}

TEST_F(Envelope, LedgerL15_AnInputThatTheKeyDoesNotNameIsAMiss) {
  cache_->put(key_, EntryPtr(makeEntry(key_, clock_, Document(), {"user"})), kSoon);
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::other_key);
}

// ---- Times

TEST_F(Envelope, TimesBecomePointsOfTheReadersClock) {
  put(*cache_, key_, Document());
  // The reader's process started elsewhere, 30 seconds later.
  ManualClock reader_clock(50'000, clock_.wall() + 30'000);
  EnvelopeCache reader(store_, reader_clock, {.name_space = "site /a shared"});
  const Lookup found = reader.get(key_, kSoon);
  ASSERT_EQ(found.status, Status::hit);
  EXPECT_EQ(found.entry->lifetime.created, 20'000);
  EXPECT_EQ(found.entry->lifetime.fresh_until, 620'000);
  EXPECT_EQ(found.entry->lifetime.stale_until, 680'000);
  EXPECT_EQ(found.entry->lifetime.error_until, 740'000);
}

TEST_F(Envelope, Semantics12_AnAgeIsNeverNegative) {
  put(*cache_, key_, Document());
  clock_.jumpWall(-3'600'000);
  EXPECT_EQ(cache_->get(key_, kSoon).entry->lifetime.created, clock_.monotonic());
}

TEST_F(Envelope, ForEverStaysForEver) {
  auto entry = makeEntry(key_, clock_, Document());
  entry->lifetime.fresh_until = entry->lifetime.stale_until = entry->lifetime.error_until =
      kForever;
  cache_->put(key_, EntryPtr(std::move(entry)), kSoon);
  EXPECT_EQ(store_->items.begin()->second.ttl, kForever);
  clock_.advance(Millis{1000} * 86'400 * 3650);
  EXPECT_EQ(cache_->get(key_, kSoon).entry->lifetime.fresh_until, kForever);
}

TEST_F(Envelope, LivesInTheStoreAsLongAsItIsOfUse) {
  auto entry = makeEntry(key_, clock_, Document());
  clock_.advance(20'000);
  cache_->put(key_, EntryPtr(std::move(entry)), kSoon);
  EXPECT_EQ(store_->items.begin()->second.ttl, 700'000);
}

TEST_F(Envelope, PastItsLifetimeItIsExpiredWhateverTheStoreThinks) {
  put(*cache_, key_, Document());
  clock_.advance(720'000);
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::expired);
  EXPECT_EQ(counter(*cache_, "envelope_expired"), 1u);
}

TEST_F(Envelope, AnEntryWhoseLifetimeIsOverIsNotStoredAndLeavesNoOlderOne) {
  put(*cache_, key_, Document());
  auto entry = makeEntry(key_, clock_, Document());
  clock_.advance(720'000);
  EXPECT_EQ(cache_->put(key_, EntryPtr(std::move(entry)), kSoon).reason, Reason::expired);
  EXPECT_TRUE(store_->items.empty());
}

// ---- Sizes

TEST_F(Envelope, Semantics15_AValueOverTheStoresLimitLeavesNoOlderOne) {
  store_->limit = 1000;
  put(*cache_, key_, Document::from("v1"));
  EXPECT_EQ(put(*cache_, key_, Document::from(std::string(2000, 'x'))).reason, Reason::too_large);
  EXPECT_EQ(counter(*cache_, "envelope_too_large"), 1u);
  EXPECT_TRUE(store_->items.empty());
}

TEST_F(Envelope, Semantics15_TheManagersOwnLimitCountsBytesBeforeCompression) {
  const auto cache = open({.compress_above = 100, .max_value = 5000});
  EXPECT_EQ(put(*cache, key_, Document::from(std::string(6000, 'x'))).reason, Reason::too_large);
}

TEST_F(Envelope, CompressesOnlyAboveTheThresholdAndOnlyIfThatHelps) {
  const auto cache = open({.compress_above = 1000});
  put(*cache, key_, Document::from(std::string(100'000, 'x')));
  EXPECT_LT(onlyItem().size(), 1000u);
  EXPECT_EQ(cache->get(key_, kSoon).entry->value.document().root().text().size(), 100'000u);
  EXPECT_EQ(counter(*cache, "envelope_compressed"), 1u);

  std::string noise(5000, '\0');
  std::uint64_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 6364136223846793005u + 1) >> 56);
  put(*cache, key_, Document::from(noise));
  EXPECT_EQ(cache->get(key_, kSoon).entry->value.document().root().text(), noise);
  put(*cache, key_, Document::from(std::string(500, 'x')));
  EXPECT_GT(onlyItem().size(), 500u);
  EXPECT_EQ(counter(*cache, "envelope_compressed"), 1u);
}

TEST_F(Envelope, ACompressedBodyOverTheLimitIsNotUnpacked) {
  const auto writer = open({.compress_above = 100});
  put(*writer, key_, Document::from(std::string(1'000'000, 'x')));
  const auto reader = open({.max_value = 500'000});
  EXPECT_EQ(reader->get(key_, kSoon).reason, Reason::too_large);
}

TEST_F(Envelope, Semantics15_ChunksLargeValuesAndAnyGapIsAMiss) {
  const auto cache = open({.compress_above = 1 << 20, .chunk = true});
  store_->limit = 1000;
  const std::string large(4500, 'x');
  ASSERT_TRUE(put(*cache, key_, Document::from(large)).ok);
  EXPECT_EQ(store_->items.size(), 6u);
  store_->round_trips = 0;
  EXPECT_EQ(cache->get(key_, kSoon).entry->value.document().root().text(), large);
  EXPECT_EQ(store_->round_trips, 2u);

  const auto all = store_->items;
  for (const auto& [wire_key, item] : all) {
    store_->items = all;
    store_->items.erase(wire_key);
    EXPECT_EQ(cache->get(key_, kSoon).status, Status::miss) << wire_key;
  }
}

TEST_F(Envelope, PartsOfTwoValuesNeverComeTogether) {
  const auto cache = open({.compress_above = 1 << 20, .chunk = true});
  store_->limit = 1000;
  put(*cache, key_, Document::from(std::string(4500, 'a')));
  const auto old = store_->items;
  put(*cache, key_, Document::from(std::string(4500, 'b')));
  for (const auto& [wire_key, item] : old) store_->items.insert_or_assign(wire_key, item);
  EXPECT_EQ(cache->get(key_, kSoon).entry->value.document().root().text(), std::string(4500, 'a'));
}

TEST_F(Envelope, AnErrorWhileGatheringPartsIsAnError) {
  const auto cache = open({.compress_above = 1 << 20, .chunk = true});
  store_->limit = 1000;
  put(*cache, key_, Document::from(std::string(4500, 'a')));
  store_->failure = Reason::timeout;
  EXPECT_EQ(cache->get(key_, kSoon).status, Status::error);
}

TEST_F(Envelope, Semantics18_AValueThatCannotBeEncodedIsReported) {
  put(*cache_, key_, Document());
  Tree deep = 1;
  for (int i = 0; i < 100; ++i) deep = Tree::list({deep});
  EXPECT_EQ(put(*cache_, key_, Document::from(deep)).reason, Reason::unsupported);
  EXPECT_THAT(log_, HasSubstr("nested"));
  EXPECT_TRUE(store_->items.empty());
}

TEST_F(Envelope, ScopesThatTheirNamesDoNotGiveBackAreRefused) {
  for (const std::string scope : {"obj:/a\ntag:b", ""}) {
    EXPECT_FALSE(
        cache_->put(key_, EntryPtr(CacheEntry::make(key_, {.scopes = {&scope, 1}})), kSoon).ok)
        << scope;
  }
}

// ---- Trust

TEST_F(Envelope, FaultA34_AnotherFormatVersionIsAnOldFormat) {
  put(*cache_, key_, Document());
  onlyItem()[4] = 2;
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::old_format);
  EXPECT_EQ(counter(*cache_, "envelope_old_format"), 1u);
}

TEST_F(Envelope, FaultA34_RandomBytesAndTruncationsAreDamaged) {
  put(*cache_, key_, Document::from(kTree));
  const std::string whole = onlyItem();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    onlyItem() = whole.substr(0, size);
    EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged) << size;
  }
  onlyItem() = std::string(5000, '\x5a');
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged);
  EXPECT_EQ(counter(*cache_, "envelope_damaged"), whole.size() + 1);
}

// Somebody who can write to the servers, against whom no secret was set.
TEST_F(Envelope, FaultA34_Semantics29_APageThatCannotBeSentIsACountedMiss) {
  const std::string tag(32, 'e');
  const auto page = [](int status, Header header, std::string etag) {
    Page forged;
    forged.status = status;
    forged.headers = {std::move(header)};
    forged.etag = std::move(etag);
    return forged;
  };
  const Header good{"X-Good", "1"};
  const auto cache = open({}, http::finishStoredPage);
  put(*cache, key_, page(200, good, tag));
  EXPECT_EQ(cache->get(key_, kSoon).status, Status::hit);

  const std::vector<Page> forgeries = {
      page(100, good, tag),
      page(199, good, tag),
      page(600, good, tag),
      page(200, {"X-Bad", "a\r\nSet-Cookie: b"}, tag),
      page(200, {"Vary", "a\r\nSet-Cookie: b"}, tag),
      page(200, {"X Bad", "1"}, tag),
      page(200, {"Transfer-Encoding", "chunked"}, tag),
      page(200, good, "\"\r\nSet-Cookie: x=0123456789abcd\""),
      page(200, good, ""),
  };
  for (const Page& forged : forgeries) {
    put(*cache, key_, forged);
    Lookup together[1];
    const CacheKey keys[] = {key_};
    cache->getMany(keys, together, kSoon);
    EXPECT_EQ(cache->get(key_, kSoon).reason, Reason::damaged);
    EXPECT_EQ(together[0].reason, Reason::damaged);
  }
  EXPECT_EQ(counter(*cache, "envelope_damaged"), 2 * forgeries.size());
}

// Each would take sixteen times its bytes or more.
TEST_F(Envelope, FaultA34_ABodyOfScopesWithoutEndIsDamaged) {
  const EnvelopeFormat format(digestOf("site /a shared"),
                              {.secret = {}, .compress_above = 1 << 24, .max_body = 1 << 24});
  std::string body = *format.encode(*makeEntry(key_, clock_, Document()), CacheKey(key_).bytes);
  const std::string names =
      "\xaf"
      "obj:/a\ntag:news";
  const auto at = body.find(names);
  ASSERT_NE(at, std::string::npos);
  body.replace(at, names.size(),
               std::string("\xdb\x00\x10\x00\x00", 5) + std::string(1 << 20, '\n'));
  put(*cache_, key_, Document());
  onlyItem() = format.seal(body);
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged);
}

TEST_F(Envelope, Semantics29_WithASecretAForgedEntryIsACountedMiss) {
  const EnvelopeOptions keyed{.name_space = "site /a shared", .secret = "between us"};
  const auto mine = open(keyed);
  put(*mine, key_, Document::from("real"));
  EXPECT_EQ(mine->get(key_, kSoon).status, Status::hit);

  put(*cache_, key_, Document::from("forged without a secret"));
  EXPECT_EQ(mine->get(key_, kSoon).reason, Reason::damaged);

  put(*open({.name_space = "site /a shared", .secret = "guessed"}), key_, Document::from("forged"));
  EXPECT_EQ(mine->get(key_, kSoon).reason, Reason::damaged);

  put(*mine, key_, Document::from("real"));
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged);
}

TEST_F(Envelope, TheMacBindsAnEntryToItsNameSpace) {
  const auto one = open({.name_space = "one", .secret = "s"});
  const auto two = open({.name_space = "two", .secret = "s"});
  put(*one, key_, Document());
  const std::string sealed = onlyItem();
  store_->items.clear();
  put(*two, key_, Document());
  onlyItem() = sealed;
  EXPECT_EQ(two->get(key_, kSoon).reason, Reason::damaged);
}

TEST_F(Envelope, OtherProgramsCanReadTheBody) {
  put(*cache_, key_, Document::from(kTree));
  const std::string& envelope = onlyItem();
  EXPECT_THAT(envelope, StartsWith(std::string("LRDE\1\0\0\0", 8)));
  const auto handle = msgpack::unpack(envelope.data() + 16, envelope.size() - 16);
  const auto& fields = handle.get().via.array;
  ASSERT_EQ(fields.size, 14u);
  EXPECT_EQ(fields.ptr[1].as<std::uint64_t>(), 41u);
  EXPECT_EQ(fields.ptr[10].as<std::string>(), "obj:/a\ntag:news");
  EXPECT_EQ(fields.ptr[13].via.map.ptr[0].val.as<std::string>(), "dpkg");
}

// ---- The rest

TEST_F(Envelope, Semantics17_WhatACallerHoldsOutlivesTheStoresCopy) {
  put(*cache_, key_, Document::from(kTree));
  const EntryPtr held = cache_->get(key_, kSoon).entry.share();
  put(*cache_, key_, Document::from("another"));
  EXPECT_EQ(held->value.document(), Document::from(kTree));
}

TEST_F(Envelope, LedgerL24_ALeaseIsHeldByOneAndLiesApartFromTheValue) {
  put(*cache_, key_, Document::from("value"));
  EXPECT_TRUE(cache_->lease(key_, "me", 10'000, kSoon).ok);
  EXPECT_EQ(cache_->lease(key_, "you", 10'000, kSoon).reason, Reason::exists);
  EXPECT_FALSE(cache_->endLease(key_, "you", kSoon).ok);
  EXPECT_TRUE(cache_->endLease(key_, "me", kSoon).ok);
  EXPECT_TRUE(cache_->lease(key_, "you", 10'000, kSoon).ok);
  EXPECT_EQ(cache_->get(key_, kSoon).status, Status::hit);
}

TEST_F(Envelope, LedgerL24_ALeaseLastsAtLeastTwoSeconds) {
  cache_->lease(key_, "me", 1, kSoon);
  EXPECT_EQ(store_->items.begin()->second.ttl, 2000);
}

TEST_F(Envelope, ItsSettingsCanBeRead) {
  const auto settings = readSettings(envelopeSettings(), {}, "manager 'shared'");
  ASSERT_TRUE(settings) << settings.error().message;
  const EnvelopeOptions options = envelopeOptions(*settings, "ns");
  EXPECT_EQ(options.prefix, "larder:");
  EXPECT_EQ(options.compress_above, EnvelopeOptions().compress_above);
  EXPECT_EQ(options.max_value, EnvelopeOptions().max_value);
}

}  // namespace
}  // namespace larder
