// The whole server while its memcached fails in every way it can: no 5xx, no wrong page, no old
// one.
#include <gtest/gtest.h>

#include <dirent.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include "installation.h"
#include "larder/testing/memcached_server.h"
#include "relay.h"

namespace larder::e2e {
namespace {

using server::HttpAnswer;
using server::httpAsk;
using testing::MemcachedServer;

bool isHit(const HttpAnswer& answer) {
  return answer.head.find("Cache-Status: Larder; hit") != std::string::npos;
}

std::size_t filesIn(const std::string& folder) {
  std::size_t count = 0;
  DIR* dir = ::opendir(folder.c_str());
  while (dir != nullptr && ::readdir(dir) != nullptr) ++count;
  if (dir != nullptr) ::closedir(dir);
  return count;
}

/// Pages /notes/0, /notes/1 ... of a version each, and /notes/@@overview, which is made of
/// sixty-two of them and is not cached itself.
class FaultMemcached : public server::Installation {
 protected:
  static constexpr int kMembers = 62;

  static MemcachedServer launch(MemcachedServer::Options options = {}) {
    auto server = MemcachedServer::start(std::move(options));
    if (!server) throw std::runtime_error(server.error().message);
    return std::move(*server);
  }

  void configureNotes(const std::vector<std::string>& servers, const std::string& settings = {}) {
    dir_.write("app/app.toml", R"(
[[type]]
name = "document"
default_view = "page"
[[view]]
name = "page"
for = "document"
kind = "script"
file = "page.lua"
[[view]]
name = "member"
for = "document"
kind = "script"
file = "member.lua"
[[view]]
name = "overview"
kind = "script"
file = "overview.lua"
manager = "none"
)");
    dir_.write("app/page.lua", R"(
return "<p>" .. object.path .. " " .. object.body .. (request.param("q") or "") .. "</p>"
)");
    dir_.write("app/member.lua", "return {name = object.path, text = object.body}\n");
    dir_.write("app/overview.lua", R"(
local out = {}
for i = 0, 61 do
  local member = view(site.root() .. "/" .. i, "member")
  out[i + 1] = member.name .. " " .. member.text
end
return table.concat(out, "\n")
)");
    std::string list;
    for (const auto& server : servers) list += (list.empty() ? "\"" : ", \"") + server + '"';
    configure("[[app]]\nmount = \"/notes\"\nfolder = \"" + dir_.file("app") +
              "\"\n[[manager]]\nid = \"main\"\ndefault = true\ntype = \"MemcachedManager\"\n"
              "servers = [" +
              list + "]\nfirst_probe = \"10ms\"\nmax_probe = \"40ms\"\n" + settings);
  }

  /// Writes every page anew, in a process of its own; when it returns, the old ones are over.
  void publish(int pages, const std::string& version, const std::string& rest = {}) {
    pages_ = pages;
    version_ = version;
    for (int i = 0; i < pages; ++i) {
      dir_.write("pages/" + std::to_string(i) + ".md", "# Note\n\n" + version + "\n" + rest);
    }
    const auto done = run({"import", dir_.file("pages"), "--to", "/notes", "-c", conf_});
    ASSERT_EQ(done.status, 0) << done.output;
  }

  /// Every page, as it is now; how many were hits.
  int expectCurrentPages() {
    int hits = 0;
    for (int i = 0; i < pages_; ++i) hits += expectCurrent(i) ? 1 : 0;
    return hits;
  }
  bool expectCurrent(int page) {
    const std::string path = "/notes/" + std::to_string(page);
    const auto answer = httpAsk(port_, "GET", path);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    EXPECT_NE(answer.body.find(path + " "), std::string::npos) << "another page under " << path;
    EXPECT_NE(answer.body.find(version_), std::string::npos) << "an old page under " << path;
    return isHit(answer);
  }
  void expectCurrentOverview() {
    const auto answer = httpAsk(port_, "GET", "/notes/@@overview");
    EXPECT_EQ(answer.status, 200) << answer.body;
    std::size_t found = 0;
    for (auto at = answer.body.find(version_); at != std::string::npos;
         at = answer.body.find(version_, at + 1))
      ++found;
    EXPECT_EQ(found, std::size_t{kMembers});
  }

  /// Everything that was counted because a server or what it held was not right.
  std::uint64_t troubles() {
    std::uint64_t sum = 0;
    for (const char* name : {"errors_timeout", "errors_unreachable", "errors_protocol",
                             "errors_breaker", "envelope_damaged", "envelope_other_key"})
      sum += stat(name);
    return sum;
  }
  std::uint64_t stat(const std::string& name) {
    const auto report = manage("/@@caches?entries=0");
    return report.at("managers").at(0).at("stats").at(name).get<std::uint64_t>();
  }

  int pages_ = 0;
  std::string version_;
};

// ---- One round trip a page, through the whole server

TEST_F(FaultMemcached, Semantics32_TenViewsOfSixtyTwoMembersAreTenRoundTrips) {
  auto memcached = launch();
  configureNotes({memcached.address()}, "timeout = \"5s\"\nconnect_timeout = \"5s\"\n");
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentOverview();
  const auto trips = stat("requests");
  const auto gets = memcached.stat("cmd_get");
  for (int i = 0; i < 10; ++i) expectCurrentOverview();
  EXPECT_EQ(stat("requests") - trips, 10U);
  EXPECT_EQ(memcached.stat("cmd_get") - gets, 620U);

  publish(kMembers, "version-2");
  expectCurrentOverview();
}

TEST_F(FaultMemcached, Semantics32_WithoutPrefetchEachMemberIsAskedFor) {
  auto memcached = launch();
  configureNotes({memcached.address()},
                 "timeout = \"5s\"\nconnect_timeout = \"5s\"\nprefetch = false\n");
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentOverview();
  const auto trips = stat("requests");
  const auto gets = memcached.stat("cmd_get");
  for (int i = 0; i < 10; ++i) expectCurrentOverview();
  EXPECT_EQ(stat("requests") - trips, 620U);
  EXPECT_EQ(memcached.stat("cmd_get") - gets, 620U);
}

// ---- Answers that are wrong

struct WrongAnswers {
  const char* name;
  std::function<Relay::Alter()> make;
};

/// The answer with `change` made to each "VALUE key flags size" line.
std::string eachHead(const std::string& answer,
                     const std::function<std::string(const std::string&)>& change) {
  std::string out;
  std::size_t done = 0;
  for (auto at = answer.find("VALUE "); at != std::string::npos; at = answer.find("VALUE ", done)) {
    const auto end = answer.find("\r\n", at);
    if (end == std::string::npos) break;
    out += answer.substr(done, at - done) + change(answer.substr(at, end - at));
    done = end;
  }
  return out + answer.substr(done);
}

std::string withSize(const std::string& head, const std::string& size) {
  return head.substr(0, head.rfind(' ') + 1) + size;
}

class WrongAnswersTest : public FaultMemcached,
                         public ::testing::WithParamInterface<WrongAnswers> {};

TEST_P(WrongAnswersTest, FaultA31_NoVisitorSeesThem) {
  auto memcached = launch();
  Relay relay(memcached.address());
  configureNotes({relay.address()});
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentPages();
  expectCurrentOverview();

  const auto before = troubles();
  relay.answers(GetParam().make());
  expectCurrentPages();
  expectCurrentOverview();
  EXPECT_GT(troubles(), before);
  publish(kMembers, "version-2");
  expectCurrentPages();
  expectCurrentOverview();

  relay.pass();
  EXPECT_TRUE(eventually([&] { return expectCurrent(0); }));
  expectCurrentPages();
  expectCurrentOverview();
}

INSTANTIATE_TEST_SUITE_P(
    , WrongAnswersTest,
    ::testing::Values(
        WrongAnswers{"Delayed",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         std::this_thread::sleep_for(std::chrono::milliseconds(80));
                         return answer;
                       };
                     }},
        WrongAnswers{"CutOff",
                     [] { return [](std::string) -> std::optional<std::string> { return {}; }; }},
        WrongAnswers{"Truncated",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         return answer.substr(0, answer.size() * 2 / 3);
                       };
                     }},
        WrongAnswers{"OfTheQuestionBefore",
                     [] {
                       struct Last {
                         std::mutex mutex;
                         std::string answer;
                       };
                       return [last = std::make_shared<Last>()](
                                  std::string answer) -> std::optional<std::string> {
                         const std::lock_guard lock(last->mutex);
                         std::swap(answer, last->answer);
                         return answer;
                       };
                     }},
        WrongAnswers{"UnderAnotherKey",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(answer, [](std::string head) {
                           head[head.find(' ', 6) - 1] ^= 1;
                           return head;
                         });
                       };
                     }},
        WrongAnswers{"LongerThanTheySay",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(
                             answer, [](const std::string& head) { return withSize(head, "3"); });
                       };
                     }},
        WrongAnswers{"OfAnAbsurdLength",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return eachHead(answer, [](const std::string& head) {
                           return withSize(head, "18446744073709551615");
                         });
                       };
                     }},
        WrongAnswers{"Damaged",
                     [] {
                       return [](std::string answer) -> std::optional<std::string> {
                         const auto body = answer.find("version-");
                         if (body != std::string::npos) answer[body] ^= 1;
                         return answer;
                       };
                     }},
        WrongAnswers{"GarbageAtTheEnd",
                     [] {
                       return [](const std::string& answer) -> std::optional<std::string> {
                         return answer + "garbage\r\n";
                       };
                     }},
        WrongAnswers{"ServerError",
                     [] {
                       return [](const std::string&) -> std::optional<std::string> {
                         return "SERVER_ERROR out of order\r\n";
                       };
                     }}),
    [](const auto& run) { return run.param.name; });

// ---- Servers that come and go

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

TEST_F(FaultMemcached, FaultA32_AHungServerIsAskedNoMoreAfterTwoTimeOutsAndUsedAgainAfterwards) {
  auto memcached = launch();
  configureNotes({memcached.address()});
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentPages();
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
  EXPECT_TRUE(eventually([&] { return expectCurrent(0); }));
  expectCurrentPages();
}

TEST_F(FaultMemcached, Semantics27_APageOfManyPartsWaitsForAHungServerOnce) {
  auto memcached = launch();
  configureNotes({memcached.address()},
                 "breaker_after = 1000\ntimeout = \"300ms\"\nprefetch = false\n");
  publish(kMembers, "version-1");
  const auto server = serve();
  expectCurrentOverview();
  const auto before = stat("errors_timeout");
  memcached.pause();
  expectCurrentOverview();
  memcached.resume();
  EXPECT_EQ(stat("errors_timeout") - before, 1U);
}

TEST_F(FaultMemcached, FaultA32_AHundredFlapsLeaveNoSocketsAndNoThreads) {
  auto memcached = launch();
  Relay relay(memcached.address());
  configureNotes({relay.address()}, "timeout = \"20ms\"\nconnect_timeout = \"20ms\"\n");
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
  EXPECT_EQ(expectCurrentPages(), 300);
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
  configureNotes({memcached.address()});
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
  configureNotes({memcached.address()});
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
  configureNotes({memcached.address()});
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
  configureNotes({memcached.address()}, "compress_above = \"64M\"\n");
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
