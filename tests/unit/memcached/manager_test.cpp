// The manager against real servers that are well.
#include <gmock/gmock.h>

#include <poll.h>

#include <array>
#include <set>

#include "manager_support.h"

namespace larder::testing {
namespace {

using memcached::Endpoint;
using memcached::endpointOf;
using memcached::MemcachedManager;
using memcached::parseServer;
using memcached::Server;
using ::testing::HasSubstr;
using Listens = MemcachedServer::Listens;

constexpr Deadline kSoon = kForever;
constexpr Millis kMinute = 60'000;

/// Until the server's own clock, which ticks once a second, has come to `done`.
template <class Condition>
bool eventually(Condition done) {
  for (int i = 0; i < 500; ++i) {
    if (done()) return true;
    ::poll(nullptr, 0, 20);
  }
  return false;
}

class MemcachedOn : public ManagerTest, public ::testing::WithParamInterface<Listens> {
 protected:
  MemcachedServer server_ = launch({.listens = GetParam()});
  std::unique_ptr<MemcachedManager> cache_ = open({server_.address()});
};

TEST_P(MemcachedOn, GivesBackWhatItWasGiven) {
  const std::string value("any\r\nbytes\0END\r\n", 16);
  EXPECT_TRUE(cache_->put("key", value, kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache_->get("key", kSoon)), value);
}

TEST_P(MemcachedOn, Semantics28_AKeyThatIsNotThereIsAMiss) {
  const ByteLookup found = cache_->get("absent", kSoon);
  EXPECT_EQ(found.status, Status::miss);
  EXPECT_EQ(found.reason, Reason::cold);
}

TEST_P(MemcachedOn, Semantics16_AnEmptyValueIsAValue) {
  EXPECT_TRUE(cache_->put("empty", "", kMinute, kSoon).ok);
  const ByteLookup found = cache_->get("empty", kSoon);
  EXPECT_EQ(found.status, Status::hit);
  EXPECT_EQ(found.value.data, "");
}

TEST_P(MemcachedOn, ErasesAndDoesNotMindWhatIsNotThere) {
  cache_->put("key", "value", kMinute, kSoon);
  EXPECT_TRUE(cache_->erase("key", kSoon).ok);
  EXPECT_TRUE(cache_->erase("key", kSoon).ok);
  EXPECT_EQ(cache_->get("key", kSoon).status, Status::miss);
}

TEST_P(MemcachedOn, Semantics32_ManyKeysTakeOneCommand) {
  const auto valueFor = [](int i) { return std::string(10'000, static_cast<char>('a' + i % 26)); };
  std::vector<std::string> keys;
  for (int i = 0; i < 62; ++i) keys.push_back("key-" + std::to_string(i));
  for (int i = 0; i < 62; i += 2) cache_->put(keys[i], valueFor(i), kMinute, kSoon);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<ByteLookup> found(62);
  cache_->getMany(views, found, kSoon);
  for (int i = 0; i < 62; ++i) {
    EXPECT_EQ(found[i].status, i % 2 == 0 ? Status::hit : Status::miss) << i;
    if (i % 2 == 0) {
      EXPECT_EQ(found[i].value.data, valueFor(i)) << i;
    }
  }
  EXPECT_EQ(server_.stat("cmd_get"), 62u);
}

TEST_P(MemcachedOn, TheSameKeyMayBeAskedForTwiceAtOnce) {
  cache_->put("a", "A", kMinute, kSoon);
  const std::array<std::string_view, 4> keys = {"a", "absent", "a", "a"};
  std::array<ByteLookup, 4> found;
  cache_->getMany(keys, found, kSoon);
  EXPECT_EQ(valueOf(found[0]), "A");
  EXPECT_EQ(found[1].status, Status::miss);
  EXPECT_EQ(valueOf(found[2]), "A");
  EXPECT_EQ(valueOf(found[3]), "A");
}

TEST_P(MemcachedOn, ThousandsOfKeysAtOnceAreAnswered) {
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back("key-" + std::to_string(i));
  for (int i = 0; i < 3000; i += 100) cache_->put(keys[i], keys[i], kMinute, kSoon);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<ByteLookup> found(keys.size());
  cache_->getMany(views, found, kSoon);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(found[i].status, i % 100 == 0 ? Status::hit : Status::miss) << i;
  }
}

TEST_P(MemcachedOn, LargeValuesArriveWhole) {
  std::string value(1'000'000, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 7 % 251);
  const auto cache = open({server_.address()}, with("timeout", std::string("10s")));
  ASSERT_TRUE(cache->put("large", value, kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache->get("large", kSoon)), value);
}

TEST_P(MemcachedOn, AddStoresOnlyOnce) {
  EXPECT_TRUE(cache_->add("lease", "me", 10'000, kSoon).ok);
  EXPECT_EQ(cache_->add("lease", "you", 10'000, kSoon).reason, Reason::exists);
  EXPECT_EQ(valueOf(cache_->get("lease", kSoon)), "me");
}

TEST_P(MemcachedOn, LedgerL24_OnlyTheHolderEndsALease) {
  cache_->add("lease", "me", 10'000, kSoon);
  EXPECT_EQ(cache_->release("lease", "he", kSoon).reason, Reason::exists);
  EXPECT_EQ(cache_->release("lease", "somebody else", kSoon).reason, Reason::exists);
  EXPECT_TRUE(cache_->release("lease", "me", kSoon).ok);
  EXPECT_TRUE(cache_->add("lease", "you", 10'000, kSoon).ok);
}

TEST_P(MemcachedOn, LedgerL24_ALeaseThatIsGoneCannotBeEnded) {
  EXPECT_EQ(cache_->release("lease", "me", kSoon).reason, Reason::cold);
}

INSTANTIATE_TEST_SUITE_P(Address, MemcachedOn,
                         ::testing::Values(Listens::tcp, Listens::tcp6, Listens::unixSocket),
                         [](const auto& run) {
                           return run.param == Listens::tcp    ? "Tcp"
                                  : run.param == Listens::tcp6 ? "Tcp6"
                                                               : "Unix";
                         });

class Memcached : public ManagerTest {
 protected:
  MemcachedServer server_ = launch();
  std::unique_ptr<MemcachedManager> cache_ = open({server_.address()});
};

// ---- Settings

TEST_F(Memcached, StartsWithoutAServer) {
  server_.kill();
  EXPECT_NO_THROW(open({server_.address()}));
}

TEST_F(Memcached, FaultA32_StartsWithANameThatDoesNotResolve) {
  const auto cache = open({"no-such-host.invalid:11211"});
  EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
  EXPECT_FALSE(cache->health().ok);
  EXPECT_THAT(cache->health().detail, HasSubstr("no-such-host.invalid:11211: the name cannot be"));
}

TEST_F(Memcached, FaultA32_ANameIsResolvedAgainUntilItsServerAnswers) {
  static std::optional<Endpoint> there;
  const Server::Resolve resolve = [](Endpoint endpoint) {
    endpoint.problem = there ? "" : "nobody knows it";
    if (there) {
      endpoint.address = there->address;
      endpoint.address_size = there->address_size;
    }
    return endpoint;
  };
  const auto server = std::make_shared<Server>(
      host_, endpointOf(*parseServer("cache.example:11211")), memcached::ServerOptions{}, resolve);
  server->start();
  runProbes(6'000);
  EXPECT_TRUE(server->breakerOpen());
  EXPECT_THAT(server->trouble(), HasSubstr("nobody knows it"));
  there = endpointOf(*parseServer(server_.address()));
  runProbes(6'000);
  EXPECT_FALSE(server->breakerOpen());
  // It moves.
  const MemcachedServer other = launch();
  server_.kill();
  for (int i = 0; i < 2; ++i) server->failed({Reason::unreachable, "gone"}, 0);
  there = endpointOf(*parseServer(other.address()));
  runProbes(6'000);
  EXPECT_FALSE(server->breakerOpen());
  server->stop();
}

TEST_F(Memcached, WrongSettingsNameTheSetting) {
  const auto problem = [&](std::vector<std::string> servers, RawSettings more) -> std::string {
    try {
      open(std::move(servers), std::move(more));
    } catch (const std::exception& refused) {
      return refused.what();
    }
    return "none";
  };
  EXPECT_THAT(problem({"nonsense"}, {}), HasSubstr("server 'nonsense'"));
  EXPECT_THAT(problem({}, {}), HasSubstr("servers"));
  EXPECT_THAT(problem({"127.0.0.1:1", "localhost:1"}, {}),
              HasSubstr("'127.0.0.1:1' and 'localhost:1' are one server"));
  EXPECT_THAT(problem({"a:1"}, with("timeout", std::string("0s"))), HasSubstr("timeout"));
  EXPECT_THAT(problem({"a:1"}, with("breaker_after", std::int64_t{0})), HasSubstr("breaker_after"));
  EXPECT_THAT(problem({"a:1"}, with("binary", true)), HasSubstr("deprecated"));
}

// ---- Keys

TEST_F(Memcached, FaultA27_WhatIsNoKeyIsNotSent) {
  ASSERT_EQ(server_.ask("set victim 0 0 5\r\nalive"), "STORED\r\n");
  const auto before = server_.stat("cmd_set");
  for (const std::string& key :
       {std::string("x\r\nset victim 0 0 1\r\nZ"), std::string("a b"), std::string("a\0b", 3),
        std::string("a\tb"), std::string("\x7f"), std::string("\xc3\xbc"), std::string()}) {
    EXPECT_EQ(cache_->get(key, kSoon).reason, Reason::unsupported);
    EXPECT_EQ(cache_->put(key, "Z", kMinute, kSoon).reason, Reason::unsupported);
    EXPECT_EQ(cache_->add(key, "Z", kMinute, kSoon).reason, Reason::unsupported);
    EXPECT_EQ(cache_->erase(key, kSoon).reason, Reason::unsupported);
    EXPECT_EQ(cache_->release(key, "Z", kSoon).reason, Reason::unsupported);
    std::array<ByteLookup, 2> found;
    const std::array<std::string_view, 2> keys = {key, "victim"};
    cache_->getMany(keys, found, kSoon);
    EXPECT_EQ(found[0].reason, Reason::unsupported);
    EXPECT_EQ(valueOf(found[1]), "alive");
  }
  EXPECT_EQ(server_.stat("cmd_set"), before);
}

TEST_F(Memcached, FaultA28_KeysOf250BytesAreTakenLongerOnesAreNot) {
  for (const std::size_t size : {249u, 250u, 251u, 252u}) {
    const std::string key(size, 'k');
    const Stored stored = cache_->put(key, std::to_string(size), kMinute, kSoon);
    EXPECT_EQ(stored.ok, size <= 250) << size;
    EXPECT_EQ(valueOf(cache_->get(key, kSoon)),
              size <= 250 ? std::to_string(size) : "no value: unsupported");
  }
}

// ---- Sizes

TEST_F(Memcached, FaultA29_AValueOverTheLimitIsNotSentAndLeavesNoOlderOne) {
  const auto cache = open({server_.address()}, with("timeout", std::string("10s")));
  cache->put("key", "v1", kMinute, kSoon);
  cache->put("other", "kept", kMinute, kSoon);
  const auto sent = server_.stat("bytes_read");
  EXPECT_EQ(cache->put("key", std::string(3 << 20, 'x'), kMinute, kSoon).reason, Reason::too_large);
  EXPECT_EQ(cache->get("key", kSoon).status, Status::miss);
  EXPECT_EQ(valueOf(cache->get("other", kSoon)), "kept");
  EXPECT_LT(server_.stat("bytes_read") - sent, 1000u);
  EXPECT_TRUE(cache->health().ok);
}

TEST_F(Memcached, TheLargestValueThatItPromisesIsTaken) {
  const auto cache = open({server_.address()}, with("timeout", std::string("10s")));
  cache->get("any", kSoon);
  const std::string value(cache->maxValueBytes(), 'x');
  EXPECT_TRUE(cache->put(std::string(250, 'k'), value, kMinute, kSoon).ok);
}

TEST_F(Memcached, FaultA29_ARaisedLimitOfTheServerIsPickedUp) {
  const auto cache = open({server_.address()}, with("timeout", std::string("10s")));
  const std::string value(3 << 20, 'x');
  EXPECT_EQ(cache->put("key", value, kMinute, kSoon).reason, Reason::too_large);
  server_.kill();
  ASSERT_TRUE(server_.restart(std::vector<std::string>{"-I", "8m"}));
  EXPECT_TRUE(cache->put("key", value, kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), value);
  EXPECT_GT(cache->maxValueBytes(), 8'000'000u);
}

TEST_F(Memcached, ItsOwnLimitHoldsWhateverTheServerTakes) {
  const auto cache = open({server_.address()}, with("max_item_size", std::string("10K")));
  EXPECT_EQ(cache->put("key", std::string(11'000, 'x'), kMinute, kSoon).reason, Reason::too_large);
  EXPECT_TRUE(cache->put("key", std::string(9'000, 'x'), kMinute, kSoon).ok);
}

TEST_F(Memcached, FaultA34_AStrangersLargeValueIsNoFailureOfTheServer) {
  for (const std::string& value : {std::string(1'048'300, 'x'), std::string(20'000, 'x')}) {
    const auto cache = open({server_.address()}, with("max_item_size", std::string("10K")));
    ASSERT_EQ(server_.ask("set key 0 0 " + std::to_string(value.size()) + "\r\n" + value),
              "STORED\r\n");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cache->get("key", kSoon).value.data.size(), value.size());
    EXPECT_EQ(cache->release("key", "token", kSoon).reason, Reason::exists);
    EXPECT_EQ(counter(*cache, "errors_protocol"), 0u);
  }
}

TEST_F(Memcached, AFullServerIsNoError) {
  const auto small = launch({.megabytes = 2});
  const auto cache = open({small.address()}, with("timeout", std::string("10s")));
  const std::string value(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    cache->put("key-" + std::to_string(i), value, kMinute, kSoon);
    EXPECT_NE(cache->get("key-" + std::to_string(i), kSoon).status, Status::error);
  }
  EXPECT_TRUE(cache->health().ok);
}

// ---- Times

TEST_F(Memcached, FaultA30_Semantics11_TimesMeanWhatTheySay) {
  // The server compares points in time with its own clock.
  clock_.jumpWall(static_cast<Millis>(::time(nullptr)) * 1000 - clock_.wall());
  constexpr Millis kDay = 86'400'000;
  for (const Millis ttl : {29 * kDay, 30 * kDay, 31 * kDay, 3650 * kDay}) {
    const std::string key = "ttl-" + std::to_string(ttl);
    ASSERT_TRUE(cache_->put(key, "v", ttl, kSoon).ok);
    EXPECT_EQ(valueOf(cache_->get(key, kSoon)), "v");
    // "HD t<seconds left>"
    const std::string told = server_.ask("mg " + key + " t\r\nversion");
    const long left = std::strtol(told.c_str() + told.find(" t") + 2, nullptr, 10);
    EXPECT_NEAR(static_cast<double>(left), static_cast<double>(ttl / 1000), 3) << told;
  }
  ASSERT_TRUE(cache_->put("forever", "v", kForever, kSoon).ok);
  EXPECT_THAT(server_.ask("mg forever t\r\nversion"), HasSubstr(" t-1"));
}

TEST_F(Memcached, FaultA30_Semantics11_LessThanASecondIsASecond) {
  for (const Millis ttl : {400, 1000}) {
    const std::string key = "ttl-" + std::to_string(ttl);
    ASSERT_TRUE(cache_->put(key, "v", ttl, kSoon).ok);
    EXPECT_TRUE(eventually([&] { return cache_->get(key, kSoon).status == Status::miss; }));
  }
}

TEST_F(Memcached, FaultA30_ATimeThatIsOverIsRefused) {
  EXPECT_FALSE(cache_->put("key", "v", 0, kSoon).ok);
  EXPECT_FALSE(cache_->put("key", "v", -1, kSoon).ok);
}

TEST_F(Memcached, ADeadlineThatIsPastIsATimeOutWithoutAQuestion) {
  cache_->put("key", "v", kMinute, kSoon);
  const Deadline past = clock_.monotonic();
  EXPECT_EQ(cache_->get("key", past).reason, Reason::timeout);
  EXPECT_EQ(cache_->put("key", "w", kMinute, past).reason, Reason::timeout);
  std::array<std::string_view, 1> keys = {"key"};
  std::array<ByteLookup, 1> found;
  cache_->getMany(keys, found, past);
  EXPECT_EQ(found[0].reason, Reason::timeout);
  EXPECT_EQ(server_.stat("cmd_get"), 0u);
  EXPECT_TRUE(cache_->health().ok);
}

// ---- Servers that come and go

TEST_F(Memcached, AReadAfterARestartIsAnswered) {
  cache_->put("key", "v", kMinute, kSoon);
  server_.kill();
  ASSERT_TRUE(server_.restart());
  EXPECT_EQ(cache_->get("key", kSoon).status, Status::miss);
  EXPECT_EQ(counter(*cache_, "errors_unreachable"), 0u);
}

TEST_F(Memcached, AWriteAfterARestartIsDone) {
  cache_->put("key", "v", kMinute, kSoon);
  server_.kill();
  ASSERT_TRUE(server_.restart());
  EXPECT_TRUE(cache_->put("key", "w", kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache_->get("key", kSoon)), "w");
}

TEST_F(Memcached, AConnectionThatTheServerClosedForIdlenessIsReplaced) {
  MemcachedServer strict = launch({.arguments = {"-o", "idle_timeout=1"}});
  const auto cache = open({strict.address()});
  cache->put("key", "v", kMinute, kSoon);
  ASSERT_TRUE(eventually([&] { return strict.stat("idle_kicks") > 0; }));
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), "v");
}

TEST_F(Memcached, UnusedConnectionsAreClosed) {
  cache_->get("key", kSoon);
  EXPECT_EQ(counter(*cache_, "connections"), 1u);
  clock_.advance(30'000);
  cache_->get("key", kSoon);
  clock_.advance(30'000);
  executor_.runAll();
  EXPECT_EQ(counter(*cache_, "connections"), 1u);
  clock_.advance(60'000);
  executor_.runAll();
  EXPECT_EQ(counter(*cache_, "connections"), 0u);
}

TEST_F(Memcached, OverTheServersConnectionLimitAnErrorIsNoMiss) {
  MemcachedServer crowded = launch({.arguments = {"-c", "24", "-t", "1"}});
  std::vector<std::unique_ptr<MemcachedManager>> others;
  std::set<Status> seen;
  for (int i = 0; i < 40; ++i) {
    others.push_back(open({crowded.address()}));
    const ByteLookup found = others.back()->get("key", kSoon);
    EXPECT_EQ(found.status == Status::miss, found.reason == Reason::cold);
    seen.insert(found.status);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(Status::miss, Status::error));
}

TEST_F(Memcached, Semantics30_ClearIsUnsupportedAndNothingIsFlushed) {
  cache_->put("key", "v", kMinute, kSoon);
  EXPECT_EQ(cache_->clear(kSoon).reason, Reason::unsupported);
  EXPECT_EQ(valueOf(cache_->get("key", kSoon)), "v");
  EXPECT_EQ(server_.stat("cmd_flush"), 0u);
}

TEST_F(Memcached, ValuesWithAForeignFlagAreDamaged) {
  ASSERT_EQ(server_.ask("set key 7 0 1\r\nx"), "STORED\r\n");
  const ByteLookup found = cache_->get("key", kSoon);
  EXPECT_EQ(found.status, Status::miss);
  EXPECT_EQ(found.reason, Reason::damaged);
}

TEST_F(Memcached, CountsWhatHappened) {
  cache_->put("key", "four", kMinute, kSoon);
  cache_->get("key", kSoon);
  cache_->get("key", kSoon);
  cache_->get("absent", kSoon);
  cache_->erase("key", kSoon);
  EXPECT_EQ(counter(*cache_, "requests"), 5u);
  EXPECT_EQ(counter(*cache_, "hits"), 2u);
  EXPECT_EQ(counter(*cache_, "misses"), 1u);
  EXPECT_EQ(counter(*cache_, "stored"), 1u);
  EXPECT_EQ(counter(*cache_, "erased"), 1u);
  EXPECT_EQ(counter(*cache_, "bytes_read"), 8u);
  EXPECT_EQ(counter(*cache_, "bytes_written"), 4u);
  EXPECT_GT(counter(*cache_, "latency_us_p99"), 0u);
}

TEST_F(Memcached, ShowsEachServerAndWhatItSaysOfItself) {
  cache_->put("key", "v", kMinute, kSoon);
  const auto all = cache_->servers(kSoon);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, server_.address());
  EXPECT_TRUE(all[0].health.ok);
  EXPECT_THAT(all[0].counted,
              ::testing::Contains(std::pair<std::string, std::uint64_t>("stored", 1)));
  EXPECT_THAT(all[0].own,
              ::testing::Contains(std::pair<std::string, std::string>("curr_items", "1")));
}

TEST_F(Memcached, ShowsWhichServerIsNotAskedAndWhy) {
  server_.kill();
  for (int i = 0; i < 3; ++i) (void)cache_->get("key", kSoon);
  const auto all = cache_->servers(kSoon);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_FALSE(all[0].health.ok);
  EXPECT_THAT(all[0].health.detail, HasSubstr("next probe in"));
  EXPECT_TRUE(all[0].own.empty());
}

// ---- Several servers

class ThreeMemcacheds : public ManagerTest {
 protected:
  MemcachedServer servers_[3] = {launch(), launch(), launch({.listens = Listens::unixSocket})};
  std::unique_ptr<MemcachedManager> cache_ =
      open({servers_[0].address(), servers_[1].address(), servers_[2].address() + "?2"});
};

TEST_F(ThreeMemcacheds, ShareTheKeysAndAnswerTogether) {
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back("key-" + std::to_string(i));
  for (const auto& key : keys) ASSERT_TRUE(cache_->put(key, "value of " + key, kMinute, kSoon).ok);
  for (auto& server : servers_) EXPECT_GT(server.stat("curr_items"), 30u);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<ByteLookup> found(keys.size());
  cache_->getMany(views, found, kSoon);
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(valueOf(found[i]), "value of " + keys[i]);
}

TEST_F(ThreeMemcacheds, Semantics28_ADeadServersKeysAreErrorsTheOthersAreAnswered) {
  std::vector<std::string> keys;
  for (int i = 0; i < 300; ++i) keys.push_back("key-" + std::to_string(i));
  for (const auto& key : keys) cache_->put(key, key, kMinute, kSoon);
  const auto lost = servers_[1].stat("curr_items");
  servers_[1].kill();
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int round = 0; round < 5; ++round) {
    std::vector<ByteLookup> found(keys.size());
    cache_->getMany(views, found, kSoon);
    std::size_t errors = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_NE(found[i].status, Status::miss);
      if (found[i].status == Status::error) ++errors;
      if (found[i].status == Status::hit) {
        EXPECT_EQ(found[i].value.data, keys[i]);
      }
    }
    EXPECT_EQ(errors, lost);
  }
  EXPECT_THAT(cache_->health().detail, HasSubstr(servers_[1].address()));
}

}  // namespace
}  // namespace larder::testing
