// The whole server over memcached, when all is well: round trips, what is stored, what operators
// see.
#include <gtest/gtest.h>

#include "notes_fixture.h"

namespace larder::e2e {
namespace {

using FaultMemcached = NotesTest;

// ---- One round trip a page, through the whole server

class PagesOfMembers : public NotesTest {
 protected:
  /// What ten views of a page of many members are counted as, when it has been seen once.
  struct Counted {
    std::uint64_t trips;  ///< by the manager
    std::uint64_t gets;   ///< by the server
  };
  Counted viewTenTimes(testing::MemcachedServer& memcached) {
    expectCurrentOverview();
    const auto trips = stat("requests");
    const auto gets = memcached.stat("cmd_get");
    for (int i = 0; i < 10; ++i) expectCurrentOverview();
    return {stat("requests") - trips, memcached.stat("cmd_get") - gets};
  }
};

TEST_F(PagesOfMembers, Semantics32_TenViewsOfSixtyTwoMembersAreTenRoundTrips) {
  auto memcached = launch();
  configureNotes({memcached.address()}, kPatient);
  publish(kMembers, "version-1");
  const auto server = serve();
  const auto counted = viewTenTimes(memcached);
  EXPECT_EQ(counted.trips, 10U);
  EXPECT_EQ(counted.gets, 620U);

  publish(kMembers, "version-2");
  expectCurrentOverview();
}

TEST_F(PagesOfMembers, Semantics32_WithoutPrefetchEachMemberIsAskedFor) {
  auto memcached = launch();
  configureNotes({memcached.address()}, std::string(kPatient) + "prefetch = false\n");
  publish(kMembers, "version-1");
  const auto server = serve();
  const auto counted = viewTenTimes(memcached);
  EXPECT_EQ(counted.trips, 620U);
  EXPECT_EQ(counted.gets, 620U);
}

// ---- What operators see, and programs in other languages

TEST_F(FaultMemcached, StatisticsShowEachServerAndWhatItSaysOfItself) {
  auto well = launch();
  auto dead = launch();
  configureNotes({well.address(), dead.address()});
  publish(40, "version-1");
  const auto server = serve();
  dead.kill();
  expectCurrentPages();
  expectCurrentPages();

  const auto manager = manage("/@@caches?entries=0")["managers"][0];
  EXPECT_EQ(manager["ok"], false);
  ASSERT_EQ(manager["servers"].size(), 2U);
  const auto& first = manager["servers"][0];
  EXPECT_EQ(first["name"], well.address());
  EXPECT_EQ(first["ok"], true);
  EXPECT_GT(first["counted"]["hits"], 0);
  EXPECT_EQ(first["own"]["curr_items"], std::to_string(well.stat("curr_items")));
  const auto& second = manager["servers"][1];
  EXPECT_EQ(second["ok"], false);
  EXPECT_GT(second["counted"]["errors_unreachable"], 0);

  const auto shown = run({"stats", "-c", conf_});
  EXPECT_EQ(shown.status, 0) << shown.output;
  for (const std::string& text : {well.address(), dead.address(), std::string("EVICTIONS"),
                                  std::string("1.6."), std::string("next probe in")})
    EXPECT_NE(shown.output.find(text), std::string::npos) << text << "\n" << shown.output;
}

// The format is documented in larder/cache/envelope.h; the reader here is another library's.
TEST_F(FaultMemcached, AnyMessagePackLibraryReadsWhatIsStored) {
  auto memcached = launch();
  configureNotes({memcached.address()}, kPatient);
  publish(1, "version-1");
  const auto server = serve();
  expectCurrentPages();
  const auto keys = memcached.keys();
  ASSERT_EQ(keys.size(), 1U);
  const auto answer = memcached.ask("get " + keys[0]);
  const auto start = answer.find("\r\n") + 2;
  const auto envelope =
      answer.substr(start, answer.size() - start - std::string("\r\nEND\r\n").size());
  ASSERT_EQ(envelope.substr(0, 4), "LRDE");
  EXPECT_EQ(envelope[4], 1);  // version
  EXPECT_EQ(envelope[5], 0);  // neither compressed nor signed
  const auto fields = nlohmann::json::from_msgpack(envelope.begin() + 16, envelope.end());
  ASSERT_EQ(fields.size(), 14U);
  EXPECT_NE(fields[10].get<std::string>().find("obj:/notes/0"), std::string::npos);
  EXPECT_EQ(fields[12], 1);  // a page
  EXPECT_EQ(fields[13][0], 200);
  const auto& body = fields[13][2].get_binary();
  EXPECT_NE(std::string(body.begin(), body.end()).find("version-1"), std::string::npos);
}

// ---- What visitors send

TEST_F(FaultMemcached, FaultA27_NothingOfARequestReachesTheServersCommands) {
  auto memcached = launch();
  configureNotes({memcached.address()}, kPatient);
  publish(3, "version-1");
  const auto server = serve();
  ASSERT_EQ(memcached.ask("set victim 0 0 5\r\nalive"), "STORED\r\n");
  const std::string command = "%0d%0aset%20victim%200%200%204%0d%0adead%0d%0a";
  for (const std::string& target :
       {"/notes/0?q=" + command, "/notes/0" + command, "/notes/0?" + command + "=1",
        std::string("/notes/0?q=%00%01%1f%20%7f")}) {
    for (int i = 0; i < 2; ++i) (void)httpAsk(port_, "GET", target, "Cookie: a=\x01 b\r\n");
  }
  EXPECT_EQ(memcached.ask("get victim"), "VALUE victim 0 5\r\nalive\r\nEND\r\n");
  expectCurrentPages();
}

TEST_F(FaultMemcached, FaultA28_LongParametersWithACommonBeginningAreTwoPages) {
  auto memcached = launch();
  configureNotes({memcached.address()}, kPatient);
  publish(1, "version-1");
  const auto server = serve();
  const std::string head(10'000, 'a');
  for (int round = 0; round < 3; ++round) {
    for (const char* end : {"one", "two"}) {
      const auto answer = httpAsk(port_, "GET", "/notes/0?q=" + head + end);
      EXPECT_EQ(answer.status, 200);
      EXPECT_NE(answer.body.find(head + end), std::string::npos);
      EXPECT_EQ(isHit(answer), round > 0);
    }
  }
}

TEST_F(FaultMemcached, FaultA29_APageThatHasBecomeTooLargeIsNotTheOldOne) {
  auto memcached = launch();
  configureNotes({memcached.address()}, std::string(kPatient) + "compress_above = \"64M\"\n");
  publish(2, "version-1");
  const auto server = serve();
  expectCurrentPages();
  publish(2, "version-2", std::string(3 << 20, 'x'));
  for (int round = 0; round < 3; ++round) EXPECT_EQ(expectCurrentPages(), 0);
  EXPECT_GT(stat("envelope_too_large"), 0U);
  ASSERT_NO_FATAL_FAILURE(publish(2, "version-3"));
  expectCurrentPages();
  EXPECT_EQ(expectCurrentPages(), 2);
}

}  // namespace
}  // namespace larder::e2e
