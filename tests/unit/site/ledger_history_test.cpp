// History that goes on in other processes, is folded, taken back or replaced: rules L6, L7, L9 to
// L13.
#include <sqlite3.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "store_fixture.h"

namespace larder::site {
namespace {

namespace fs = std::filesystem;

class LedgerHistoryTest : public StoreTest {
 protected:
  LedgerHistoryTest() {
    create("/a", "one");
    create("/b", "two");
  }
  std::unique_ptr<Store> another() { return Store::open(options()); }
  /// A copy of the file as it is now, all of it.
  std::string backup() {
    const auto copy = dir_.file("backup.db");
    fs::remove(copy);
    outside(".backup " + copy);
    return copy;
  }
  void dropFiles() {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
  }
};

TEST_F(LedgerHistoryTest, Semantics20_AnEditIsOverWhenItReturns) {
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  retitle("/a", "new");
  EXPECT_EQ(store_->ledger().judge(a.stamp, a.ids()), Verdict::changed)
      << "without observing again";
  EXPECT_TRUE(valid(b));
}

TEST_F(LedgerHistoryTest, LedgerL10_AnotherProgramsCommitIsSeenAtOnce) {
  const auto a = readObject("/a");
  outside("UPDATE object SET title = 'shell' WHERE path = '/a'");
  EXPECT_EQ(verdict(a), Verdict::changed);
  EXPECT_EQ(titleOf("/a"), "shell");
}

TEST_F(LedgerHistoryTest, LedgerL10_AnotherStoresCommitIsSeenAtOnce) {
  const auto second = another();
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  second->edit([](Edit& edit) {
    Object o = *edit.open("/a");
    o.title = "second";
    edit.update(o, 0);
  });
  EXPECT_FALSE(valid(a));
  EXPECT_TRUE(valid(b));
}

TEST_F(LedgerHistoryTest, LedgerL10_ObservingCostsNoDrainWhileNothingHappens) {
  ASSERT_TRUE(store_->ledger().observe());
  const auto drains = store_->stats().drains;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store_->ledger().observe());
  EXPECT_EQ(store_->stats().drains, drains);
}

TEST_F(LedgerHistoryTest, LedgerL10_CheckpointsAreNoChange) {
  const auto a = readObject("/a");
  const auto version = store_->ledger().version();
  outside("PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_TRUE(valid(a));
  EXPECT_EQ(store_->ledger().version(), version);
  EXPECT_EQ(store_->stats().unlogged, 0U);
}

TEST_F(LedgerHistoryTest, LedgerL07_TheStampIsOfWhatIsRead) {
  const auto snapshot = store_->read();
  Recorder recorder;
  retitle("/a", "later");
  EXPECT_EQ(snapshot->object("/a", recorder)->title, "one");
  EXPECT_LT(snapshot->stamp().as_of, store_->ledger().known().as_of);
  Reading reading{snapshot->stamp(), recorder};
  EXPECT_FALSE(valid(reading)) << "stored after the edit, still never served";
}

TEST_F(LedgerHistoryTest, LedgerL07_OpeningASnapshotAppliesTheLogUpToIt) {
  const auto a = readObject("/a");
  outside("UPDATE object SET title = 'shell' WHERE path = '/a'");
  const auto snapshot = store_->read();
  EXPECT_EQ(store_->ledger().judge(a.stamp, a.ids()), Verdict::changed);
  EXPECT_EQ(store_->ledger().known().as_of, snapshot->stamp().as_of);
}

TEST_F(LedgerHistoryTest, LedgerL06_AnInvalidationThatCannotBeWrittenIsNotAcknowledged) {
  const auto a = readObject("/a");
  const auto blocker = dir_.file("blocker");
  auto shell = larder::testing::Process::start(
      "sqlite3", {file(), "BEGIN IMMEDIATE", ".shell touch " + blocker, ".shell sleep 100"},
      {.package = "sqlite3"});
  ASSERT_TRUE(shell) << shell.error().message;
  ASSERT_TRUE(shell->waitUntil([&] { return fs::exists(blocker); }, "the lock"));
  const auto result = store_->ledger().append(std::vector<Change>{{"obj:/a", Hardness::hard}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("nothing was invalidated"), std::string::npos);
  EXPECT_NE(result.error().message.find("another program holds the database locked"),
            std::string::npos);
  EXPECT_TRUE(valid(a));
}

TEST_F(LedgerHistoryTest, LedgerL09_EntriesOutliveARestart) {
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  open();
  EXPECT_TRUE(valid(a));
  retitle("/a", "new");
  open();
  EXPECT_FALSE(valid(a));
  EXPECT_TRUE(valid(b));
}

#ifndef __SANITIZE_ADDRESS__  // its checks need descriptors, too
// Opening takes several descriptors; whichever was the one too many, the next call goes on.
TEST_F(LedgerHistoryTest, LedgerL09_AReplacedFileIsFollowedWhereverOpeningItFailed) {
  const auto copy = backup();
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  std::size_t failures = 0;
  for (unsigned spare = 0; spare < 12; ++spare) {
    dropFiles();
    fs::copy_file(copy, file());
    const auto open_now = std::distance(fs::directory_iterator("/proc/self/fd"), {});
    auto few = usual;
    few.rlim_cur = static_cast<rlim_t>(open_now - 1) + spare;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    try {
      retitle("/a", "with " + std::to_string(spare));
    } catch (const StoreError&) {
      ++failures;
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    const auto before = readObject("/a");
    retitle("/a", "after " + std::to_string(spare));
    EXPECT_FALSE(valid(before)) << spare;
    EXPECT_EQ(titleOf("/a"), "after " + std::to_string(spare));
  }
  EXPECT_GT(failures, 0U);
  EXPECT_LT(failures, 12U);
}
#endif

TEST_F(LedgerHistoryTest, LedgerL08_ASchemaThatCouldNotBeReadIsReadLater) {
  sqlite3_int64 limit = 0;
  int failures = 0;
  for (int step = 0; step < 60; ++step) {
    outside("CREATE TABLE t" + std::to_string(step) + "(v); INSERT INTO t" + std::to_string(step) +
            " VALUES(" + std::to_string(step) + ")");
    limit = sqlite3_memory_used() + step * 2'000;
    sqlite3_hard_heap_limit64(limit);
    try {
      (void)readObject("/a");
    } catch (const StoreError&) {
      ++failures;
    }
    sqlite3_hard_heap_limit64(0);
    clock_.advance(1'000);
    store_->maintain();
    const auto object = readObject("/a");
    EXPECT_TRUE(valid(object)) << step;
    EXPECT_EQ(object.stamp.schema, store_->ledger().known().schema) << step;
    EXPECT_EQ(readQuery("SELECT v FROM t" + std::to_string(step)).recorder.refusal(), "") << step;
  }
  EXPECT_GT(failures, 0);
}

// The pages are rendered meanwhile, from a state that everybody can see.
TEST_F(LedgerHistoryTest, LedgerL10_ObservingDoesNotWaitForAWriterThatTakesLong) {
  const auto object = readObject("/a");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(other, "CREATE TABLE import(v); BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
      SQLITE_OK);
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(store_->ledger().observe());
  EXPECT_EQ(titleOf("/a"), "one");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::minutes(1)) << "writer_wait";
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  clock_.advance(1'000);
  EXPECT_TRUE(store_->ledger().observe());
  EXPECT_FALSE(valid(object));
}

TEST_F(LedgerHistoryTest, LedgerL09_EveryStartBeginsAnEra) {
  const auto era = store_->ledger().known().era;
  open();
  EXPECT_NE(store_->ledger().known().era, era);
}

TEST_F(LedgerHistoryTest, LedgerL09_ChangesWhileNobodyRanAreSeen) {
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  store_.reset();
  outside("UPDATE object SET title = 'shell' WHERE path = '/a'");
  open();
  EXPECT_FALSE(valid(a));
  EXPECT_TRUE(valid(b));
}

TEST_F(LedgerHistoryTest, LedgerL09_UnloggedChangesWhileNobodyRanAreSeen) {
  const auto a = readObject("/a");
  store_.reset();
  sly("UPDATE object SET title = 'sly' WHERE path = '/a'");
  open();
  EXPECT_FALSE(valid(a));
}

TEST_F(LedgerHistoryTest, LedgerL09_ABackupRestoredWhileNobodyRanForgetsLaterEntries) {
  const auto copy = backup();
  retitle("/a", "later");
  const auto later = readObject("/a");
  store_.reset();
  dropFiles();
  fs::copy_file(copy, file());
  open();
  EXPECT_EQ(titleOf("/a"), "one");
  EXPECT_EQ(verdict(later), Verdict::history);
}

TEST_F(LedgerHistoryTest, LedgerL09_ARestoredBackupThatGrewPastTheLostHistoryIsNoticed) {
  const auto copy = backup();
  retitle("/a", "later");
  const auto later = readObject("/a");
  store_.reset();
  dropFiles();
  fs::copy_file(copy, file());
  for (int i = 0; i < 10; ++i) outside("UPDATE object SET body = 'x' WHERE path = '/b'");
  open();
  EXPECT_EQ(verdict(later), Verdict::history);
}

TEST_F(LedgerHistoryTest, LedgerL09_ABackupRestoredUnderTheRunningStoreIsNoticed) {
  const auto copy = backup();
  retitle("/a", "later");
  const auto later = readObject("/a");
  const auto known = store_->ledger().known().as_of;
  outside(".restore " + copy);
  EXPECT_FALSE(valid(later));
  EXPECT_EQ(titleOf("/a"), "one");
  EXPECT_GT(store_->ledger().known().as_of, known) << "no seq of a lost history is used again";
  EXPECT_EQ(store_->stats().rewinds, 1U) << log_ << outside("SELECT * FROM larder_log");
  const auto again = readObject("/a");
  EXPECT_TRUE(valid(again));
  retitle("/a", "after");
  EXPECT_FALSE(valid(again));
}

TEST_F(LedgerHistoryTest, LedgerL09_EveryStoreForgetsWhatWasTakenBack) {
  const auto second = another();
  const auto copy = backup();
  retitle("/a", "later");
  const auto later = readObject("/a");
  outside(".restore " + copy);
  ASSERT_TRUE(second->ledger().observe());
  EXPECT_NE(second->ledger().judge(later.stamp, later.ids()), Verdict::valid);
  EXPECT_FALSE(valid(later));
  ASSERT_TRUE(second->ledger().observe());
  EXPECT_EQ(store_->ledger().known().era, second->ledger().known().era);
}

TEST_F(LedgerHistoryTest, LedgerL09_AReplacedFileIsNoticedByMaintenance) {
  const auto copy = backup();
  retitle("/a", "later");
  const auto later = readObject("/a");
  fs::rename(file(), dir_.file("old.db"));
  fs::remove(file() + "-wal");
  fs::remove(file() + "-shm");
  fs::copy_file(copy, file());
  store_->maintain();
  EXPECT_FALSE(valid(later));
  EXPECT_EQ(titleOf("/a"), "one");
  retitle("/a", "after");
  EXPECT_EQ(shell(file(), {"SELECT title FROM object WHERE path = '/a'"}), "after");
}

TEST_F(LedgerHistoryTest, LedgerL09_AnEditNeverGoesToAReplacedFile) {
  const auto copy = backup();
  fs::rename(file(), dir_.file("old.db"));
  fs::remove(file() + "-wal");
  fs::remove(file() + "-shm");
  fs::copy_file(copy, file());
  retitle("/a", "after");
  EXPECT_EQ(shell(file(), {"SELECT title FROM object WHERE path = '/a'"}), "after");
  EXPECT_EQ(titleOf("/a"), "after");
}

TEST_F(LedgerHistoryTest, LedgerL09_AWipedFolderIsAnotherHistory) {
  const auto a = readObject("/a");
  store_.reset();
  fs::remove_all(dir_.file("var"));
  open();
  create("/a", "other");
  EXPECT_EQ(verdict(a), Verdict::history);
}

TEST_F(LedgerHistoryTest, LedgerL09_AFileThatIsGoneStopsTheUseOfCaches) {
  fs::rename(file(), dir_.file("old.db"));
  store_->maintain();
  EXPECT_FALSE(store_->ledger().observe());
  EXPECT_NE(log_.find("gone"), std::string::npos);
  fs::rename(dir_.file("old.db"), file());
  store_->maintain();
  EXPECT_TRUE(store_->ledger().observe());
}

TEST_F(LedgerHistoryTest, RowsOfTheLogThatWereDeletedByHandForgetEverything) {
  const auto a = readObject("/a");
  outside("DELETE FROM larder_log");
  EXPECT_FALSE(valid(a));
  EXPECT_TRUE(valid(readObject("/a")));
}

class SmallLogTest : public LedgerHistoryTest {
 protected:
  SmallLogTest() { open(); }
  StoreOptions options() override {
    auto options = LedgerHistoryTest::options();
    options.keep_log = 20;
    options.map_scopes = 100'000;  // as many buckets as the persisted floors
    return options;
  }
};

TEST_F(SmallLogTest, LedgerL12_CompactionKeepsVerdicts) {
  const auto second = another();
  const auto before = readObject("/a");
  retitle("/a", "new");
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  for (int i = 0; i < 60; ++i) create("/n" + std::to_string(i));
  store_->maintain();
  EXPECT_LT(store_->stats().log_rows, 60U);
  EXPECT_TRUE(store_->log(1, 10).gap);
  EXPECT_FALSE(valid(before));
  EXPECT_TRUE(valid(a));
  // One that starts now, and one that slept meanwhile, know the floors only.
  open();
  EXPECT_FALSE(valid(before));
  EXPECT_TRUE(valid(b));
  ASSERT_TRUE(second->ledger().observe());
  EXPECT_NE(second->ledger().judge(before.stamp, before.ids()), Verdict::valid);
  EXPECT_EQ(second->stats().rewinds, 0U);
}

class PollingLedgerTest : public LedgerHistoryTest {
 protected:
  PollingLedgerTest() { open(); }
  StoreOptions options() override {
    auto options = LedgerHistoryTest::options();
    options.use_wal_index = false;
    return options;
  }
};

TEST_F(PollingLedgerTest, LedgerL10_WorksWithoutTheWalIndex) {
  const auto a = readObject("/a");
  const auto b = readObject("/b");
  EXPECT_TRUE(valid(a));
  outside("UPDATE object SET title = 'shell' WHERE path = '/a'");
  EXPECT_FALSE(valid(a));
  retitle("/a", "own");
  EXPECT_TRUE(valid(b));
  EXPECT_EQ(store_->stats().unlogged, 0U);
  sly("UPDATE object SET title = 'sly' WHERE path = '/b'");
  EXPECT_FALSE(valid(b));
}

}  // namespace
}  // namespace larder::site
