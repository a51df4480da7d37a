#include "larder/cache/cache_manager.h"

#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace larder::testing {
namespace {

ManagerPtr managerAt(std::string path, std::string id, bool is_default = false) {
  return std::make_shared<const CacheManager>(
      CacheManager::Identity{std::move(path), std::move(id), "Map", is_default}, Policy{},
      std::make_shared<MapCache>(), Waits::never);
}

std::string shown(const ManagerPtr& manager) {
  return manager ? manager->identity().id + " at " + manager->identity().path : "none";
}

TEST(Acquisition, Semantics41_TheNearestManagerOfThatIdServes) {
  const CacheManagerRegistry registry(
      {managerAt("/", "fast"), managerAt("/a", "fast"), managerAt("/a/b", "other")}, {});
  EXPECT_EQ(shown(registry.acquire("/a/b/c", "fast")), "fast at /a");
  EXPECT_EQ(shown(registry.acquire("/ab", "fast")), "fast at /");
  EXPECT_EQ(shown(registry.acquire("/a/c", "other")), "none");
}

TEST(Acquisition, Semantics41_WithoutAnIdTheNearestDefaultServes) {
  const CacheManagerRegistry registry(
      {managerAt("/", "one", true), managerAt("/a", "two"), managerAt("/a/b", "three", true)}, {});
  EXPECT_EQ(shown(registry.nearestDefault("/a")), "one at /");
  EXPECT_EQ(shown(registry.nearestDefault("/a/b/c")), "three at /a/b");
}

TEST(Acquisition, Semantics41_ANearerOneThatFailedIsNotReplacedByAFartherOne) {
  const CacheManagerRegistry registry({managerAt("/", "fast", true)},
                                      {{{"/a", "fast", "Map", true}, "its server is gone"}});
  EXPECT_EQ(shown(registry.acquire("/a/b", "fast")), "none");
  EXPECT_EQ(shown(registry.nearestDefault("/a/b")), "none");
  EXPECT_EQ(shown(registry.acquire("/b", "fast")), "fast at /");
}

}  // namespace
}  // namespace larder::testing
