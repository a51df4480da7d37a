// nginx in front, reading from memcached what Larder publishes: the same answers as straight from
// Larder, none of them old, and most of them without asking Larder.
#include "nginx_fixture.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

namespace larder::e2e {
namespace {

const std::string kPage = "/handbook/guide/first-steps";

std::string contentOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The same page: what a visitor sees of an answer.
struct Seen {
  int status;
  std::string type;
  std::string coding;
  std::string body;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.status << ' ' << seen.type << ' ' << seen.coding << ' ' << seen.body.size()
               << " bytes";
  }
};
Seen seen(const HttpAnswer& answer) {
  return {answer.status, headerOf(answer, "Content-Type"), headerOf(answer, "Content-Encoding"),
          answer.body};
}

std::vector<std::string> nastyTargets() {
  std::vector<std::string> targets;
  std::istringstream lines(contentOf(test::sourceDir() + "/tests/e2e/nginx_urls.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (const auto at = line.find("LONG"); at != std::string::npos)
      line.replace(at, std::string::npos, std::stoul(line.substr(at + 4)), 'a');
    targets.push_back(line);
  }
  return targets;
}

TEST_F(NginxTest, Semantics33_EveryAddressIsAnsweredAsByLarderItself) {
  // Pages whose names mean something to one of the two.
  for (const auto* name : {"plain", "a b", "a+b", "a%b", "a%41", "a\\b", "a?x=1", "a#b", "a;b",
                           "a;jsessionid=1", "~x", "\xc3\xa9", "e\xcc\x81", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "page.css", "page.json", "dot.", "plain@@page"}) {
    dir_.write("pages/" + std::string(name) + ".md",
               "# A page\n\nnamed " + std::string(name) + "\n");
  }
  for (const std::size_t length : {150, 240})
    dir_.write("pages/" + std::string(length, 'a') + ".md", "# Long\n");
  const auto imported = run({"import", dir_.file("pages"), "--to", "/handbook/n", "-c", conf_});
  ASSERT_EQ(imported.status, 0) << imported.output;
  const auto server = serve();
  startNginx();

  const auto targets = nastyTargets();
  ASSERT_GT(targets.size(), 50U);
  const std::vector<std::string> kinds = {"", "Accept-Encoding: gzip\r\n",
                                          "Cookie: larder_session=none\r\n",
                                          "Cookie: larder_receipt=none\r\n"};
  const auto compare = [&] {
    for (const auto& target : targets) {
      for (const auto& fields : kinds) {
        const auto straight = httpAsk(port_, "GET", target, fields);
        const auto front = through(target, fields);
        if (straight.status == 400 && front.status == 400) continue;  // nginx says so itself
        EXPECT_EQ(seen(front), seen(straight)) << target << " with " << fields;
      }
    }
  };
  compare();
  ASSERT_TRUE(becomesPublished("/handbook/n/plain"));
  for (const auto& target : targets) httpAsk(port_, "GET", target);
  ASSERT_TRUE(becomesPublished("/handbook/n/" + std::string(150, 'a'))) << "the last that fits";
  compare();

  const auto keys = this->keys();
  EXPECT_GE(keys.size(), 20U);
  for (const auto* key : {"/handbook/n/a%20b", "/handbook/n/a%25b", "/handbook/n/a%2541",
                          "/handbook/n/a?x=1", "/handbook/n/\xc3\xa9", "/handbook/n/a\\b",
                          "/api/v1/comments/5", "/handbook/@@style.css"}) {
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  }
  for (const auto& key : keys) {
    EXPECT_EQ(httpAsk(port_, "GET", key).status == 200 || key.find('?') != std::string::npos ||
                  key.find('#') != std::string::npos,
              true)
        << key;
    for (const auto* never : {"@@edit", "@@login", "@@search", "page.css", "page.json", "//"})
      EXPECT_EQ(key.find(never), std::string::npos) << key;
  }
  for (const auto* what : {"query", "type", "inputs", "status"})
    EXPECT_GT(published(what), 0U) << what;
}

TEST_F(NginxTest, HitsNeverReachTheAppServer) {
  const auto server = serve();
  startNginx();
  const auto straight = httpAsk(port_, "GET", kPage, "Accept-Encoding: gzip\r\n");
  const auto plain = httpAsk(port_, "GET", kPage);
  EXPECT_EQ(headerOf(straight, "Content-Encoding"), "gzip");
  ASSERT_TRUE(becomesPublished(kPage));
  const auto before = requests();
  const auto logged = requestsLogged("/mark/1");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(seen(through(kPage, "Accept-Encoding: gzip\r\n")), seen(straight));
    EXPECT_EQ(seen(through(kPage)), seen(plain));
    EXPECT_EQ(through(kPage, {}, "HEAD").status, 200);
  }
  EXPECT_EQ(requestsLogged("/mark/2"), logged + 1) << "the mark alone";
  EXPECT_EQ(requests(), before + 2) << "the two marks";
}

TEST_F(NginxTest, Semantics35_ASecondAfterAnEditNoOldPageIsThere) {
  const auto server = serve();
  startNginx();
  Visitor editor(nginx_port_);
  editor.logIn(kLogin, kPassword);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(becomesPublished(kPage));
    const std::string text = "Edited for the " + std::to_string(i) + "th time.";
    ASSERT_EQ(editor.edit(kPage, "# First steps\n\n" + text + "\n").status, 303);
    EXPECT_NE(editor.get(kPage).body.find(text), std::string::npos)
        << "who is logged in does not read from memcached";
    const auto is_new = [&] { return through(kPage).body.find(text) != std::string::npos; };
    EXPECT_TRUE(within(1'000, is_new));
    for (int n = 0; n < 10; ++n) EXPECT_TRUE(is_new()) << "it came back";
  }
}

TEST_F(NginxTest, Semantics35_EditsOfOtherProgramsDeleteWhatIsPublished) {
  const auto server = serve();
  startNginx();
  const std::string target = "/api/v1/comments/5";
  ASSERT_TRUE(becomesPublished(target));
  auto shell = testing::Process::start(
      "sqlite3",
      {dir_.file("var/site.db"), "UPDATE comment SET text = 'from outside' WHERE id = 5"},
      {.package = "sqlite3"});
  ASSERT_TRUE(shell) << shell.error().message;
  ASSERT_EQ(shell->wait(), 0) << shell->output();
  EXPECT_TRUE(within(
      1'000, [&] { return through(target).body.find("from outside") != std::string::npos; }));
}

TEST_F(NginxTest, Semantics35_WithoutMemcachedLarderAnswersAndAfterwardsNothingOldIsThere) {
  const auto server = serve();
  startNginx();
  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  ASSERT_TRUE(becomesPublished(kPage));
  memcached_->pause();
  ASSERT_EQ(editor.edit(kPage, "# First steps\n\nEdited while it hung.\n").status, 303);
  EXPECT_NE(through(kPage).body.find("Edited while it hung."), std::string::npos);
  memcached_->resume();
  EXPECT_TRUE(eventually(
      [&] { return through(kPage).body.find("Edited while it hung.") != std::string::npos; }));
  memcached_->kill();
  ASSERT_EQ(editor.edit(kPage, "# First steps\n\nEdited while it was gone.\n").status, 303);
  EXPECT_NE(through(kPage).body.find("Edited while it was gone."), std::string::npos);
  ASSERT_TRUE(memcached_->restart());
  EXPECT_NE(through(kPage).body.find("Edited while it was gone."), std::string::npos);
  // The edited page may have been sent while nothing was answered; any other one is back at once.
  EXPECT_TRUE(becomesPublished("/handbook/concepts/validity"));
}

TEST_F(NginxTest, LedgerL23_ASetThatArrivesLateIsDeleted) {
  const auto server = serve();
  startNginx();
  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  ASSERT_TRUE(becomesPublished("/api/v1/comments/5"));  // so that there is a connection
  memcached_->pause();
  const auto doubts = published("in_doubt");
  const auto old = httpAsk(port_, "GET", kPage);
  ASSERT_TRUE(eventually([&] { return published("in_doubt") > doubts; })) << "sent, not answered";
  ASSERT_EQ(editor.edit(kPage, "# First steps\n\nNew.\n").status, 303);
  const auto sets = memcached_->pid();
  memcached_->resume();
  EXPECT_EQ(memcached_->pid(), sets);
  EXPECT_TRUE(eventually([&] { return memcached_->stat("cmd_set") >= 2; })) << "it has arrived";
  EXPECT_TRUE(eventually([&] { return through(kPage).body != old.body; }));
  EXPECT_TRUE(eventually([&] { return !isPublished(kPage); }));
  // It comes once more, as if it had been under way for longer.
  EXPECT_EQ(memcached_->ask("set " + kPage + " 0 0 3\r\nold"), "STORED\r\n");
  EXPECT_TRUE(eventually([&] { return !isPublished(kPage); }));
}

TEST_F(NginxTest, FaultA37_VisitorsWithASessionGetTheirOwnPages) {
  const auto server = serve();
  startNginx();
  Visitor visitor(nginx_port_);
  const std::string form = "/handbook/@@login";
  EXPECT_EQ(visitor.get(form).body.find("logged in as"), std::string::npos);
  visitor.logIn(kLogin, kPassword);
  EXPECT_NE(visitor.get(form).body.find("logged in as"), std::string::npos);
  EXPECT_EQ(through(form).body.find("logged in as"), std::string::npos);
  ASSERT_TRUE(becomesPublished(kPage));
  const auto before = requests();
  visitor.get(kPage);
  EXPECT_EQ(requests(), before + 1) << "a session is asked about by Larder";
}

TEST_F(NginxTest, SeveralProcessesDeleteAlsoWhenTheOneThatDidIsKilled) {
  const auto server = serve({"--processes", "2"});
  startNginx();
  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(becomesPublished(kPage));
    const auto pids = workers();
    ASSERT_EQ(pids.size(), 2U);
    const pid_t ended = pids[static_cast<std::size_t>(i) % 2];
    ::kill(ended, SIGKILL);
    ASSERT_TRUE(eventually([&] {
      const auto now = workers();
      return now.size() == 2 && std::find(now.begin(), now.end(), ended) == now.end();
    }));
    const std::string text = "Edit number " + std::to_string(i);
    ASSERT_EQ(editor.edit(kPage, "# First steps\n\n" + text + "\n").status, 303);
    EXPECT_TRUE(eventually([&] { return through(kPage).body.find(text) != std::string::npos; }));
  }
}

TEST_F(NginxTest, FaultA22_TheClientOfARequestThroughNginxIsTheVisitor) {
  const auto server = serve({"-D", "http.proxies=[\"127.0.0.1\"]"});
  startNginx();
  // To nginx this visitor is at 127.0.0.1, a proxy itself.
  EXPECT_EQ(through("/visited", "X-Forwarded-For: 192.0.2.1\r\n").status, 404);
  EXPECT_GE(requestsLogged("/mark"), 2U);
  EXPECT_NE(contentOf(dir_.file("access.log")).find(" 192.0.2.1 \"GET /visited\" 404"),
            std::string::npos)
      << contentOf(dir_.file("access.log"));
}

TEST_F(NginxTest, Semantics36_AListedRootIsTheDefaultOfAllPages) {
  const auto printed = run({"nginx-conf", conf_, "-D", "nginx.types=[\"/ text/plain\"]"});
  ASSERT_EQ(printed.status, 0) << printed.output;
  startNginxWith(dir_.write("server-block.conf", printed.output));
  ASSERT_EQ(memcached_->ask("set /note 0 0 4\r\ntext"), "STORED\r\n");
  EXPECT_EQ(headerOf(through("/note"), "Content-Type"), "text/plain");
}

TEST_F(NginxTest, FaultA10_LarderIsAskedForTheHostThatNginxWasAskedFor) {
  dir_.write("app/app.toml",
             "[[route]]\npattern = \"/x\"\nview = \"x\"\n"
             "[[view]]\nname = \"x\"\nkind = \"script\"\nfile = \"x.lua\"\n");
  dir_.write("app/x.lua", "return {status = 200, body = request.origin()}\n");
  dir_.write("larder.toml", contentOf(conf_) + "[[app]]\nmount = \"/host\"\nfolder = \"" +
                                dir_.file("app") + "\"\n");
  const auto server = serve();
  startNginx();
  const auto port = ':' + std::to_string(nginx_port_);
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"GET /host/x HTTP/1.1\r\nHost: a.example\r\n", "http://a.example"},
      {"GET /host/x HTTP/1.1\r\nHost: A.example" + port + "\r\n", "http://a.example" + port},
      {"GET /host/x HTTP/1.1\r\nHost: [::1]" + port + "\r\n", "http://[::1]" + port},
      {"GET /host/x HTTP/1.1\r\nHost: [::1]\r\n", "http://[::1]"},
      {"GET /host/x HTTP/1.0\r\n", "http://localhost"},
      {"GET http://a.example/host/x HTTP/1.1\r\nHost: b.example:1\r\n", "http://a.example"},
      {"GET http://a.example:81/host/x HTTP/1.1\r\nHost: b.example\r\n", "http://a.example:81"}};
  for (const auto& [head, origin] : requests)
    EXPECT_EQ(server::httpSend(nginx_port_, head + "Connection: close\r\n\r\n").body, origin)
        << head;
}

TEST_F(NginxTest, APageIsWithdrawnWhenItsRuleNoLongerPublishes) {
  auto server = serve();
  ASSERT_TRUE(becomesPublished(kPage));
  std::string text = contentOf(conf_);
  const std::string rule = "publish = \"nginx\"";
  text.erase(text.find(rule), rule.size());
  dir_.write("larder.toml", text);
  server.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return !isPublished(kPage); }));
}

/// A network of this process's own, so that fixed ports are free.
void enterOwnNetwork() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
  const int socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  ::ioctl(socket, SIOCSIFFLAGS, &request);
  ::close(socket);
}

class ShippedConfiguration : public NginxTest {
 protected:
  void SetUp() override {}
  static std::string shipped(const std::string& name) {
    return test::sourceDir() + "/conf/" + name;
  }
  Result<testing::Process> larder(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"-D", "site.data=" + dir_.file("var"), "-D", "rule./**.publish=nginx"});
    return testing::Process::start(test::serverBinary(), std::move(arguments),
                                   {.directory = test::sourceDir()});
  }
};

TEST_F(ShippedConfiguration, Semantics36_TheShippedFileIsWhatIsPrinted) {
  auto printed = testing::Process::start(test::serverBinary(), {"nginx-conf", "conf/larder.toml"},
                                         {.directory = test::sourceDir()});
  ASSERT_TRUE(printed) << printed.error().message;
  ASSERT_EQ(printed->wait(), 0);
  EXPECT_EQ(printed->output(), contentOf(shipped("nginx.conf")))
      << "write it anew: larder nginx-conf conf/larder.toml > conf/nginx.conf";
}

TEST_F(ShippedConfiguration, Semantics36_TheShippedFileWorksWithNginxAsItStands) {
  enterOwnNetwork();
  auto memcached = testing::Process::start(
      "memcached", {"-l", "127.0.0.1", "-p", "11211", "-U", "0", "-u", "root"},
      {.package = "memcached"});
  ASSERT_TRUE(memcached) << memcached.error().message;
  const auto ready = memcached->waitForPort(11211);
  ASSERT_TRUE(ready) << ready.error().message;
  auto imported = larder({"import", "sample-app/handbook/content", "--to", "/handbook"});
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->wait(), 0) << imported->output();
  auto server = larder({"serve", "conf/larder.toml"});
  ASSERT_TRUE(server) << server.error().message;
  const auto serves = server->waitForOutput("serving http://");
  ASSERT_TRUE(serves) << serves.error().message;
  nginx_port_ = 8000;
  management_port_ = 8081;
  startNginxWith(shipped("nginx.conf"));
  const auto straight = httpAsk(8080, "GET", kPage);
  ASSERT_EQ(straight.status, 200);
  EXPECT_TRUE(eventually([&] {
    const auto before = requests();
    return through(kPage).body == straight.body && requests() == before &&
           published("published") > 0;
  }));
}

}  // namespace
}  // namespace larder::e2e
