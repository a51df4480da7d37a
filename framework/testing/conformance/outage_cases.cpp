// A store whose servers hang, die and come back.
#include "cases.h"
#include "larder/cache/system_clock.h"
#include "larder/testing/memcached_server.h"

namespace larder::testing {
namespace {

/// All servers that the variant names fail at once.
class ConformanceOutage : public CacheCase {
 protected:
  void TearDown() override {
    restart();
    resume();
  }
  void pause() {
    for (auto* server : servers) server->pause();
  }
  void resume() {
    for (auto* server : servers) server->resume();
  }
  void kill() {
    for (auto* server : servers) kill(*server);
  }
  void kill(MemcachedServer& server) {
    server.kill();
    killed_.push_back(&server);
  }
  void restart() {
    for (auto* server : std::exchange(killed_, {})) {
      auto restarted = server->restart();
      ASSERT_TRUE(restarted) << restarted.error().message;
    }
  }
  /// Not through `cache`, which may keep near what passes through it.
  EntryPtr put(std::string_view key) { return CacheCase::put(*writer, key, textValue(key)); }
  Stored tryToPut(std::string_view key) {
    return writer->put(keyOf(key),
                       EntryPtr(makeEntry(keyOf(key), textValue("another"), world.clock())),
                       world.soon());
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

  const std::vector<MemcachedServer*> servers = currentSubject()->servers(GetParam());
  /// Another instance over the same servers.
  const std::shared_ptr<Cache> writer = world.cache();

 private:
  std::vector<MemcachedServer*> killed_;
};
LARDER_OPTIONAL_SUITE(ConformanceOutage, variantsWithServers(1));

TEST_P(ConformanceOutage, Semantics27_AServerThatHangsIsAnErrorByTheDeadline) {
  put("key");
  pause();
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
  if (tryToPut("key").ok) {
    EXPECT_TRUE(isHit(get(*writer, "key"))) << "it is not here either";
  }
  EXPECT_FALSE(writer->erase(keyOf("key"), world.soon()).ok);
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
  pause();
  for (int i = 0; i < 3; ++i) cache->get(keyOf("key"), world.clock().monotonic() + 100);
  resume();
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
  CacheCase::put("key");
  EXPECT_TRUE(isHit(get("key")));
}

/// One of several servers fails.
using ConformanceOneOfSeveral = ConformanceOutage;
LARDER_OPTIONAL_SUITE(ConformanceOneOfSeveral, variantsWithServers(2));

TEST_P(ConformanceOneOfSeveral, Semantics27_TakesItsOwnKeysAwayAndNoOthers) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) put(names.emplace_back("key-" + std::to_string(i)));
  kill(*servers.back());
  std::vector<CacheKey> keys;
  for (const std::string& name : names) keys.push_back(keyOf(name));
  std::vector<Lookup> found(keys.size());
  cache->getMany(keys, found, world.soon());
  std::vector<std::string> kept;
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_lost = found[i].status == Status::error;
    EXPECT_TRUE(is_lost || isHit(found[i])) << names[i];
    (is_lost ? lost : kept).push_back(names[i]);
  }
  EXPECT_FALSE(kept.empty());
  ASSERT_FALSE(lost.empty());

  // No other server takes its place, so none brings an old value back when it is there again.
  tryToPut(lost[0]);
  EXPECT_EQ(get(lost[0]).status, Status::error);
  restart();
  EXPECT_TRUE(isMiss(getWhenBack(lost[0])));
  for (const std::string& name : lost) EXPECT_TRUE(isMiss(get(name))) << name;
  for (const std::string& name : kept) EXPECT_TRUE(isHit(get(name))) << name;
}

}  // namespace
}  // namespace larder::testing
