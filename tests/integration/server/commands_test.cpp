// The program's commands and exit statuses.
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/StreamSocket.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "installation.h"

namespace larder::server {
namespace {

class Commands : public Installation {
 protected:
  /// `larder serve` ends with status 2 and one message, which holds `text`.
  void expectRefusal(const std::string& text, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"serve", conf_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 2) << finished.output;
    EXPECT_NE(finished.output.find(text), std::string::npos) << finished.output;
    EXPECT_EQ(std::ranges::count(finished.output, '\n'), 1) << finished.output;
  }
  /// `larder COMMAND` with a line on its standard input.
  void giveLine(const std::string& text, const std::string& command) {
    auto shell = testing::Process::start(
        "/bin/sh", {"-c", "echo '" + text + "' | \"$0\" " + command + " -c \"$1\"",
                    test::serverBinary(), conf_});
    ASSERT_TRUE(shell) << shell.error().message;
    ASSERT_EQ(shell->wait(), 0) << shell->output();
  }
  void addAnna() {
    giveLine("correct horse", "user add anna --name Anna --role editor --password-stdin");
  }
  std::string users() { return run({"user", "list", "-c", conf_}).output; }
};

constexpr const char* kFast = "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\ndefault = true\n";

TEST_F(Commands, VersionIsPrinted) {
  const Finished finished = run({"version"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_TRUE(finished.output.starts_with("larder ")) << finished.output;
}

TEST_F(Commands, UnknownCommandIsAStartUpError) {
  const Finished finished = run({"sreve"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.output.find("did you mean 'serve'"), std::string::npos);
}

TEST_F(Commands, WrongTomlIsAStartUpError) {
  dir_.write("larder.toml", "[http]\nport = 1 2\n");
  expectRefusal(conf_ + ":2: not valid TOML");
}

TEST_F(Commands, UnknownKeyIsAStartUpError) {
  dir_.write("larder.toml", "[http]\nprot = 1\n");
  expectRefusal(conf_ + ":2: unknown setting 'prot'; did you mean 'port'?");
}

TEST_F(Commands, UnknownPluginIsAStartUpError) {
  configure("[[manager]]\nid = \"fast\"\ntype = \"RAMCahce\"\n");
  expectRefusal("manager 'fast' (RAMCahce)");
}

TEST_F(Commands, WrongPluginSettingIsAStartUpError) {
  configure(std::string(kFast) + "max_size = \"64 parsecs\"\n");
  expectRefusal("'max_size'");
}

TEST_F(Commands, PortInUseIsAStartUpError) {
  const Poco::Net::ServerSocket taken(Poco::Net::SocketAddress("127.0.0.1", port_));
  expectRefusal("cannot listen on 127.0.0.1:" + std::to_string(port_));
}

TEST_F(Commands, PortInUseIsAStartUpErrorOfSeveralProcesses) {
  const Poco::Net::ServerSocket taken(Poco::Net::SocketAddress("127.0.0.1", port_));
  expectRefusal("cannot listen on 127.0.0.1:" + std::to_string(port_), {"--processes", "2"});
}

TEST_F(Commands, ManagementPortInUseIsAStartUpError) {
  const Poco::Net::ServerSocket taken(Poco::Net::SocketAddress("127.0.0.1", management_port_));
  expectRefusal("management port: cannot listen on");
}

TEST_F(Commands, DataFolderThatCannotBeWrittenIsAStartUpError) {
  const std::string file = dir_.write("file", "x");
  expectRefusal(file, {"-D", "site.data=" + file + "/var"});
}

TEST_F(Commands, DamagedDatabaseIsAStartUpError) {
  dir_.write("var/site.db", std::string(8192, 'x'));
  expectRefusal("site.db");
}

TEST_F(Commands, DamagedDatabaseIsToldOnceBySeveralProcesses) {
  dir_.write("var/site.db", std::string(8192, 'x'));
  expectRefusal("site.db", {"--processes", "2"});
}

TEST_F(Commands, MissingAppIsAStartUpError) {
  configure("[[app]]\nmount = \"/x\"\nlibrary = \"nothing.so\"\n");
  expectRefusal("nothing.so");
}

TEST_F(Commands, Semantics42_CheckShowsWhereEachSettingIsFrom) {
  configure(std::string(kFast) + "max_age = \"10m\"\n[[rule]]\npath = \"/a/**\"\njitter = 0.5\n");
  const Finished finished = run({"check", conf_, "-D", "manager.fast.max_size=64M"});
  EXPECT_EQ(finished.status, 0) << finished.output;
  for (const char* text : {"/a/**", "fast at /", "\"10m\"", "larder.toml:14", "0.5",
                           "larder.toml:17", "-D manager.fast.max_size=64M"}) {
    EXPECT_NE(finished.output.find(text), std::string::npos) << text << '\n' << finished.output;
  }
}

TEST_F(Commands, Semantics42_ARuleThatMatchesNothingIsWarnedOf) {
  configure(std::string(kFast) + "[[app]]\nmount = \"/handbook\"\nfolder = \"" + test::sourceDir() +
            "/sample-app/handbook\"\n"
            "[[rule]]\npath = \"/handbook/**\"\nview = \"page\"\n"
            "[[rule]]\npath = \"/handbok/**\"\n"
            "[[rule]]\npath = \"/**\"\nview = \"lisitng\"\n");
  const Finished finished = run({"check", conf_});
  EXPECT_EQ(finished.status, 0) << finished.output;
  const auto says = [&](const std::string& text) {
    return finished.output.find(text) != std::string::npos;
  };
  EXPECT_TRUE(
      says("the rule for '/handbok/**' matches nothing: no app is mounted there; did you "
           "mean '/handbook'?"))
      << finished.output;
  EXPECT_TRUE(
      says("the rule for '/**' matches nothing: no view there is named 'lisitng'; did you "
           "mean 'listing'?"))
      << finished.output;
  EXPECT_FALSE(says("the rule for '/handbook/**'")) << finished.output;
}

TEST_F(Commands, Semantics42_SettingsChangedWhileRunningHoldUntilTheyAreReverted) {
  configure(std::string(kFast) + "[[app]]\nmount = \"/api/v1\"\nlibrary = \"comments.so\"\n");
  const auto says = [](const Finished& finished, const std::string& text) {
    return finished.status == 0 && finished.output.find(text) != std::string::npos;
  };
  int id = 0;
  const auto isStoredFor = [&](int seconds) {
    const auto answer = httpAsk(port_, "GET", "/api/v1/comments/" + std::to_string(++id));
    const std::string before = "; stored; ttl=";
    const auto at = answer.head.find(before);
    if (at == std::string::npos) return false;
    const int ttl = std::stoi(answer.head.substr(at + before.size()));
    return ttl <= seconds && ttl > seconds - 5;  // it may take a moment to render
  };
  {
    const auto server = serve();
    EXPECT_TRUE(isStoredFor(3600));
    const auto set = run({"config", "set", "manager.fast.max_age", "5m", "-c", conf_});
    EXPECT_TRUE(says(set, "manager.fast.max_age = 5m (the file: (default))")) << set.output;
    EXPECT_TRUE(eventually([&] { return isStoredFor(300); }));
  }
  {
    const auto restarted = serve();
    EXPECT_TRUE(isStoredFor(300));
    const auto diff = run({"config", "diff", "-c", conf_});
    EXPECT_TRUE(says(diff, "manager.fast.max_age  (default)  5m")) << diff.output;
    const auto check = run({"check", conf_});
    EXPECT_TRUE(says(check, "changed while running")) << check.output;
    EXPECT_EQ(run({"config", "revert", "manager.fast.max_age", "-c", conf_}).status, 0);
    EXPECT_TRUE(eventually([&] { return isStoredFor(3600); }));
  }
  EXPECT_TRUE(says(run({"config", "diff", "-c", conf_}), "nothing was changed"));
  EXPECT_EQ(run({"config", "revert", "manager.fast.max_age", "-c", conf_}).status, 1);
}

TEST_F(Commands, Semantics41_AChangeThatFollowsAnotherIsTakenOverAsSoon) {
  configure(std::string(kFast) + "[[app]]\nmount = \"/api/v1\"\nlibrary = \"comments.so\"\n");
  const auto server = serve();
  int id = 0;
  for (const char* seconds : {"60", "61", "62"}) {
    ASSERT_EQ(
        run({"config", "set", "manager.fast.max_age", std::string(seconds) + "s", "-c", conf_})
            .status,
        0);
    // A second, but for a busy machine; the fault was a pause of ten.
    EXPECT_TRUE(within(8'000, [&] {
      const auto answer = httpAsk(port_, "GET", "/api/v1/comments/" + std::to_string(++id));
      return answer.head.find("; ttl=" + std::string(seconds) + "\r\n") != std::string::npos;
    })) << seconds;
  }
}

TEST_F(Commands, Semantics42_AChangeThatDoesNotFitIsRefusedAndNotKept) {
  configure(kFast);
  for (const auto& [key, value, text] : std::vector<std::array<std::string, 3>>{
           {"manager.fast.max_age", "5", "'max_age'"},
           {"manager.fast.max_sise", "1M", "did you mean 'max_size'"},
           {"manager.fats.max_age", "5m", "the file has no manager 'fats'"},
           {"site.data", "/elsewhere", "change it in the file"}}) {
    const auto set = run({"config", "set", key, value, "-c", conf_});
    EXPECT_EQ(set.status, 2) << key;
    EXPECT_NE(set.output.find(text), std::string::npos) << set.output;
  }
  EXPECT_NE(run({"config", "diff", "-c", conf_}).output.find("nothing was"), std::string::npos);
}

TEST_F(Commands, CheckOfAWrongFileEndsWithItsMessage) {
  configure("[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\nmax_size = 5\n");
  const Finished finished = run({"check", conf_});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.output.find("larder.toml:13: 'max_size'"), std::string::npos)
      << finished.output;
}

constexpr const char* kShared = "[[manager]]\nid = \"shared\"\ntype = \"MemcachedManager\"\n";
constexpr const char* kServers = "servers = [\"127.0.0.1:11211\"]\n";

TEST_F(Commands, Semantics08_Semantics42_CheckRefusesWhatAPluginRefusesWithItsLine) {
  for (const auto& [settings, line] : std::vector<std::pair<std::string, int>>{
           {std::string(kServers) + "timeout = \"0s\"\n", 14},
           {std::string(kServers) + "prefix = \"a b\"\n", 14},
           {std::string(kServers) + "max_connections = -1\n", 14},
           {std::string(kServers) + "username = \"anna\"\n", 14},
           {"servers = [\"nohost\"]\n", 13},
           {"servers = []\n", 13},
           {std::string(kServers) + "[[manager]]\nid = \"both\"\ntype = \"TieredManager\"\n" +
                "l1 = \"zz\"\nl2 = \"shared\"\n",
            17}}) {
    configure(kShared + settings);
    const Finished finished = run({"check", conf_});
    EXPECT_EQ(finished.status, 2) << finished.output;
    const std::string place = conf_ + ':' + std::to_string(line) + ": manager '";
    EXPECT_NE(finished.output.find(place), std::string::npos) << place << '\n' << finished.output;
  }
}

TEST_F(Commands, Semantics42_WhatAPluginRefusesIsNotKept) {
  configure(std::string(kShared) + kServers);
  const auto set = run({"config", "set", "manager.shared.timeout", "0s", "-c", conf_});
  EXPECT_EQ(set.status, 2);
  EXPECT_NE(set.output.find("timeout: it must be from 1"), std::string::npos) << set.output;
  EXPECT_NE(run({"config", "diff", "-c", conf_}).output.find("nothing was"), std::string::npos);
}

TEST_F(Commands, FaultA40_SecretsAreNotPrinted) {
  configure(std::string(kShared) + kServers + "secret = \"${LARDER_TEST_SECRET}\"\n");
  const std::vector<std::pair<std::string, std::string>> environment = {
      {"LARDER_TEST_SECRET", "of-the-file"}};
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"config", "set", "manager.shared.secret", "of-the-store", "-c", conf_},
           {"config", "diff", "-c", conf_},
           {"check", conf_},
           {"check", conf_, "-D", "manager.shared.secret=of-the-command"}}) {
    const Finished finished = run(arguments, environment);
    EXPECT_EQ(finished.status, 0) << finished.output;
    EXPECT_NE(finished.output.find("(set)"), std::string::npos) << finished.output;
    for (const char* secret : {"of-the-file", "of-the-store", "of-the-command"})
      EXPECT_EQ(finished.output.find(secret), std::string::npos) << finished.output;
  }
}

TEST_F(Commands, CheckTakesEveryShippedConfiguration) {
  const auto process = testing::Process::start(test::serverBinary(), {"check", "conf/larder.toml"},
                                               {.directory = test::sourceDir()});
  ASSERT_TRUE(process) << process.error().message;
  auto running = std::move(const_cast<testing::Process&>(*process));
  EXPECT_EQ(running.wait(), 0) << running.output();
}

TEST_F(Commands, ImportTellsWhatItDid) {
  dir_.write("pages/a.md", "# A\n");
  dir_.write("pages/sub/b.md", "# B\n");
  const Finished finished = run({"import", dir_.file("pages"), "--to", "/handbook", "-c", conf_});
  EXPECT_EQ(finished.status, 0) << finished.output;
  EXPECT_NE(finished.output.find("2 new, 0 changed, 0 unchanged"), std::string::npos)
      << finished.output;
  EXPECT_NE(finished.output.find("pages/second"), std::string::npos) << finished.output;
}

TEST_F(Commands, ImportNamesAFileThatIsNotUtf8AndGoesOn) {
  dir_.write("pages/a.md", "# A\n");
  dir_.write("pages/bad.md", "# \xff\n");
  const Finished finished = run({"import", dir_.file("pages"), "--to", "/handbook", "-c", conf_});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.output.find(dir_.file("pages/bad.md") + ": not UTF-8"), std::string::npos)
      << finished.output;
  EXPECT_NE(finished.output.find("1 new"), std::string::npos) << finished.output;
}

TEST_F(Commands, ImportOfWhatIsNoFolderIsAStartUpError) {
  EXPECT_EQ(run({"import", dir_.file("none"), "--to", "/x", "-c", conf_}).status, 2);
}

TEST_F(Commands, UserWithoutPasswordIsRefused) {
  const Finished finished = run({"user", "add", "anna", "-c", conf_});
  EXPECT_EQ(finished.status, 2);
  EXPECT_NE(finished.output.find("--password-stdin"), std::string::npos);
}

TEST_F(Commands, UserAddedIsListed) {
  addAnna();
  EXPECT_NE(users().find("anna\tAnna\teditor"), std::string::npos) << users();
}

TEST_F(Commands, RolesAreGivenAndTaken) {
  addAnna();
  const Finished finished =
      run({"user", "role", "anna", "--add", "reader", "--remove", "editor", "-c", conf_});
  EXPECT_EQ(finished.status, 0) << finished.output;
  EXPECT_NE(users().find("anna\tAnna\treader\n"), std::string::npos) << users();
}

TEST_F(Commands, APasswordIsChanged) {
  addAnna();
  giveLine("another horse", "user password anna --password-stdin");
  EXPECT_EQ(run({"user", "password", "anna", "-c", conf_}).status, 2);
}

TEST_F(Commands, AUserIsRemovedOnce) {
  addAnna();
  EXPECT_NE(run({"user", "remove", "ana", "-c", conf_}).output.find("'anna'"), std::string::npos);
  EXPECT_EQ(run({"user", "remove", "anna", "-c", conf_}).status, 0);
  EXPECT_EQ(users().find("anna"), std::string::npos) << users();
  EXPECT_EQ(run({"user", "remove", "anna", "-c", conf_}).status, 2);
}

TEST_F(Commands, FaultA40_TheTokenIsNotSentToWhoDoesNotKnowIt) {
  const std::string token(64, 'a');
  const std::string file = dir_.write("var/management.token", token + "\n");
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  Poco::Net::ServerSocket stranger(Poco::Net::SocketAddress("127.0.0.1", management_port_));
  std::string heard;
  std::thread listening([&] {
    if (!stranger.poll(Poco::Timespan(20, 0), Poco::Net::Socket::SELECT_READ)) return;
    auto client = stranger.acceptConnection();
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"proof\": \"aaa\"}";
    char chunk[4096];
    for (int count = 0; (count = client.receiveBytes(chunk, sizeof chunk)) > 0;) {
      heard.append(chunk, static_cast<std::size_t>(count));
      client.sendBytes(answer.data(), static_cast<int>(answer.size()));
    }
  });
  const Finished finished = run({"stats", "-c", conf_});
  listening.join();
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.output.find("does not know this site's token"), std::string::npos)
      << finished.output;
  EXPECT_NE(heard.find("/@@proof?"), std::string::npos) << heard;
  EXPECT_EQ(heard.find(token), std::string::npos) << heard;
}

TEST_F(Commands, StatsWithoutAServerSaysSo) {
  const Finished finished = run({"stats", "-c", conf_});
  EXPECT_EQ(finished.status, 1);
  EXPECT_NE(finished.output.find("management.token"), std::string::npos) << finished.output;
}

}  // namespace
}  // namespace larder::server
