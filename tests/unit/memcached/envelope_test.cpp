// Entries through the envelope on a real server, and what strangers may do to them there.
#include "larder/cache/envelope.h"

#include <gmock/gmock.h>

#include "../cache/envelope_support.h"
#include "manager_support.h"

namespace larder::testing {
namespace {

using memcached::MemcachedManager;

constexpr Deadline kSoon = kForever;

class EnvelopeOnMemcached : public ManagerTest {
 protected:
  EnvelopeOnMemcached() {
    // Times on the server are its own.
    clock_.jumpWall(static_cast<Millis>(::time(nullptr)) * 1000 - clock_.wall());
  }
  std::unique_ptr<EnvelopeCache> over(EnvelopeOptions options) {
    auto store = open({server_.address()}, with("timeout", std::string("5s")));
    return std::make_unique<EnvelopeCache>(std::shared_ptr<ByteCache>(std::move(store)), clock_,
                                           std::move(options));
  }
  Stored put(Cache& cache, const CacheKey& key, Value value) {
    return cache.put(key, EntryPtr(makeEntry(key, clock_, std::move(value))), kSoon);
  }
  /// The wire key of the only item; the dump would escape a colon.
  std::string onlyKey() {
    const auto keys = server_.keys();
    return keys.empty() ? "none" : keys.front();
  }
  void overwrite(const std::string& bytes) {
    ASSERT_EQ(
        server_.ask("set " + onlyKey() + " 0 0 " + std::to_string(bytes.size()) + "\r\n" + bytes),
        "STORED\r\n");
  }

  MemcachedServer server_ = launch();
  std::unique_ptr<EnvelopeCache> cache_ = over({.prefix = "test-", .name_space = "site"});
  const TestKey key_{"/a"};
};

TEST_F(EnvelopeOnMemcached, APageAndADocumentComeBack) {
  Page page;
  page.body = "<p>body</p>";
  const TestKey other("/b");
  ASSERT_TRUE(put(*cache_, key_, page).ok);
  ASSERT_TRUE(put(*cache_, other, Document::from(Tree::list({1, "two", 3.0}))).ok);
  const CacheKey keys[] = {key_, other};
  Lookup found[2];
  cache_->getMany(keys, found, kSoon);
  ASSERT_EQ(found[0].status, Status::hit);
  EXPECT_EQ(found[0].entry->value.page()->body, page.body);
  ASSERT_EQ(found[1].status, Status::hit);
  EXPECT_EQ(found[1].entry->value.document(), Document::from(Tree::list({1, "two", 3.0})));
}

TEST_F(EnvelopeOnMemcached, FaultA34_StrangersBytesAreAMiss) {
  for (const std::string& bytes : {std::string("foreign"), std::string(5000, '\0'), std::string(),
                                   std::string("LRDE\1\0\0\0garbage", 15)}) {
    put(*cache_, key_, Document());
    overwrite(bytes);
    EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged);
  }
}

TEST_F(EnvelopeOnMemcached, FaultA34_WrongFlagsAreAMiss) {
  put(*cache_, key_, Document());
  ASSERT_EQ(server_.ask("set " + onlyKey() + " 1 0 1\r\nx"), "STORED\r\n");
  EXPECT_EQ(cache_->get(key_, kSoon).reason, Reason::damaged);
}

TEST_F(EnvelopeOnMemcached, Semantics15_AChunkedValueComesBackWhole) {
  const auto cache =
      over({.prefix = "test-", .name_space = "site", .compress_above = 64 << 20, .chunk = true});
  std::string large(3'500'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 % 251);
  ASSERT_TRUE(put(*cache, key_, Document::from(large)).ok);
  EXPECT_EQ(server_.stat("curr_items"), 5u);
  const Lookup found = cache->get(key_, kSoon);
  ASSERT_EQ(found.status, Status::hit);
  EXPECT_EQ(found.entry->value.document().root().text(), large);
}

TEST_F(EnvelopeOnMemcached, Semantics15_APartThatWasEvictedMakesTheWholeAMiss) {
  const auto cache =
      over({.prefix = "test-", .name_space = "site", .compress_above = 64 << 20, .chunk = true});
  ASSERT_TRUE(put(*cache, key_, Document::from(std::string(3'500'000, 'x'))).ok);
  const auto keys = server_.keys();
  ASSERT_EQ(keys.size(), 5u);
  for (const auto& key : keys) {
    ASSERT_TRUE(put(*cache, key_, Document::from(std::string(3'500'000, 'x'))).ok);
    ASSERT_EQ(server_.ask("delete " + key), "DELETED\r\n");
    EXPECT_EQ(cache->get(key_, kSoon).status, Status::miss);
  }
}

TEST_F(EnvelopeOnMemcached, FaultA29_Semantics15_WithoutChunksALargeValueReplacesTheOldByNothing) {
  put(*cache_, key_, Document::from("v1"));
  std::string noise(3 << 20, '\0');
  std::uint64_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 6364136223846793005u + 1) >> 56);
  EXPECT_EQ(put(*cache_, key_, Document::from(noise)).reason, Reason::too_large);
  EXPECT_EQ(cache_->get(key_, kSoon).status, Status::miss);
  EXPECT_EQ(server_.stat("curr_items"), 0u);
}

TEST_F(EnvelopeOnMemcached, AnEntryThatLivesForThirtyOneDaysIsThere) {
  auto entry = makeEntry(key_, clock_, Document::from("long"));
  entry->lifetime.error_until = entry->lifetime.created + Millis{31} * 86'400'000;
  ASSERT_TRUE(cache_->put(key_, EntryPtr(std::move(entry)), kSoon).ok);
  EXPECT_EQ(cache_->get(key_, kSoon).status, Status::hit);
}

TEST_F(EnvelopeOnMemcached, LedgerL24_OneLeaseAtATime) {
  EXPECT_TRUE(cache_->lease(key_, "me", 2000, kSoon).ok);
  EXPECT_EQ(cache_->lease(key_, "you", 2000, kSoon).reason, Reason::exists);
  EXPECT_TRUE(cache_->endLease(key_, "me", kSoon).ok);
  EXPECT_TRUE(cache_->lease(key_, "you", 2000, kSoon).ok);
}

}  // namespace
}  // namespace larder::testing
