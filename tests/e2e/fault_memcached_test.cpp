// The whole server while its memcacheds hang, die, refuse, fill up and come back: no 5xx, no wrong
// page, no old one.
#include <dirent.h>
#include <gtest/gtest.h>

#include <thread>

#include "notes_fixture.h"
#include "relay.h"

namespace larder::e2e {
namespace {

using testing::MemcachedServer;
using FaultMemcached = NotesTest;

std::size_t filesIn(const std::string& folder) {
  std::size_t count = 0;
  DIR* dir = ::opendir(folder.c_str());
  while (dir != nullptr && ::readdir(dir) != nullptr) ++count;
  if (dir != nullptr) ::closedir(dir);
  return count;
}

TEST_F(FaultMemcached, FaultA32_AServerThatIsKilledAndComesBackEmptyIsUsedAgain) {
  auto memcached = launch();
  configureNotes({memcached.address()});
  publish(20, "version-1");
  const auto server = serve();
  expectCurrentPages();
  memcached.kill();
  expectCurrentPages();
  publish(20, "version-2");
  expectCurrentPages();
  ASSERT_TRUE(memcached.restart());
  EXPECT_TRUE(eventually([&] { return expectCurrent(0); }));
  expectCurrentPages();
}

TEST_F(FaultMemcached,
       FaultA32_AHungServerIsAskedNoMoreAfterTwoTimeOutsAndUsedAgainWithinFiveSeconds) {
  auto memcached = launch();
  configureNotes({memcached.address()}, "");
  publish(kMembers, "version-1");
  const auto server = serve();
  EXPECT_TRUE(eventually([&] { return expectCurrentPages() == kMembers; }));
  const auto before = stat("errors_timeout");

  memcached.pause();
  constexpr int kClients = 64;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([this, i] {
      for (int page = 0; page < 5; ++page) expectCurrent((i + page) % kMembers);
    });
  }
  for (auto& client : clients) client.join();
  // Those who asked before the second time-out was over: at most one for each worker.
  const auto during = stat("errors_timeout") - before;
  EXPECT_GE(during, 2U);
  EXPECT_LE(during, 16U + 2U);
  const auto open = stat("errors_timeout");
  const auto refused = stat("errors_breaker");
  expectCurrentPages();
  expectCurrentOverview();
  EXPECT_EQ(stat("errors_timeout"), open) << "somebody waited although the breaker was open";
  EXPECT_GT(stat("errors_breaker"), refused);

  publish(kMembers, "version-2");
  expectCurrentPages();
  memcached.resume();
  EXPECT_TRUE(within(5'000, [&] { return expectCurrent(0); }));
  EXPECT_TRUE(eventually([&] { return expectCurrentPages() == kMembers; }));
}

struct Wait {
  const char* name;
  bool overview;
  bool manifest;
  bool tiered = false;
};

class FaultMemcachedWait : public NotesTest, public ::testing::WithParamInterface<Wait> {};

TEST_P(FaultMemcachedWait, Semantics27_ARequestWaitsForAHungServerOnce) {
  const auto ask = [&] { GetParam().overview ? expectCurrentOverview() : (void)expectCurrent(0); };
  auto memcached = launch();
  const std::string prefetch =
      std::string("prefetch = ") + (GetParam().manifest ? "true\n" : "false\n");
  configureNotes({memcached.address()},
                 "breaker_after = 1000\ntimeout = \"300ms\"\n" + prefetch +
                     (GetParam().tiered ? "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\n" +
                                              tieredOver("main", "/notes/*", prefetch)
                                        : std::string()));
  publish(kMembers, "version-1");
  const auto server = serve();
  ask();
  const auto before = stat("errors_timeout");
  memcached.pause();
  publish(kMembers, "version-2");  // what is near is over
  ask();
  EXPECT_EQ(stat("errors_timeout") - before, 1U);
  memcached.resume();
}

INSTANTIATE_TEST_SUITE_P(, FaultMemcachedWait,
                         ::testing::Values(Wait{"OfOnePart", false, true},
                                           Wait{"OfManyParts", true, false},
                                           Wait{"OfManyPartsAndAManifest", true, true},
                                           Wait{"OfOnePartOfATieredManager", false, true, true},
                                           Wait{"OfManyPartsOfATieredManager", true, false, true},
                                           Wait{"OfATieredManagerAndAManifest", true, true, true}),
                         [](const auto& run) { return run.param.name; });

TEST_F(FaultMemcached, FaultA32_AHundredFlapsLeaveNoSocketsAndNoThreads) {
  auto memcached = launch();
  Relay relay(memcached.address());
  configureNotes({relay.address()},
                 std::string("timeout = \"20ms\"\nconnect_timeout = \"20ms\"\n") + kQuickProbes);
  publish(4, "version-1");
  const auto server = serve();
  const std::string process = "/proc/" + std::to_string(server.pid());
  const auto flap = [&](int number) {
    number % 2 == 0 ? relay.refuse() : relay.hang();
    expectCurrentPages();
    relay.pass();
    EXPECT_TRUE(eventually([&] { return expectCurrent(0); }));
  };
  for (int i = 0; i < 4; ++i) flap(i);
  const auto files = filesIn(process + "/fd");
  const auto threads = filesIn(process + "/task");
  for (int i = 0; i < 100; ++i) flap(i);
  EXPECT_EQ(filesIn(process + "/task"), threads);
  EXPECT_LE(filesIn(process + "/fd"), files + 8);  // connections that are idle now
}

TEST_F(FaultMemcached, AFullServerEvictsAndNobodyNotices) {
  auto memcached = launch({.megabytes = 2});
  configureNotes({memcached.address()}, "compress_above = \"1M\"\n");
  publish(100, "version-1", std::string(30'000, 'x'));
  const auto server = serve();
  for (int round = 0; round < 2; ++round) expectCurrentPages();
  EXPECT_GT(memcached.stat("evictions"), 0U);
  publish(100, "version-2", std::string(30'000, 'y'));
  expectCurrentPages();
}

TEST_F(FaultMemcached, Semantics20_AServerThatWasAwayDuringEditsNeverBringsAnOldPageBack) {
  std::vector<MemcachedServer> servers;
  std::vector<std::string> addresses;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(launch());
    addresses.push_back(servers.back().address());
  }
  configureNotes(addresses);
  publish(300, "version-1");
  const auto server = serve();
  expectCurrentPages();
  for (auto& memcached : servers) EXPECT_GT(memcached.stat("curr_items"), 30U);

  servers[1].pause();
  publish(300, "version-2");
  expectCurrentPages();
  expectCurrentPages();
  servers[1].resume();
  EXPECT_TRUE(
      eventually([&] { return manage("/@@caches?entries=0")["managers"][0]["ok"] == true; }));
  for (int round = 0; round < 3; ++round) expectCurrentPages();
  EXPECT_TRUE(eventually([&] { return expectCurrentPages() == 300; }));
}

}  // namespace
}  // namespace larder::e2e
