// A store whose server hangs, dies and comes back.
#include "cases.h"
#include "larder/cache/system_clock.h"
#include "larder/testing/memcached_server.h"

namespace larder::testing {
namespace {

class ConformanceOutage : public CacheCase {
 protected:
  void TearDown() override {
    if (killed_) {
      auto restarted = server.restart();
      ASSERT_TRUE(restarted) << restarted.error().message;
    }
    server.resume();
  }
  void kill() {
    server.kill();
    killed_ = true;
  }
  void restart() {
    auto restarted = server.restart();
    ASSERT_TRUE(restarted) << restarted.error().message;
    killed_ = false;
  }
  /// What the store answers once it can be asked again.
  Lookup getWhenBack(std::string_view key) {
    const Millis patience = world.clock().monotonic() + 20'000;
    Lookup lookup = get(key);
    while (lookup.status == Status::error && world.clock().monotonic() < patience) {
      world.pass(50);
      lookup = get(key);
    }
    return lookup;
  }

  MemcachedServer& server = *currentSubject()->memcached();

 private:
  bool killed_ = false;
};
LARDER_OPTIONAL_SUITE(ConformanceOutage, variantsIf(currentSubject()->isByteCache() &&
                                                    currentSubject()->memcached() != nullptr));

TEST_P(ConformanceOutage, Semantics27_AServerThatHangsIsAnErrorByTheDeadline) {
  put("key");
  server.pause();
  const SystemClock real;
  const Millis begin = real.monotonic();
  const Lookup lookup = cache->get(keyOf("key"), world.clock().monotonic() + 300);
  EXPECT_LT(real.monotonic() - begin, 3000);
  EXPECT_EQ(lookup.status, Status::error);
  EXPECT_FALSE(lookup.entry);
}

TEST_P(ConformanceOutage, Semantics28_AServerThatDiedIsAnErrorAndNoMiss) {
  put("key");
  kill();
  EXPECT_EQ(get("key").status, Status::error);
  EXPECT_EQ(get("never put").status, Status::error);
}

TEST_P(ConformanceOutage, WhatCannotBeStoredIsNotCalledStored) {
  put("key");
  kill();
  EXPECT_FALSE(cache
                   ->put(keyOf("key"),
                         EntryPtr(makeEntry(keyOf("key"), textValue("x"), world.clock())),
                         world.soon())
                   .ok);
  EXPECT_FALSE(cache->erase(keyOf("key"), world.soon()).ok);
}

TEST_P(ConformanceOutage, GetManyAnswersWithErrors) {
  put("key");
  kill();
  const CacheKey keys[] = {keyOf("key"), keyOf("another")};
  Lookup found[2];
  cache->getMany(keys, found, world.soon());
  EXPECT_EQ(found[0].status, Status::error);
  EXPECT_EQ(found[1].status, Status::error);
}

TEST_P(ConformanceOutage, HealthTellsOfIt) {
  kill();
  for (int i = 0; i < 5; ++i) get("key");
  const Health health = cache->health();
  EXPECT_FALSE(health.ok);
  EXPECT_FALSE(health.detail.empty());
}

TEST_P(ConformanceOutage, WorksAgainWhenTheServerAnswersAgain) {
  const EntryPtr expected = put("key");
  server.pause();
  for (int i = 0; i < 3; ++i) cache->get(keyOf("key"), world.clock().monotonic() + 100);
  server.resume();
  const Lookup lookup = getWhenBack("key");
  ASSERT_TRUE(isHit(lookup));
  EXPECT_TRUE(sameEntry(*expected, *lookup.entry));
}

TEST_P(ConformanceOutage, AServerThatWasRestartedIsEmptyAndUsable) {
  put("key");
  kill();
  for (int i = 0; i < 3; ++i) get("key");
  restart();
  EXPECT_TRUE(isMiss(getWhenBack("key")));
  put("key");
  EXPECT_TRUE(isHit(get("key")));
}

}  // namespace
}  // namespace larder::testing
