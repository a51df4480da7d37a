#include "larder/site/state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "larder/testing/manual_clock.h"
#include "larder/testing/process.h"
#include "larder/testing/temp_dir.h"
#include "writer_lock.h"

namespace larder::site {
namespace {

constexpr Millis kHour = 3'600'000;

class StateTest : public ::testing::Test {
 protected:
  StateTest() { open(); }
  void open() {
    state_.reset();
    state_ = State::open(options());
  }
  StateOptions options() {
    StateOptions options;
    options.data_dir = dir_.file("var");
    options.clock = &clock_;
    options.session_lifetime = 24 * kHour;
    options.failures_per_login = 3;
    options.failures_per_address = 5;
    return options;
  }
  std::int64_t addAnna() {
    return state_->addUser({"Anna", "Anna A.", "correct horse", {"editor", "admin", "editor"}});
  }
  LogInOutcome logIn(std::string_view login, std::string_view password,
                     std::string_view address = "192.0.2.1") {
    return state_->logIn(login, password, address).outcome;
  }
  bool fileHolds(const std::string& text) {
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream in(dir_.file("var/state.db") + suffix, std::ios::binary);
      const std::string all((std::istreambuf_iterator<char>(in)), {});
      if (all.find(text) != std::string::npos) return true;
    }
    return false;
  }

  larder::testing::TempDir dir_;
  larder::testing::ManualClock clock_;
  std::unique_ptr<State> state_;
};

TEST_F(StateTest, FaultA40_ItsFilesAreForTheServersUserAlone) {
  const std::string file = dir_.file("var/state.db");
  state_.reset();
  for (const char* beside : {"", "-wal", "-shm"}) std::filesystem::remove(file + beside);
  const auto mask = ::umask(022);
  const auto areClosed = [&] {
    open();
    const auto id = addAnna();
    for (const char* beside : {"", "-wal", "-shm"}) {
      struct stat status {};
      ASSERT_EQ(::stat((file + beside).c_str(), &status), 0) << beside;
      EXPECT_EQ(status.st_mode & 0777, 0600) << beside;
    }
    state_->removeUser(id);
  };
  areClosed();
  // As an older version made them.
  for (const char* beside : {"", "-wal", "-shm"}) ::chmod((file + beside).c_str(), 0644);
  areClosed();
  ::umask(mask);
}

TEST_F(StateTest, AUserLogsInWithTheRightPasswordOnly) {
  const auto id = addAnna();
  const auto result = state_->logIn("anna", "correct horse", "192.0.2.1");
  EXPECT_EQ(result.outcome, LogInOutcome::ok);
  EXPECT_EQ(result.user.id, id);
  EXPECT_EQ(result.user.login, "Anna");
  EXPECT_EQ(result.user.roles, (std::vector<std::string>{"admin", "editor"}));
  EXPECT_EQ(logIn("anna", "wrong horse"), LogInOutcome::refused);
  EXPECT_EQ(logIn("nobody", "correct horse"), LogInOutcome::refused);
}

TEST_F(StateTest, PasswordsAreStoredAsArgon2id) {
  addAnna();
  EXPECT_FALSE(fileHolds("correct horse"));
  EXPECT_TRUE(fileHolds("$argon2id$"));
}

TEST_F(StateTest, TooManyFailuresMakeALoginWait) {
  addAnna();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(logIn("anna", "wrong", "192.0.2." + std::to_string(i)), LogInOutcome::refused);
  const auto waiting = state_->logIn("ANNA", "correct horse", "192.0.2.9");
  EXPECT_EQ(waiting.outcome, LogInOutcome::throttled);
  EXPECT_EQ(waiting.retry_after, 1'000);
  clock_.advance(1'000);
  EXPECT_EQ(logIn("anna", "wrong", "192.0.2.9"), LogInOutcome::refused);
  EXPECT_EQ(state_->logIn("anna", "correct horse", "192.0.2.9").retry_after, 2'000);
  clock_.advance(2'000);
  EXPECT_EQ(logIn("anna", "correct horse"), LogInOutcome::ok);
  EXPECT_EQ(logIn("anna", "wrong"), LogInOutcome::refused) << "counted anew after a success";
}

TEST_F(StateTest, TooManyFailuresMakeAnAddressWait) {
  addAnna();
  for (int i = 0; i < 5; ++i) logIn("user" + std::to_string(i), "wrong");
  EXPECT_EQ(logIn("anna", "correct horse"), LogInOutcome::throttled);
  EXPECT_EQ(logIn("anna", "correct horse", "192.0.2.2"), LogInOutcome::ok);
}

TEST_F(StateTest, AddressesOfOneNetworkOfVersion6CountTogether) {
  for (int i = 0; i < 5; ++i)
    logIn("user" + std::to_string(i), "wrong", "2001:db8::" + std::to_string(i + 1));
  EXPECT_EQ(logIn("other", "wrong", "2001:db8::ffff:1"), LogInOutcome::throttled);
  EXPECT_EQ(logIn("other", "wrong", "2001:db8:0:1::1"), LogInOutcome::refused);
}

TEST_F(StateTest, FailuresAreForgottenAfterTheWindow) {
  for (int i = 0; i < 3; ++i) logIn("anna", "wrong", std::to_string(i));
  clock_.advance(options().throttle_window + 1);
  EXPECT_EQ(logIn("anna", "wrong"), LogInOutcome::refused);
  EXPECT_EQ(logIn("anna", "wrong"), LogInOutcome::refused);
}

TEST_F(StateTest, AClockThatIsSetBackLocksNobodyOut) {
  addAnna();
  for (int i = 0; i < 3; ++i) logIn("anna", "wrong", std::to_string(i));
  clock_.jumpWall(-24 * kHour);
  EXPECT_EQ(logIn("anna", "correct horse"), LogInOutcome::ok);
}

TEST_F(StateTest, UsersAreChecked) {
  addAnna();
  EXPECT_THROW(addAnna(), StoreError);
  EXPECT_THROW(state_->addUser({"bob", "", "short", {}}), StoreError);
  EXPECT_THROW(state_->addUser({"", "", "long enough", {}}), StoreError);
  EXPECT_THROW(state_->addUser({"a\nb", "", "long enough", {}}), StoreError);
}

TEST_F(StateTest, UsersCanBeChangedAndRemoved) {
  const auto id = addAnna();
  EXPECT_TRUE(state_->setRoles(id, {"reader"}));
  EXPECT_TRUE(state_->setName(id, "A."));
  EXPECT_EQ(state_->userByLogin("anna")->roles, std::vector<std::string>{"reader"});
  EXPECT_EQ(state_->users().size(), 1U);
  const auto session = state_->startSession(id);
  EXPECT_TRUE(state_->removeUser(id));
  EXPECT_FALSE(state_->user(id));
  EXPECT_FALSE(state_->session(session.token));
  EXPECT_FALSE(state_->removeUser(id));
  EXPECT_NE(addAnna(), id);
}

TEST_F(StateTest, ASessionKnowsItsUser) {
  const auto id = addAnna();
  const auto started = state_->startSession(id);
  const auto session = state_->session(started.token);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->user->id, id);
  EXPECT_EQ(session->csrf, started.csrf);
  EXPECT_NE(started.csrf, started.token);
  EXPECT_EQ(started.token.size(), 43U);
}

TEST_F(StateTest, TokensAreNotStored) {
  const auto session = state_->startSession({});
  EXPECT_FALSE(fileHolds(session.token));
}

TEST_F(StateTest, ASessionMayBeAnonymousAndHoldValues) {
  const auto started = state_->startSession({});
  EXPECT_TRUE(state_->setSessionValue(started.token, "theme", "dark"));
  const auto session = state_->session(started.token);
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->user);
  EXPECT_EQ(session->values.at("theme"), "dark");
}

TEST_F(StateTest, SessionsEnd) {
  const auto id = addAnna();
  const auto one = state_->startSession(id);
  const auto two = state_->startSession(id);
  state_->endSession(one.token);
  EXPECT_FALSE(state_->session(one.token));
  EXPECT_TRUE(state_->session(two.token));
  state_->endSessions(id);
  EXPECT_FALSE(state_->session(two.token));
  EXPECT_FALSE(state_->setSessionValue(two.token, "a", "b"));
  EXPECT_FALSE(state_->session("x"));
}

TEST_F(StateTest, ANewPasswordEndsTheSessions) {
  const auto id = addAnna();
  const auto session = state_->startSession(id);
  EXPECT_TRUE(state_->setPassword(id, "battery staple"));
  EXPECT_FALSE(state_->session(session.token));
  EXPECT_EQ(logIn("anna", "battery staple"), LogInOutcome::ok);
}

TEST_F(StateTest, ASessionExpiresUnlessItIsUsed) {
  const auto session = state_->startSession({});
  for (int i = 0; i < 5; ++i) {
    clock_.advance(23 * kHour);
    ASSERT_TRUE(state_->session(session.token)) << i;
  }
  clock_.advance(25 * kHour);
  EXPECT_FALSE(state_->session(session.token));
  state_->maintain();
}

// A full disk or a busy file: what only reads goes on, and does not wait each time.
TEST_F(StateTest, ASessionThatCannotBeProlongedIsStillOne) {
  const auto started = state_->startSession({});
  std::vector<std::string> log;
  StateOptions impatient = options();
  impatient.writer_wait = 10;
  impatient.log = [&log](LogLevel, std::string_view line) { log.emplace_back(line); };
  const auto state = State::open(impatient);
  clock_.advance(23 * kHour);
  {
    WriterLock other(dir_.file("var/state.lock"));
    const auto held = other.acquire(1'000);
    ASSERT_TRUE(held);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(state->session(started.token));
    ASSERT_EQ(log.size(), 1U);
    EXPECT_NE(log[0].find("not prolonged"), std::string::npos) << log[0];
  }
  clock_.advance(10'000);
  EXPECT_TRUE(state->session(started.token));
  clock_.advance(23 * kHour);
  EXPECT_TRUE(state->session(started.token)) << "prolonged as soon as it could be";
}

TEST_F(StateTest, LearnedNamesOnlyGrow) {
  EXPECT_EQ(state_->learn("/app listing", std::vector<std::string>{"param:sort", "param:page"}),
            (std::vector<std::string>{"param:page", "param:sort"}));
  EXPECT_EQ(state_->learn("/app listing", std::vector<std::string>{"param:page"}).size(), 2U);
  open();
  EXPECT_EQ(state_->learned().at("/app listing").size(), 2U);
  state_->forgetLearned("/app listing");
  EXPECT_TRUE(state_->learned().empty());
}

TEST_F(StateTest, SettingsAreKeptUntilTheyAreReverted) {
  state_->setSetting("manager./.fast.max_age", "10m", "anna");
  open();
  const auto all = state_->settings();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].value, "10m");
  EXPECT_EQ(all[0].by, "anna");
  EXPECT_EQ(all[0].at, clock_.wall());
  EXPECT_TRUE(state_->revertSetting("manager./.fast.max_age"));
  EXPECT_FALSE(state_->revertSetting("manager./.fast.max_age"));
}

TEST_F(StateTest, SmallValuesMayHoldAnyBytes) {
  const std::string value("a\0b\xff", 4);
  state_->put("outbox", "cursor", value);
  EXPECT_EQ(state_->get("outbox", "cursor"), value);
  EXPECT_EQ(state_->list("outbox").size(), 1U);
  EXPECT_FALSE(state_->get("other", "cursor"));
  EXPECT_TRUE(state_->erase("outbox", "cursor"));
  EXPECT_FALSE(state_->erase("outbox", "cursor"));
}

TEST_F(StateTest, WhatAnotherProcessWritesIsSeen) {
  const auto other = State::open(options());
  const auto version = state_->version();
  EXPECT_EQ(state_->version(), version);
  const auto session = other->startSession({});
  EXPECT_NE(state_->version(), version);
  EXPECT_TRUE(state_->session(session.token));
}

TEST_F(StateTest, ManyThreadsMayWrite) {
  const auto other = State::open(options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        (t % 2 ? state_ : other)->put("n", std::to_string(t) + "." + std::to_string(i), "x");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(state_->list("n").size(), 200U);
}

TEST_F(StateTest, ADamagedFileSaysWhatToDo) {
  state_.reset();
  std::ofstream(dir_.file("var/state.db"), std::ios::binary) << "this is no database at all";
  std::filesystem::remove(dir_.file("var/state.db-wal"));
  try {
    open();
    FAIL() << "opened";
  } catch (const StoreError& error) {
    EXPECT_NE(std::string(error.what()).find("state.db"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("restore a backup"), std::string::npos);
  }
}

PublishedPage pageOf(const std::string& key) {
  return {.key = key, .stamp = {1, 2, 3}, .scopes = {4, 5}, .revision = 6, .expires = 100};
}

TEST_F(StateTest, AReplacedFileThatIsOfNoUseIsToldUntilThereIsAGoodOne) {
  namespace fs = std::filesystem;
  addAnna();
  state_->maintain();  // all of it is in the main file
  const fs::path file = dir_.file("var/state.db");
  const fs::path kept = dir_.file("kept.db");
  fs::copy_file(file, kept);
  const auto replaceBy = [&](const fs::path& other) {
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(file.string() + suffix);
    fs::rename(other, file);
  };
  replaceBy(dir_.write("foreign.db", std::string(4'096, 'x')));
  EXPECT_THROW(state_->setSetting("a", "1", "me"), StoreError);
  EXPECT_THROW(static_cast<void>(state_->settings()), StoreError);
  EXPECT_THROW(state_->setSetting("a", "1", "me"), StoreError);
  replaceBy(kept);
  EXPECT_TRUE(state_->settings().empty());
  EXPECT_EQ(logIn("anna", "correct horse"), LogInOutcome::ok);
}

TEST_F(StateTest, PublishedPagesAreNotedReplacedAndForgotten) {
  std::vector<PublishedPage> first{pageOf("/a"), pageOf("/b"), pageOf("/a")};
  state_->notePublished(first);
  EXPECT_EQ(first[2].id, 0) << "the first of that key is not settled";
  state_->settlePublished(std::vector{first[0].id, first[1].id});
  std::vector<PublishedPage> second{pageOf("/a")};
  second[0].expires = 200;
  state_->notePublished(second);
  EXPECT_EQ(state_->published(0, 10).size(), 3U) << "the old one stays until the new one is there";
  state_->settlePublished(std::vector{second[0].id});
  open();
  const auto pages = state_->published(0, 10);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].key, "/b");
  EXPECT_EQ(pages[1].id, second[0].id);
  EXPECT_EQ(pages[1].stamp.as_of, 1U);
  EXPECT_EQ(pages[1].stamp.era, 2U);
  EXPECT_EQ(pages[1].stamp.schema, 3U);
  EXPECT_EQ(pages[1].scopes, (std::vector<ScopeId>{4, 5}));
  EXPECT_EQ(pages[1].revision, 6U);
  EXPECT_TRUE(pages[1].settled);
  EXPECT_EQ(state_->published(pages[0].id, 10).size(), 1U);
  state_->forgetExpired(101);
  EXPECT_EQ(state_->published(0, 10).size(), 1U);
  state_->forgetPublished(std::vector{second[0].id});
  EXPECT_TRUE(state_->published(0, 10).empty());
}

TEST_F(StateTest, AFileFromBeforePagesWerePublishedGetsTheirTable) {
  state_.reset();
  auto shell = larder::testing::Process::start(
      "sqlite3", {dir_.file("var/state.db"), "DROP TABLE published"}, {.package = "sqlite3"});
  ASSERT_TRUE(shell) << shell.error().message;
  ASSERT_EQ(shell->wait(), 0) << shell->output();
  open();
  EXPECT_TRUE(state_->published(0, 10).empty());
}

}  // namespace
}  // namespace larder::site
