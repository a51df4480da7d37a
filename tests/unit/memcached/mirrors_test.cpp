// Mirrors, logins, weights: each against real servers.
#include <gmock/gmock.h>

#include <fstream>

#include "larder/cache/envelope.h"
#include "larder/testing/temp_dir.h"
#include "manager_support.h"

namespace larder::testing {
namespace {

using memcached::MemcachedManager;
using ::testing::HasSubstr;
using Listens = MemcachedServer::Listens;

constexpr Deadline kSoon = kForever;
constexpr Millis kMinute = 60'000;

class Mirrors : public ManagerTest {
 protected:
  std::unique_ptr<MemcachedManager> mirrored(RawSettings more = {}) {
    more["mirrors"] = {std::vector{mirror_.address()}, "the test"};
    return open({first_.address()}, std::move(more));
  }
  MemcachedServer first_ = launch();
  MemcachedServer mirror_ = launch({.listens = Listens::unixSocket});
};

TEST_F(Mirrors, ReceiveEveryStoreAndErase) {
  const auto cache = mirrored();
  ASSERT_TRUE(cache->put("key", "v", kMinute, kSoon).ok);
  EXPECT_EQ(mirror_.stat("curr_items"), 1u);
  ASSERT_TRUE(cache->erase("key", kSoon).ok);
  EXPECT_EQ(first_.stat("curr_items"), 0u);
  EXPECT_EQ(mirror_.stat("curr_items"), 0u);
}

TEST_F(Mirrors, AreNotAskedWhileTheFirstServersAreWell) {
  const auto cache = mirrored();
  cache->put("key", "v", kMinute, kSoon);
  const auto before = mirror_.stat("cmd_get");
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), "v");
  EXPECT_EQ(cache->get("other", kSoon).status, Status::miss);
  EXPECT_EQ(mirror_.stat("cmd_get"), before);
}

TEST_F(Mirrors, ServeWhileTheFirstServersAreDeadAndTakeTheStores) {
  const auto cache = mirrored();
  cache->put("old", "before", kMinute, kSoon);
  first_.kill();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(valueOf(cache->get("old", kSoon)), "before");
  EXPECT_TRUE(cache->put("new", "meanwhile", kMinute, kSoon).ok);
  const std::string_view keys[] = {"old", "new", "none"};
  ByteLookup found[3];
  cache->getMany(keys, found, kSoon);
  EXPECT_EQ(valueOf(found[0]), "before");
  EXPECT_EQ(valueOf(found[1]), "meanwhile");
  EXPECT_EQ(found[2].status, Status::miss);
  EXPECT_FALSE(cache->health().ok);

  ASSERT_TRUE(first_.restart());
  runProbes(6'000);
  EXPECT_TRUE(cache->health().ok);
  EXPECT_EQ(cache->get("old", kSoon).status, Status::miss);  // its word, and it is empty
}

TEST_F(Mirrors, Semantics27_AHungServerLeavesTheMirrorToServeOnceItsBreakerIsOpen) {
  const auto cache = mirrored(with("timeout", std::string("50ms")));
  ASSERT_TRUE(cache->put("key", "v", kMinute, kSoon).ok);
  first_.pause();
  for (int i = 0; i < 2; ++i) (void)cache->get("key", kSoon);
  EXPECT_EQ(counter(*cache, "breakers_open"), 1u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(valueOf(cache->get("key", kSoon)), "v");
  first_.resume();
}

TEST_F(Mirrors, OneLeaseIsGivenWhileTheFirstServersAreDead) {
  const auto cache = mirrored();
  first_.kill();
  EXPECT_TRUE(cache->add("lease", "me", kMinute, kSoon).ok);
  EXPECT_EQ(cache->add("lease", "you", kMinute, kSoon).reason, Reason::exists);
  EXPECT_TRUE(cache->release("lease", "me", kSoon).ok);
  EXPECT_TRUE(cache->add("lease", "you", kMinute, kSoon).ok);
}

TEST_F(Mirrors, FaultA29_AValueOverTheLimitLeavesNoOlderOneOnEither) {
  const auto cache = mirrored();
  cache->put("key", "small", kMinute, kSoon);
  EXPECT_EQ(cache->put("key", std::string(3 << 20, 'x'), kMinute, kSoon).reason, Reason::too_large);
  EXPECT_EQ(first_.stat("curr_items"), 0u);
  EXPECT_EQ(mirror_.stat("curr_items"), 0u);
}

TEST_F(Mirrors, AServerIsNoMirrorOfItself) {
  try {
    open({first_.address()}, with("mirrors", std::vector{first_.address()}));
    FAIL() << "taken";
  } catch (const std::exception& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("mirrors: '" + first_.address() + "'"));
  }
}

// ---- Logins

class Login : public ManagerTest {
 protected:
  Login() {
    std::ofstream(folder_.file("users")) << "larder:open-sesame\n";
    options_.arguments = {"-Y", folder_.file("users")};
  }
  RawSettings as(const std::string& password) {
    return {{"username", {std::string("larder"), "the test"}},
            {"password", {password, "the test"}}};
  }
  TempDir folder_;
  MemcachedServer::Options options_;
};

TEST_F(Login, TheRightOneIsLetIn) {
  const auto server = launch(options_);
  const auto cache = open({server.address()}, as("open-sesame"));
  ASSERT_TRUE(cache->put("key", "v", kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), "v");
  EXPECT_TRUE(cache->health().ok);
}

TEST_F(Login, TheWrongOneIsAnErrorThatSaysSo) {
  const auto server = launch(options_);
  auto settings = as("open-barley");
  settings["breaker_after"] = {std::int64_t{1}, "the test"};
  const auto cache = open({server.address()}, std::move(settings));
  EXPECT_EQ(cache->get("key", kSoon).status, Status::error);
  EXPECT_THAT(cache->health().detail, HasSubstr("does not accept username and password"));
}

TEST_F(Login, WithoutOneTheErrorSaysWhatToSet) {
  const auto server = launch(options_);
  const auto cache = open({server.address()}, with("breaker_after", std::int64_t{1}));
  EXPECT_EQ(cache->get("key", kSoon).status, Status::error);
  EXPECT_THAT(cache->health().detail, HasSubstr("set username and password"));
}

TEST_F(Login, FaultA27_NoCommandHidesInIt) {
  for (const char* password : {"", "a\r\nset victim 0 0 1", "a\nb", "a b"}) {
    EXPECT_THROW(open({"127.0.0.1:1"}, as(password)), std::runtime_error) << password;
  }
}

// ---- Weights, parts

TEST_F(ManagerTest, AServerOfThreeTimesTheWeightGetsThreeTimesTheKeys) {
  auto light = launch();
  auto heavy = launch();
  const auto cache = open({light.address(), heavy.address() + "?3"});
  for (int i = 0; i < 2000; ++i)
    ASSERT_TRUE(cache->put("key-" + std::to_string(i), "v", kMinute, kSoon).ok);
  const auto share = static_cast<double>(heavy.stat("curr_items")) / 2000;
  EXPECT_NEAR(share, 0.75, 0.1);
}

}  // namespace
}  // namespace larder::testing
