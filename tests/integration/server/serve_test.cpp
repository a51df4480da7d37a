// The running server: its management port, reload, drain; and several processes of it.
#include <Poco/Exception.h>
#include <Poco/Net/StreamSocket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "installation.h"

namespace larder::server {
namespace {

using nlohmann::json;

constexpr const char* kFast = "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\ndefault = true\n";
constexpr const char* kOther = "[[manager]]\nid = \"other\"\ntype = \"RAMCache\"\n";

class Serve : public Installation {
 protected:
  Serve() { configure(kFast); }

  std::set<std::string> managerIds() {
    std::set<std::string> ids;
    const json report = manage("/@@caches?entries=0");
    for (const json& manager : report.at("managers"))
      ids.insert(manager.at("id").get<std::string>());
    return ids;
  }
};

TEST_F(Serve, AnswersRequests) {
  const testing::Process server = serve();
  EXPECT_EQ(httpAsk(port_, "GET", "/nothing").status, 404);
}

TEST_F(Serve, ListsItsManagers) {
  const testing::Process server = serve();
  const json report = manage("/@@caches");
  ASSERT_EQ(report.at("managers").size(), 1U);
  EXPECT_EQ(report.at("managers")[0].at("id"), "fast");
  EXPECT_EQ(report.at("managers")[0].at("ok"), true);
  EXPECT_EQ(report.at("processes").size(), 1U);
}

TEST_F(Serve, FaultA40_ManagementNeedsTheToken) {
  const testing::Process server = serve();
  EXPECT_EQ(httpAsk(management_port_, "GET", "/@@caches").status, 401);
}

TEST_F(Serve, InvalidationIsCommitted) {
  const testing::Process server = serve();
  const auto before = manage("/@@caches").at("processes")[0].at("ledger").at("seq");
  const json receipt = manage("/@@invalidate", R"({"subtree": "/"})");
  EXPECT_GT(receipt.at("seq").get<std::uint64_t>(), before.get<std::uint64_t>());
}

TEST_F(Serve, CommandsAskTheRunningServer) {
  const testing::Process server = serve();
  const Finished stats = run({"stats", "-c", conf_});
  EXPECT_EQ(stats.status, 0) << stats.output;
  EXPECT_NE(stats.output.find("fast"), std::string::npos) << stats.output;
  const Finished invalidated = run({"invalidate", "/a/**", "-c", conf_});
  EXPECT_EQ(invalidated.status, 0) << invalidated.output;
  EXPECT_NE(invalidated.output.find("invalidated subtree:/a, change "), std::string::npos)
      << invalidated.output;
}

TEST_F(Serve, StatsFindAPortThatTheServerChose) {
  const testing::Process server = serve({"-D", "management.port=0"});
  const Finished stats = run({"stats", "-c", conf_, "-D", "management.port=0"});
  EXPECT_EQ(stats.status, 0) << stats.output;
}

TEST_F(Serve, FailedManagerIsReportedAndTheServerRuns) {
  const std::string broken = dir_.write("plugins/broken.so", "not a library");
  configure(std::string(kFast) + "[[manager]]\nid = \"bad\"\ntype = \"Broken\"\n");
  const testing::Process server = serve(
      {"-D", "plugins.folders=[\"" + test::pluginDir() + "\", \"" + dir_.file("plugins") + "\"]"});
  EXPECT_EQ(httpAsk(port_, "GET", "/nothing").status, 404);
  const json report = manage("/@@caches");
  for (const json& manager : report.at("managers"))
    EXPECT_EQ(manager.at("ok"), manager.at("id") != "bad") << manager;
}

TEST_F(Serve, SigtermEndsItCleanly) {
  testing::Process server = serve();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(5'000), 0) << server.output();
}

TEST_F(Serve, SigtermEndsItCleanlyWhileItStarts) {
  auto server = testing::Process::start(test::serverBinary(), {"serve", conf_});
  ASSERT_TRUE(server);
  server->signal(SIGTERM);
  const auto status = server->wait();
  EXPECT_TRUE(status == 0 || status == 128 + SIGTERM) << server->output();
}

TEST_F(Serve, ReloadTakesOverManagers) {
  testing::Process server = serve();
  configure(std::string(kFast) + kOther);
  server.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return managerIds() == std::set<std::string>{"fast", "other"}; }));
}

TEST_F(Serve, ReloadOfAWrongFileChangesNothing) {
  testing::Process server = serve();
  configure(std::string(kFast) + "max_age = 5\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.waitForOutput("not reloaded: " + conf_ + ":14: 'max_age'"));
  EXPECT_EQ(managerIds(), std::set<std::string>{"fast"});
}

TEST_F(Serve, Semantics42_ReloadOfWhatAPluginRefusesKeepsTheManager) {
  testing::Process server = serve();
  configure(std::string(kFast) + "shards = 3\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.waitForOutput("not reloaded: " + conf_ + ":14: manager 'fast' (RAMCache): "));
  EXPECT_EQ(manage("/@@caches").at("managers")[0].at("ok"), true);
}

TEST_F(Serve, ReloadSaysWhatNeedsARestart) {
  testing::Process server = serve();
  configure(std::string(kFast) + "[store]\nkeep_log = 5000\n");
  server.signal(SIGHUP);
  EXPECT_TRUE(server.waitForOutput("store.keep_log takes effect after a restart"));
}

TEST_F(Serve, Semantics13_AStrippedCookieIsNeitherStoredNorReplayed) {
  dir_.write("app/app.toml",
             "[[route]]\npattern = \"/x\"\nview = \"x\"\n"
             "[[view]]\nname = \"x\"\nkind = \"script\"\nfile = \"x.lua\"\n");
  dir_.write("app/x.lua",
             "return {status = 200, headers = {['Set-Cookie'] = 'token=of-one-visitor'}, body = "
             "'text'}\n");
  configure(std::string(kFast) + "[[app]]\nmount = \"/a\"\nfolder = \"" + dir_.file("app") +
            "\"\n[[rule]]\npath = \"/a/**\"\nstrip_set_cookie = true\n");
  const testing::Process server = serve();
  for (const char* outcome : {"fwd=uri-miss; stored", "hit"}) {
    const HttpAnswer answer = httpAsk(port_, "GET", "/a/x");
    EXPECT_NE(answer.head.find(outcome), std::string::npos) << answer.head;
    EXPECT_EQ(answer.head.find("token="), std::string::npos) << answer.head;
    EXPECT_EQ(answer.body, "text");
  }
}

TEST_F(Serve, AccessLogHoldsOneLineARequest) {
  testing::Process server = serve({"-D", "log.access=" + dir_.file("access.log")});
  EXPECT_EQ(httpAsk(port_, "GET", "/a%0Ab?x=\"").status, 404);
  server.signal(SIGTERM);
  server.wait();
  auto shown = testing::Process::start("cat", {dir_.file("access.log")});
  shown->wait();
  EXPECT_NE(shown->output().find("\"GET /a%0Ab?x=\\\"\" 404"), std::string::npos)
      << shown->output();
}

TEST_F(Serve, AViewThatDoesNotEndKeepsNeitherTheServerNorWhatItKeepsForTheNextStart) {
  dir_.write("app/app.toml",
             "[[route]]\npattern = \"/x\"\nview = \"x\"\n"
             "[[view]]\nname = \"x\"\nkind = \"script\"\nfile = \"x.lua\"\n");
  dir_.write("app/x.lua", "while true do local text = string.rep('x', 1000000) end\n");
  configure(std::string(kFast) + "snapshot = \"file\"\n[[app]]\nmount = \"/a\"\nfolder = \"" +
            dir_.file("app") + "\"\n");
  testing::Process server = serve({"-D", "http.drain_timeout=20ms"});
  std::thread visitor([this] { EXPECT_EQ(httpAsk(port_, "GET", "/a/x").status, 0); });
  EXPECT_TRUE(eventually([&] {
    return manage("/@@caches").at("processes")[0].at("http").at("requests").get<int>() > 0;
  }));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(4'000), 0) << server.output();  // the script's limit is 5 s
  visitor.join();
  EXPECT_NE(server.output().find("some requests were cut off"), std::string::npos);
  const auto files = std::filesystem::directory_iterator(dir_.file("var"));
  EXPECT_TRUE(std::any_of(begin(files), end(files),
                          [](const auto& file) { return file.path().extension() == ".entries"; }));
}

/// Keep-alive clients that count whole answers, and those that were cut short.
class Load {
 public:
  Load(std::uint16_t port, int clients) {
    for (int i = 0; i < clients; ++i) threads_.emplace_back([this, port] { client(port); });
  }
  ~Load() { stop(); }
  void stop() {
    stopping_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  [[nodiscard]] int answers() const { return answers_; }
  [[nodiscard]] int cut() const { return cut_; }

 private:
  void client(std::uint16_t port) try {
    Poco::Net::StreamSocket socket(Poco::Net::SocketAddress("127.0.0.1", port));
    socket.setReceiveTimeout(Poco::Timespan(20, 0));
    const std::string request = "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n";
    while (!stopping_) {
      socket.sendBytes(request.data(), static_cast<int>(request.size()));
      std::string text;
      char chunk[16384];
      while (!isWhole(text)) {
        const int count = socket.receiveBytes(chunk, sizeof chunk);
        if (count <= 0) {
          if (!text.empty()) ++cut_;
          return;
        }
        text.append(chunk, static_cast<std::size_t>(count));
      }
      ++answers_;
      if (text.find("Connection: close") != std::string::npos) return;
    }
  } catch (const Poco::Exception&) {  // the server has gone between two requests
  }

  static bool isWhole(const std::string& text) {
    const auto end = text.find("\r\n\r\n");
    const auto length = text.find("Content-Length: ");
    return end != std::string::npos && length < end &&
           text.size() >= end + 4 + std::stoul(text.substr(length + 16));
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<int> answers_ = 0;
  std::atomic<int> cut_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(Serve, FaultA13_DrainsUnderLoad) {
  const int cycles = test::countFrom("LARDER_TEST_CYCLES", 10);
  for (int i = 0; i < cycles; ++i) {
    testing::Process server = serve();
    Load load(port_, 64);
    ASSERT_TRUE(eventually([&] { return load.answers() > 50; }));
    server.signal(SIGTERM);
    ASSERT_EQ(server.wait(5'000), 0) << server.output();
    load.stop();
    EXPECT_EQ(load.cut(), 0);
  }
}

class Processes : public Serve {
 protected:
  testing::Process serveBy(int count) { return serve({"--processes", std::to_string(count)}); }
  bool areReady(std::size_t count) {
    return eventually([&] { return workers().size() == count; });
  }
};

TEST_F(Processes, AreReportedTogether) {
  const testing::Process supervisor = serveBy(3);
  ASSERT_TRUE(areReady(3));
  const json report = manage("/@@caches");
  EXPECT_EQ(report.at("managers").size(), 1U);
  EXPECT_EQ(manage("/@@health").at("ok"), true);
}

TEST_F(Processes, ShareOnePort) {
  const testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  EXPECT_TRUE(eventually([&] {
    httpAsk(port_, "GET", "/nothing");
    const json report = manage("/@@caches?entries=0");
    return std::ranges::all_of(report.at("processes"), [](const json& process) {
      return process.at("http").at("requests").get<int>() > 0;
    });
  }));
}

TEST_F(Processes, OneThatIsKilledIsReplaced) {
  const testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  const std::vector<pid_t> before = workers();
  ::kill(before[0], SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const std::vector<pid_t> now = workers();
    return now.size() == 2 && std::ranges::find(now, before[0]) == now.end();
  }));
}

TEST_F(Processes, Semantics42_OneThatIsReplacedServesByTheSettingsOfTheOthers) {
  const auto refused = [this] {
    return httpAsk(port_, "POST", "/nothing", "", std::string(2'000, 'x')).status == 413;
  };
  {
    testing::Process supervisor = serveBy(2);
    ASSERT_TRUE(areReady(2));
    ASSERT_EQ(run({"config", "set", "http.max_body", "1K", "-c", conf_}).status, 0);
    const std::vector<pid_t> before = workers();
    ::kill(before[0], SIGKILL);
    ASSERT_TRUE(eventually([&] {
      const std::vector<pid_t> now = workers();
      return now.size() == 2 && std::ranges::find(now, before[0]) == now.end();
    }));
    for (int i = 0; i < 40; ++i) ASSERT_FALSE(refused()) << i;
    EXPECT_EQ(supervisor.stop(), 0);
  }
  const testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(refused()) << i;
}

TEST_F(Processes, ServeWhileOneIsReplaced) {
  const testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  ::kill(workers()[0], SIGKILL);
  ASSERT_TRUE(areReady(2));
  EXPECT_EQ(httpAsk(port_, "GET", "/nothing").status, 404);
}

TEST_F(Processes, EndTogether) {
  testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  const std::vector<pid_t> pids = workers();
  supervisor.signal(SIGTERM);
  EXPECT_EQ(supervisor.wait(6'000), 0) << supervisor.output();
  for (const pid_t pid : pids) EXPECT_NE(::kill(pid, 0), 0) << pid;
}

TEST_F(Processes, EndWhenTheirSupervisorIsKilled) {
  testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  const std::vector<pid_t> pids = workers();
  supervisor.signal(SIGKILL);
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; })) << pid;
}

TEST_F(Processes, Semantics41_ReloadReachesEveryOne) {
  testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  configure(std::string(kFast) + kOther);
  supervisor.signal(SIGHUP);
  const std::string line = conf_ + " was read again";
  EXPECT_TRUE(eventually([&] {
    const std::string output = supervisor.output();
    const auto first = output.find(line);
    return first != std::string::npos && output.find(line, first + 1) != std::string::npos;
  })) << supervisor.output();
  EXPECT_EQ(managerIds(), (std::set<std::string>{"fast", "other"}));
}

TEST_F(Processes, ReloadOfAWrongFileIsToldOnce) {
  testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  configure("[http]\nport = 1\nport = 2\n");
  supervisor.signal(SIGHUP);
  ASSERT_TRUE(supervisor.waitForOutput("not reloaded: "));
  EXPECT_EQ(workers().size(), 2U);
  const std::string output = supervisor.output();
  EXPECT_EQ(output.find("not reloaded: "), output.rfind("not reloaded: "));
}

TEST_F(Processes, InvalidationReachesAll) {
  const testing::Process supervisor = serveBy(2);
  ASSERT_TRUE(areReady(2));
  const auto seq = manage("/@@invalidate", R"({"site": true})").at("seq").get<std::uint64_t>();
  EXPECT_TRUE(eventually([&] {
    httpAsk(port_, "GET", "/nothing");  // a request makes a process look at the ledger
    const json report = manage("/@@caches?entries=0");
    return std::ranges::all_of(report.at("processes"), [&](const json& process) {
      return process.at("ledger").at("seq").get<std::uint64_t>() >= seq;
    });
  }));
}

TEST_F(Processes, ChooseAFreePortTogether) {
  testing::Process supervisor = serve({"--processes", "2", "-D", "http.port=0"});
  ASSERT_TRUE(areReady(2));
  const std::string output = supervisor.output();
  const auto at = output.find("serving http://127.0.0.1:") + 25;
  const auto port = static_cast<std::uint16_t>(std::stoi(output.substr(at)));
  EXPECT_EQ(httpAsk(port, "GET", "/nothing").status, 404);
}

}  // namespace
}  // namespace larder::server
