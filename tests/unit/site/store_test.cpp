// Opening, reading, schemas and maintenance of one store.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "larder/testing/manual_executor.h"
#include "store_fixture.h"
#include "writer_lock.h"

namespace larder::site {
namespace {

namespace fs = std::filesystem;

std::string errorOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

MATCHER_P(Says, text, "") {
  return arg.find(text) != std::string::npos;
}

class StoreOpenTest : public StoreTest {
 protected:
  std::string openingError() {
    return errorOf([&] { open(); });
  }
  void overwrite(std::streamoff at, const std::string& bytes) {
    std::fstream f(file(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(at);
    f.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
};

TEST_F(StoreOpenTest, ANewStoreHasARoot) {
  Recorder recorder;
  const auto root = store_->read()->object("/", recorder);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->type, "folder");
}

TEST_F(StoreOpenTest, ContentOutlivesTheStore) {
  create("/a", "one");
  open();
  EXPECT_EQ(titleOf("/a"), "one");
}

TEST_F(StoreOpenTest, AStoreThatWasClosedCleanlyLeavesAnEmptyLog) {
  create("/a");
  store_.reset();
  EXPECT_EQ(fs::file_size(file() + "-wal"), 0U);
}

TEST_F(StoreOpenTest, NonsenseInPlaceOfTheFileSaysWhatToDo) {
  store_.reset();
  overwrite(0, std::string(100, 'x'));
  const auto error = openingError();
  EXPECT_THAT(error, Says(file()));
  EXPECT_THAT(error, Says("restore a backup"));
}

TEST_F(StoreOpenTest, ADamagedPageIsFoundAfterAnUncleanEnd) {
  for (int i = 0; i < 200; ++i) create("/n" + std::to_string(i), std::string(200, 't'));
  store_.reset();
  fs::remove(dir_.file("var/site.lock"));
  for (int page = 20; page < 40; ++page) overwrite(page * 4096, std::string(4096, '\x7f'));
  const auto error = openingError();
  EXPECT_THAT(error, Says(file() + ": damaged"));
  EXPECT_THAT(error, Says(".recover"));
}

TEST_F(StoreOpenTest, AFolderThatCannotBeMadeSaysWhichSettingItIs) {
  auto bad = options();
  bad.data_dir = fs::path(dir_.write("plain", "text")) / "var";
  const auto error = errorOf([&] { (void)Store::open(bad); });
  EXPECT_THAT(error, Says(bad.data_dir.string()));
  EXPECT_THAT(error, Says("site.data"));
}

TEST_F(StoreOpenTest, AFolderInPlaceOfTheFileSaysWhatToDo) {
  store_.reset();
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_THAT(openingError(), Says("writable"));
}

TEST_F(StoreOpenTest, AFormatOfTheFutureIsRefused) {
  store_.reset();
  outside("PRAGMA user_version = 99");
  EXPECT_THAT(openingError(), Says("format 99"));
}

TEST_F(StoreOpenTest, ADatabaseOfAnotherProgramIsRefused) {
  store_.reset();
  fs::remove_all(dir_.file("var"));
  fs::create_directory(dir_.file("var"));
  outside("CREATE TABLE theirs(x)");
  EXPECT_THAT(openingError(), Says("another program"));
}

TEST_F(StoreOpenTest, LedgerL13_AHangingWriterIsReported) {
  auto impatient = options();
  impatient.writer_wait = 20;
  store_ = Store::open(impatient);
  const auto error = errorOf([&] { store_->edit([&](Edit&) { (void)Store::open(impatient); }); });
  EXPECT_THAT(error, Says("another writer has been at work for 20 ms"));
}

class StoreReadTest : public StoreTest {
 protected:
  StoreReadTest() {
    clock_.jumpWall(0);
    for (const auto& [path, title] : std::vector<std::pair<std::string, std::string>>{
             {"/l", "list"}, {"/l/c", "Alpha"}, {"/l/a", "beta"}, {"/l/b", "100% Gamma"}}) {
      clock_.advance(1'000);
      create(path, title);
    }
    create("/l/a/deep", "deep");
  }
  std::vector<std::string> names(const ChildrenQuery& query) {
    Recorder recorder;
    std::vector<std::string> all;
    for (const auto& child : store_->read()->children("/l", query, recorder))
      all.push_back(child->name);
    return all;
  }
  Document query(std::string_view sql, const QueryLimits& limits = {}) {
    Recorder recorder;
    return store_->read()->query(sql, {}, recorder, limits);
  }
};

TEST_F(StoreReadTest, ChildrenComeInTheAskedOrder) {
  using Names = std::vector<std::string>;
  ChildrenQuery q;
  EXPECT_EQ(names(q), (Names{"a", "b", "c"}));
  q.sort = "title";
  EXPECT_EQ(names(q), (Names{"b", "c", "a"}));
  q.descending = true;
  EXPECT_EQ(names(q), (Names{"a", "c", "b"}));
  q.sort = "created";
  EXPECT_EQ(names(q), (Names{"b", "a", "c"}));
  clock_.advance(1'000);
  retitle("/l/c", "Alpha");
  q.sort = "modified";
  EXPECT_EQ(names(q).front(), "c");
  q.sort = "price";
  EXPECT_THAT(errorOf([&] { names(q); }), Says("name, title, created or modified"));
}

TEST_F(StoreReadTest, ChildrenComeInPages) {
  ChildrenQuery q;
  q.offset = 1;
  q.limit = 1;
  EXPECT_EQ(names(q), std::vector<std::string>{"b"});
  Recorder recorder;
  EXPECT_EQ(store_->read()->countChildren("/l", q, recorder), 3U);
}

TEST_F(StoreReadTest, ChildrenAreFilteredByTypeAndTitle) {
  ChildrenQuery q;
  q.title_contains = "ALPH";
  EXPECT_EQ(names(q), std::vector<std::string>{"c"});
  q.title_contains = "0%";
  EXPECT_EQ(names(q), std::vector<std::string>{"b"});
  q.title_contains = "_";
  EXPECT_TRUE(names(q).empty());
  q.title_contains = "";
  q.type = "folder";
  EXPECT_TRUE(names(q).empty());
}

TEST_F(StoreReadTest, ASnapshotStaysOfItsMoment) {
  const auto snapshot = store_->read();
  Recorder recorder;
  EXPECT_EQ(
      snapshot->query("SELECT count(*) AS n FROM object", {}, recorder).root().at(0)["n"].integer(),
      6);
  create("/more");
  EXPECT_EQ(
      snapshot->query("SELECT count(*) AS n FROM object", {}, recorder).root().at(0)["n"].integer(),
      6);
  EXPECT_FALSE(snapshot->object("/more", recorder));
}

TEST_F(StoreReadTest, QueriesReadOnlyWhatIsForThem) {
  for (const char* sql :
       {"INSERT INTO object(path, type) VALUES('/x', 'x')", "DELETE FROM object", "ATTACH 'x' AS x",
        "PRAGMA table_info(object)", "SELECT * FROM pragma_table_info('object')", "BEGIN", "COMMIT",
        "SELECT * FROM larder_log", "SELECT * FROM sqlite_schema", "CREATE TEMP TABLE t(x)",
        "SELECT * FROM object_fts_data", "SELECT load_extension('x')", "SELECT 1; SELECT 2", "",
        "SELECT * FROM nowhere", "SELEC"}) {
    EXPECT_NE(errorOf([&] { query(sql); }), "") << sql;
  }
}

TEST_F(StoreReadTest, QueriesHaveARowLimit) {
  EXPECT_THAT(errorOf([&] { query("SELECT * FROM object", {.rows = 5}); }),
              Says("more than 5 rows"));
  EXPECT_EQ(query("SELECT * FROM object", {.rows = 6}).root().size(), 6U);
}

TEST_F(StoreReadTest, QueriesHaveATimeLimit) {
  std::atomic<bool> ended{false};
  std::thread time([&] {
    while (!ended) {
      clock_.advance(1);
      std::this_thread::yield();
    }
  });
  const auto error = errorOf([&] {
    query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
          {.rows = 1, .time = 50});
  });
  ended = true;
  time.join();
  EXPECT_THAT(error, Says("longer than 50 ms"));
}

TEST_F(StoreReadTest, AfterAnErrorTheConnectionIsUsedAgain) {
  for (int i = 0; i < 3; ++i) {
    errorOf([&] { query("SELECT * FROM object", {.rows = 1}); });
    EXPECT_EQ(titleOf("/l"), "list");
  }
}

TEST_F(StoreReadTest, AfterAQueryThatFailedTheOtherReadsHaveTheRendersTime) {
  store_->edit([](Edit& edit) {
    for (int i = 0; i < 1'000; ++i) {
      Object object;
      object.path = "/l/many" + std::to_string(i);
      object.type = "document";
      edit.create(object);
    }
  });
  const auto snapshot = store_->read();
  Recorder recorder;
  const QueryLimits narrow{.rows = 1, .time = 10};
  EXPECT_THAT(errorOf([&] { (void)snapshot->query("SELECT * FROM object", {}, recorder, narrow); }),
              Says("more than 1 rows"));
  clock_.advance(11);
  EXPECT_EQ(snapshot->countChildren("/l", {}, recorder), 1'003U);
}

TEST_F(StoreReadTest, LedgerL11_ASnapshotHasALimitedLife) {
  const auto snapshot = store_->read(500);
  clock_.advance(501);
  Recorder recorder;
  EXPECT_THAT(errorOf([&] { (void)snapshot->object("/l", recorder); }), Says("500 ms"));
}

TEST_F(StoreReadTest, LedgerL11_AnAbandonedQueryLeavesNoOldSnapshot) {
  errorOf([&] { query("SELECT * FROM object", {.rows = 1}); });
  retitle("/l", "new");
  EXPECT_EQ(titleOf("/l"), "new");
}

TEST_F(StoreReadTest, RowsOfObjectsAndMissingTables) {
  Recorder recorder;
  const auto snapshot = store_->read();
  EXPECT_EQ(snapshot->row("OBJECT", 1, recorder).root()["path"].text(), "/");
  EXPECT_THAT(errorOf([&] { (void)snapshot->row("none", 1, recorder); }), Says("no table none"));
  EXPECT_THAT(errorOf([&] { (void)snapshot->row("larder_log", 1, recorder); }), Says("no table"));
  EXPECT_THAT(errorOf([&] { (void)snapshot->row("object_tag", 1, recorder); }),
              Says("no INTEGER PRIMARY KEY"));
}

class FewSnapshotsTest : public StoreTest {
 protected:
  FewSnapshotsTest() { open(); }
  StoreOptions options() override {
    auto options = StoreTest::options();
    options.max_snapshots = 2;
    return options;
  }
};

TEST_F(FewSnapshotsTest, SnapshotsAreBounded) {
  auto one = store_->read();
  const auto two = store_->read();
  EXPECT_THAT(errorOf([&] { (void)store_->read(); }), Says("2 snapshots"));
  one.reset();
  EXPECT_NO_THROW((void)store_->read());
}

TEST_F(StoreOpenTest, ASnapshotMayOutliveItsStore) {
  create("/a", "one");
  const auto snapshot = store_->read();
  store_.reset();
  Recorder recorder;
  EXPECT_EQ(snapshot->object("/a", recorder)->title, "one");
}

class StoreSchemaTest : public StoreTest {};

TEST_F(StoreSchemaTest, StepsRunOnce) {
  schema("app", {"CREATE TABLE t(id INTEGER PRIMARY KEY)"});
  schema("app", {"CREATE TABLE t(id INTEGER PRIMARY KEY)", "ALTER TABLE t ADD COLUMN v DEFAULT 1"});
  open();
  schema("app", {"CREATE TABLE t(id INTEGER PRIMARY KEY)", "ALTER TABLE t ADD COLUMN v DEFAULT 1"});
  store_->edit([](Edit& edit) { edit.execute("INSERT INTO t(id) VALUES(1)", {}); });
  EXPECT_EQ(readRow("t", 1).recorder.refusal(), "");
}

TEST_F(StoreSchemaTest, AStepThatFailsLeavesNothingAndNamesItsPlace) {
  const auto error = errorOf([&] { schema("app", {"CREATE TABLE t(x); CREATE TABLE t(x)"}); });
  EXPECT_THAT(error, Says("the app app, schema version 1"));
  EXPECT_THAT(error, Says("already exists"));
  EXPECT_EQ(outside("SELECT count(*) FROM sqlite_schema WHERE name = 't'"), "0");
}

TEST_F(StoreSchemaTest, ADatabaseOfANewerAppIsRefused) {
  schema("app", {"CREATE TABLE t(x)", "CREATE TABLE u(x)"});
  EXPECT_THAT(errorOf([&] { schema("app", {"CREATE TABLE t(x)"}); }), Says("version 2"));
}

TEST_F(StoreSchemaTest, VersionsHaveNoGaps) {
  const std::vector<SchemaStep> steps = {{2, "CREATE TABLE t(x)"}};
  EXPECT_THAT(errorOf([&] { store_->installSchema("app", steps); }), Says("count from 1"));
}

TEST_F(StoreSchemaTest, AnAppKeepsToItsOwnTables) {
  for (const char* sql :
       {"DROP TABLE object", "CREATE TABLE larder_x(y)", "DROP TRIGGER larder_object_update",
        "CREATE INDEX i ON object(title)", "ALTER TABLE object ADD COLUMN x",
        "PRAGMA user_version=3", "ATTACH 'x' AS y", "COMMIT", "UPDATE object SET title = ''",
        "DELETE FROM larder_log", "CREATE TRIGGER x AFTER INSERT ON object BEGIN SELECT 1; END",
        "CREATE TEMP TABLE x(y)"}) {
    EXPECT_NE(errorOf([&] { schema("app", {sql}); }), "") << sql;
  }
}

TEST_F(StoreSchemaTest, TablesMayBeChangedInEveryWay) {
  schema("app", {"CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE INDEX t_v ON t(v);"
                 "INSERT INTO t(v) VALUES(1); CREATE VIEW w AS SELECT v FROM t;"
                 "CREATE TRIGGER t_app AFTER INSERT ON t BEGIN UPDATE t SET v = v + 1; END",
                 "ALTER TABLE t RENAME COLUMN v TO value; ALTER TABLE t RENAME TO u;"
                 "ALTER TABLE u ADD COLUMN more; ALTER TABLE u DROP COLUMN more; DROP VIEW w;"
                 "DROP INDEX t_v; CREATE VIRTUAL TABLE f USING fts5(x); DROP TABLE f"});
  const auto row = readRow("u", 1);
  EXPECT_EQ(row.recorder.refusal(), "");
  outside("UPDATE u SET value = 5");
  EXPECT_FALSE(valid(row));
}

class StoreMaintenanceTest : public StoreTest {
 protected:
  StoreMaintenanceTest() : executor_(clock_) { open(); }
  ~StoreMaintenanceTest() override { store_.reset(); }
  StoreOptions options() override {
    auto options = StoreTest::options();
    options.executor = &executor_;
    options.writer_wait = 200;
    return options;
  }
  void tick() {
    clock_.advance(1'000);
    executor_.runAll();
  }
  larder::testing::ManualExecutor executor_;
};

TEST_F(StoreMaintenanceTest, HappensEverySecond) {
  tick();
  outside("CREATE TABLE late(x)");
  tick();
  EXPECT_EQ(readQuery("SELECT x FROM late").recorder.refusal(), "");
}

TEST_F(StoreMaintenanceTest, SurvivesAnExecutorThatRefuses) {
  executor_.refuse(true);
  tick();
  EXPECT_EQ(executor_.timers(), 0U);
  executor_.refuse(false);
  (void)titleOf("/");
  EXPECT_EQ(executor_.timers(), 1U);
}

TEST_F(StoreMaintenanceTest, EndsWithTheStore) {
  store_.reset();
  tick();
  EXPECT_EQ(executor_.timers(), 0U);
}

TEST_F(StoreMaintenanceTest, WritesALargeLogBack) {
  schema("app", {"CREATE TABLE big(x)"});
  store_->edit([](Edit& edit) {
    edit.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70) "
        "INSERT INTO big SELECT zeroblob(1000000) FROM n",
        {});
  });
  ASSERT_GT(store_->stats().wal_bytes, 64U << 20U);
  tick();
  EXPECT_EQ(store_->stats().wal_bytes, 0U);
}

TEST_F(StoreMaintenanceTest, LedgerL13_CheckpointsHoldTheWritersLock) {
  schema("app", {"CREATE TABLE big(x)"});
  store_->edit([](Edit& edit) {
    edit.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70) "
        "INSERT INTO big SELECT zeroblob(1000000) FROM n",
        {});
  });
  WriterLock other(dir_.file("var/site.lock"));
  auto held = other.acquire(0);
  ASSERT_TRUE(held);
  tick();
  EXPECT_GT(store_->stats().wal_bytes, 64U << 20U);
  held.reset();
  tick();
  EXPECT_EQ(store_->stats().wal_bytes, 0U);
}

TEST_F(StoreMaintenanceTest, TheLogCanBeWalked) {
  const auto receipt = create("/a");
  create("/b");
  const auto page = store_->log(receipt.seq, 2);
  ASSERT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(page.rows[0].scope, "new:/b");
  EXPECT_EQ(page.rows[0].seq, receipt.seq + 1);
  EXPECT_EQ(page.rows[1].at, clock_.wall());
  EXPECT_EQ(page.head, page.rows[1].seq);
  EXPECT_FALSE(page.gap);
}

}  // namespace
}  // namespace larder::site
