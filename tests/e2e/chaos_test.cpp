// Real processes, a real store, a real memcached, and everything that goes wrong with them, while
// visitors read: no answer is stale, none is somebody else's. scripts/bench chaos runs it for
// longer.
#include <signal.h>
#include <sqlite3.h>
#include <time.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>

#include "chaos_site.h"
#include "site_fixture.h"

namespace larder::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kForm = "Content-Type: application/x-www-form-urlencoded\r\n";
constexpr std::size_t kReaders = 4;

std::int64_t monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A copy of a live database by SQLite's own means.
void copyDatabase(const std::string& from, const std::string& to) {
  sqlite3* source = nullptr;
  sqlite3* copy = nullptr;
  ASSERT_EQ(sqlite3_open_v2(from.c_str(), &source, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(to.c_str(), &copy), SQLITE_OK);
  sqlite3_busy_timeout(source, 5'000);
  auto* backup = sqlite3_backup_init(copy, "main", source, "main");
  ASSERT_NE(backup, nullptr) << sqlite3_errmsg(copy);
  EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  sqlite3_backup_finish(backup);
  sqlite3_close(copy);
  sqlite3_close(source);
}

/// What is in a database that nobody else has open.
std::map<int, std::uint64_t> versionsIn(const std::string& file) {
  std::map<int, std::uint64_t> versions;
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  const auto add = [](void* to, int, char** values, char**) {
    (*static_cast<std::map<int, std::uint64_t>*>(to))[std::atoi(values[0])] =
        std::strtoull(values[1], nullptr, 10);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database,
                         "SELECT id, version FROM item UNION ALL "
                         "SELECT 100 + substr(name, 2), title FROM object WHERE type = 'chaos'",
                         add, &versions, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return versions;
}

class ChaosTest : public SiteTest {
 protected:
  struct Counts {
    std::atomic<std::uint64_t> answers{0}, hits{0}, stale{0}, foreign{0}, refused{0}, unanswered{0},
        edits{0}, foreign_edits{0}, invalidations{0};
    std::uint64_t kills = 0, pauses = 0, restarts = 0, restores = 0, clones = 0;
  };
  using SitePtr = std::shared_ptr<ChaosSite>;

  void setUpSite();
  void logIn(const std::string& user);
  [[nodiscard]] SitePtr someSite(std::mt19937& random);

  void read(unsigned seed);
  void readOnce(ChaosSite& site, std::mt19937& random);
  void edit(unsigned seed);
  void editOnce(ChaosSite& site, std::mt19937& random);
  void editByShell(ChaosSite& site, std::mt19937& random);
  void invalidate(ChaosSite& site, std::mt19937& random);

  void killWorker(std::mt19937& random);
  void stopMemcached();
  void restartMemcached();
  void restoreBackup();
  void cloneSite();

  std::map<std::string, std::string> cookies_;  // by user
  Counts counts_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> versions_{0};
  std::mutex sites_mutex_;
  std::vector<SitePtr> sites_;
  std::mutex editing_;
  std::optional<testing::Process> server_;
  std::mutex report_mutex_;
};

void ChaosTest::setUpSite() {
  ASSERT_NO_FATAL_FAILURE(configureChaos("larder.toml", dir_.file("var"), port_, management_port_));
  for (const char* user : {"anna", "ben"}) {
    auto added = testing::Process::start(
        "sh", {"-c", std::string("printf '%s\\n' '") + kPassword + "' | '" + test::serverBinary() +
                         "' user add " + user + " --password-stdin -c '" + conf_ + "'"});
    ASSERT_TRUE(added) << added.error().message;
    ASSERT_EQ(added->wait(), 0) << added->output();
  }
  server_ = serve({"--processes", "3"});
  ASSERT_EQ(httpAsk(port_, "POST", "/chaos/setup", kForm, "x=1").status, 200);
  cookies_["-"] = "";
  for (const char* user : {"anna", "ben"}) logIn(user);
  auto site = std::make_shared<ChaosSite>(port_);
  std::map<int, std::uint64_t> nothing;
  for (const int item : kChaosItems) nothing[item] = 0;
  site->begin(nothing);
  sites_.push_back(std::move(site));
}

void ChaosTest::logIn(const std::string& user) {
  const auto answer = httpAsk(port_, "POST", "/chaos/login", kForm,
                              "login=" + user + "&password=" + "correct+horse+battery");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto cookie = headerOf(answer, "Set-Cookie");
  ASSERT_NE(cookie, "") << answer.head;
  cookies_[user] = "Cookie: " + cookie.substr(0, cookie.find(';')) + "\r\n";
}

ChaosTest::SitePtr ChaosTest::someSite(std::mt19937& random) {
  const std::lock_guard lock(sites_mutex_);
  return sites_[random() % sites_.size()];
}

void ChaosTest::read(unsigned seed) {
  for (std::mt19937 random(seed); !over_;) {
    const auto site = someSite(random);
    {
      const std::shared_lock lock(site->in_use);
      readOnce(*site, random);
    }
    std::this_thread::sleep_for(milliseconds(random() % 12));  // there are others on the machine
  }
}

void ChaosTest::readOnce(ChaosSite& site, std::mt19937& random) {
  static const std::array<std::string, 3> kUsers{"-", "anna", "ben"};
  ChaosRequest request;
  request.user = kUsers[random() % kUsers.size()];
  request.query = random() % 3 == 0 ? std::to_string(random() % 2) : "-";
  const auto kind = random() % 8;
  request.view = kind == 0 ? "list" : kind == 1 ? "part" : "page";
  request.path = kind == 0 ? "/chaos" : "/chaos/p" + std::to_string(random() % 4);
  const auto target = request.path + (request.view == "part" ? "/@@part" : "") +
                      (request.query == "-" ? "" : "?q=" + request.query);
  site.expect(request);
  const auto answer = httpAsk(site.port(), "GET", target, cookies_.at(request.user));
  if (answer.status == 0) {
    ++counts_.unanswered;
    return;
  }
  if (answer.status != 200) {
    ++counts_.refused;
    return;
  }
  ++counts_.answers;
  counts_.hits += isHit(answer) ? 1U : 0U;
  const auto verdict = site.judge(request, answer.body);
  counts_.stale += verdict.stale.empty() ? 0U : 1U;
  counts_.foreign += verdict.foreign.empty() ? 0U : 1U;
  if (verdict.stale.empty() && verdict.foreign.empty()) return;
  const std::lock_guard lock(report_mutex_);
  std::cerr << target << " for " << request.user << ": " << verdict.stale << verdict.foreign << "\n"
            << answer.head << answer.body;
}

void ChaosTest::edit(unsigned seed) {
  for (std::mt19937 random(seed); !over_;) {
    // However slow the machine is, there is something to find in the caches.
    if (counts_.answers >= 10 * counts_.edits) {
      const std::lock_guard lock(editing_);
      const auto site = someSite(random);
      const std::shared_lock use(site->in_use);
      const auto kind = random() % 20;
      if (kind == 0) {
        invalidate(*site, random);
      } else if (kind == 1) {
        editByShell(*site, random);
      } else {
        editOnce(*site, random);
      }
    }
    std::this_thread::sleep_for(milliseconds(random() % 20));
  }
}

void ChaosTest::editOnce(ChaosSite& site, std::mt19937& random) {
  const int item = kChaosItems[random() % kChaosItems.size()];
  const auto version = ++versions_;
  site.issue(item, version);
  const auto answer =
      httpAsk(site.port(), "POST", "/chaos/set", kForm,
              "item=" + std::to_string(item) + "&version=" + std::to_string(version));
  if (answer.status != 200) return;  // perhaps it was written, perhaps not
  site.acknowledge(item, version);
  ++counts_.edits;
}

// One or two changes in one transaction.
void ChaosTest::editByShell(ChaosSite& site, std::mt19937& random) {
  std::map<int, std::uint64_t> changes;
  for (auto count = 1 + random() % 2; count > 0; --count)
    changes[kChaosItems[random() % kChaosItems.size()]] = ++versions_;
  std::string sql = "BEGIN IMMEDIATE;";
  for (const auto& [item, version] : changes) {
    site.issue(item, version);
    const auto number = std::to_string(version);
    sql += item < 100
               ? "UPDATE item SET version = " + number + " WHERE id = " + std::to_string(item) +
                     " AND version < " + number + ";"
               : "UPDATE object SET title = '" + number + "' WHERE path = '/chaos/p" +
                     std::to_string(item - 100) + "' AND CAST(title AS INTEGER) < " + number + ";";
  }
  const auto data = site.port() == port_ ? "var" : "clone";
  auto shell =
      testing::Process::start("sqlite3",
                              {"-cmd", ".timeout 5000", "-cmd", "PRAGMA wal_autocheckpoint=0",
                               dir_.file(std::string(data) + "/site.db"), sql + "COMMIT;"},
                              {.package = "sqlite3"});
  ASSERT_TRUE(shell) << shell.error().message;
  if (shell->wait() != 0) return;
  for (const auto& [item, version] : changes) site.acknowledge(item, version);
  ++counts_.foreign_edits;
}

void ChaosTest::invalidate(ChaosSite& site, std::mt19937& random) {
  if (site.port() != port_) return;
  static const std::array<std::string, 3> kWhat{R"({"site": true})", R"({"tag": "chaos"})",
                                                R"({"tag": "chaos", "hardness": "soft"})"};
  const auto time = monotonic();
  const auto answer =
      httpAsk(management_port_, "POST", "/@@invalidate",
              "Authorization: Bearer " + token() + "\r\nContent-Type: application/json\r\n",
              kWhat[random() % kWhat.size()]);
  if (answer.status != 200) return;
  // Soft or hard: no view here has a time in which it may be stale.
  site.acknowledgeInvalidation(time);
  ++counts_.invalidations;
}

void ChaosTest::killWorker(std::mt19937& random) {
  const auto answer = httpAsk(management_port_, "GET", "/@@caches?entries=0",
                              "Authorization: Bearer " + token() + "\r\n");
  const auto report = nlohmann::json::parse(answer.body, nullptr, false);
  std::vector<pid_t> pids;
  if (report.is_object() && report.contains("processes"))
    for (const auto& process : report.at("processes"))
      if (process.contains("pid")) pids.push_back(process.at("pid"));
  if (pids.empty()) return;
  ::kill(pids[random() % pids.size()], SIGKILL);
  ++counts_.kills;
}

void ChaosTest::stopMemcached() {
  memcached_->pause();
  ++counts_.pauses;
  std::this_thread::sleep_for(milliseconds(400));
  memcached_->resume();
}

void ChaosTest::restartMemcached() {
  memcached_->kill();
  ++counts_.restarts;
  std::this_thread::sleep_for(milliseconds(300));
  ASSERT_TRUE(memcached_->restart());
}

// A copy of a moment ago, as an operator would put it back: stop, copy, start.
void ChaosTest::restoreBackup() {
  const auto file = dir_.file("var/site.db");
  const auto backup = dir_.file("backup.db");
  fs::remove(backup);
  copyDatabase(file, backup);
  std::this_thread::sleep_for(milliseconds(500));  // what is written now will be lost
  const auto site = sites_.front();
  const std::unique_lock lock(site->in_use);
  server_->stop();
  for (const char* ending : {"-wal", "-shm"}) fs::remove(file + ending);
  fs::copy_file(backup, file, fs::copy_options::overwrite_existing);
  site->begin(versionsIn(backup));
  server_ = serve({"--processes", "3"});
  ++counts_.restores;
}

// The same site once more, from a copy, with the same keys in the same memcached; both go on.
void ChaosTest::cloneSite() {
  const auto port = testing::freePort();
  fs::remove_all(dir_.file("clone"));
  fs::create_directory(dir_.file("clone"));
  auto clone = std::make_shared<ChaosSite>(port);
  {
    const std::lock_guard lock(editing_);
    copyDatabase(dir_.file("var/site.db"), dir_.file("clone/site.db"));
    copyDatabase(dir_.file("var/state.db"), dir_.file("clone/state.db"));
  }
  clone->begin(versionsIn(dir_.file("clone/site.db")));
  const auto conf = conf_;
  configureChaos("clone.toml", dir_.file("clone"), port, testing::freePort());
  auto server = serve();
  conf_ = conf;
  {
    const std::lock_guard lock(sites_mutex_);
    sites_.push_back(clone);
  }
  ++counts_.clones;
  std::this_thread::sleep_for(milliseconds(1'500));
  {
    const std::lock_guard lock(sites_mutex_);
    sites_.pop_back();
  }
  const std::unique_lock lock(clone->in_use);
  server.stop();
}

TEST(ChaosSite, SeesWhatIsStaleForeignOrHalf) {
  ChaosSite site(1);
  site.begin({{1, 4}, {100, 5}});
  site.issue(1, 6);
  site.acknowledge(1, 6);
  ChaosRequest request{"page", "/chaos/p0", "anna", "-", {}, 0};
  site.acknowledgeInvalidation(50);
  site.expect(request);
  const auto judge = [&](const std::string& lines,
                         const std::string& head = "V page /chaos/p0 60\n",
                         const std::string& end = "E\n") {
    const auto verdict = site.judge(request, head + lines + end);
    return std::string(verdict.stale.empty() ? "" : "stale ") +
           (verdict.foreign.empty() ? "" : "foreign");
  };
  EXPECT_EQ(judge("U anna\nQ -\nR 1 6\nR 100 5\n"), "");
  site.issue(1, 7);
  EXPECT_EQ(judge("R 1 7\n"), "") << "written, and acknowledged soon";
  EXPECT_EQ(judge("R 1 4\n"), "stale ");
  EXPECT_EQ(judge("R 1 6\nR 1 7\n"), "stale ") << "two moments in one page";
  EXPECT_EQ(judge("", "V page /chaos/p0 40\n"), "stale ") << "from before the invalidation";
  EXPECT_EQ(judge("R 1 8\n"), "foreign") << "of another history";
  site.issue(100, 9);
  EXPECT_EQ(judge("R 1 9\n"), "foreign") << "another item's";
  EXPECT_EQ(judge("U ben\n"), "foreign");
  EXPECT_EQ(judge("Q 1\n"), "foreign");
  EXPECT_EQ(judge("", "V page /chaos/p1 60\n"), "foreign");
  EXPECT_EQ(judge("", "V page /chaos/p0 60\n", ""), "foreign");
}

TEST_F(ChaosTest, Semantics20_Ledger_NoAnswerIsStaleOrForeignWhateverHappens) {
  ASSERT_NO_FATAL_FAILURE(setUpSite());
  const auto seconds = test::countFrom("LARDER_CHAOS_SECONDS", 10);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::mt19937 random(7);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kReaders; ++i) threads.emplace_back([this, i] { read(100 + i); });
  threads.emplace_back([this] { edit(50); });
  constexpr int kKinds = 7;  // each happens at least once, on a slow machine too
  for (int round = 0;
       (round < kKinds || std::chrono::steady_clock::now() < until) && !HasFatalFailure();
       ++round) {
    std::this_thread::sleep_for(milliseconds(300 + random() % 200));
    switch (round % kKinds) {
      case 0:
      case 4:
        killWorker(random);
        break;
      case 1:
        stopMemcached();
        break;
      case 2:
        cloneSite();
        break;
      case 3:
        restartMemcached();
        break;
      case 5:
        restoreBackup();
        break;
      default:
        std::this_thread::sleep_for(milliseconds(1'000));  // nothing goes wrong
    }
  }
  over_ = true;
  for (auto& thread : threads) thread.join();
  std::cout << counts_.answers << " answers checked, " << counts_.hits
            << " of them hits: " << counts_.stale << " stale, " << counts_.foreign << " foreign\n"
            << counts_.edits << " edits, " << counts_.foreign_edits << " by sqlite3, "
            << counts_.invalidations << " invalidations; " << counts_.kills << " workers killed, "
            << counts_.pauses << " times memcached stopped, " << counts_.restarts
            << " times killed, " << counts_.restores << " backups restored, " << counts_.clones
            << " clones; " << counts_.refused << " requests refused, " << counts_.unanswered
            << " not answered\n";
  EXPECT_EQ(counts_.stale, 0U);
  EXPECT_EQ(counts_.foreign, 0U);
  EXPECT_GT(counts_.answers, 100U);
  EXPECT_GT(counts_.hits, counts_.answers / 10) << "it proves little about caches";
  EXPECT_GT(counts_.kills, 0U);
  EXPECT_GT(counts_.restores, 0U);
  EXPECT_GT(counts_.clones, 0U);
}

}  // namespace
}  // namespace larder::e2e
