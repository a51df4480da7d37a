#include "sqlite.h"

#include <gtest/gtest.h>

#include <thread>

#include "content_json.h"
#include "larder/testing/temp_dir.h"
#include "sqlite_arguments.h"
#include "writer_lock.h"

namespace larder::site {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() : db_({.file = dir_.file("x.db")}) {
    db_.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v)");
  }
  larder::testing::TempDir dir_;
  sqlite::Connection db_;
};

TEST_F(SqliteTest, ValuesKeepTheirTypes) {
  sqlite::Statement insert(db_, "INSERT INTO t(v) VALUES(?1) RETURNING v, typeof(v)");
  const auto type = [&](const Tree& value) {
    auto rows = insert.run(value);
    EXPECT_TRUE(rows.next());
    EXPECT_TRUE(Document::from(rows.tree(0)) == Document::from(value) || rows.text(1) == "text" ||
                rows.text(1) == "integer");
    return std::string(rows.text(1));
  };
  EXPECT_EQ(type(Tree()), "null");
  EXPECT_EQ(type(true), "integer");
  EXPECT_EQ(type(std::int64_t{1} << 60), "integer");
  EXPECT_EQ(type(1.5), "real");
  EXPECT_EQ(type("text"), "text");
  EXPECT_EQ(type(""), "text");
  EXPECT_EQ(type(Tree::Bytes{std::string("\0\1", 2)}), "blob");
  EXPECT_EQ(type(Tree::Bytes{}), "blob");
  EXPECT_EQ(type(Tree::list({1, "a"})), "text");
}

TEST_F(SqliteTest, RowsThatAreLeftEarlyEndTheirTransaction) {
  db_.exec("INSERT INTO t(v) VALUES(1), (2), (3)");
  sqlite::Statement all(db_, "SELECT v FROM t");
  {
    auto rows = all.run();
    ASSERT_TRUE(rows.next());
    EXPECT_FALSE(db_.idle());
  }
  EXPECT_TRUE(db_.idle());
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedIsRolledBack) {
  {
    sqlite::Transaction transaction(db_, true);
    db_.exec("INSERT INTO t(v) VALUES(1)");
  }
  EXPECT_EQ(db_.integer("SELECT count(*) FROM t"), 0);
}

TEST_F(SqliteTest, ErrorsNameFileProblemAndStatement) {
  try {
    db_.exec("SELECT nonsense FROM t");
    FAIL();
  } catch (const sqlite::Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("x.db: no such column: nonsense"), std::string::npos) << text;
    EXPECT_NE(text.find("[SELECT nonsense FROM t]"), std::string::npos) << text;
  }
}

TEST_F(SqliteTest, AStatementIsOneStatement) {
  EXPECT_THROW(sqlite::Statement(db_, "SELECT 1; SELECT 2"), StoreError);
  EXPECT_THROW(sqlite::Statement(db_, " -- nothing\n"), StoreError);
  EXPECT_NO_THROW(sqlite::Statement(db_, "SELECT 1; -- done\n ;"));
}

TEST_F(SqliteTest, LedgerL13_NothingCheckpointsOnItsOwn) {
  EXPECT_EQ(db_.integer("PRAGMA wal_autocheckpoint"), 0);
  int at_close = 0;
  sqlite3_db_config(db_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, -1, &at_close);
  EXPECT_EQ(at_close, 1);
}

TEST_F(SqliteTest, ArgumentsBindByNameAndPlace) {
  sqlite::Statement statement(db_, "SELECT :b, ?, @a, :b");
  auto rows = sqlite::runWith(statement, {{"a", 1}, {"b", 2}, {"", 3}, {"unused", 4}});
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.integer(0), 2);
  EXPECT_EQ(rows.integer(1), 3);
  EXPECT_EQ(rows.integer(2), 1);
}

TEST(ContentJson, TypesAndOrderSurvive) {
  auto tree = Tree::map();
  tree.set("z", 1).set("a", 1.0).set("t", true).set("n", nullptr).set("s", "\"\\\n\u00e9");
  tree.set("l", Tree::list({Tree::list(), Tree::map(), -5, 1e300, 0.1}));
  const auto document = Document::from(tree);
  EXPECT_TRUE(decodeJson(encodeJson(document.root())) == document) << encodeJson(document.root());
}

TEST(ContentJson, WhatJsonCannotHoldIsRefusedByName) {
  const auto refusal = [](Tree value) -> std::string {
    try {
      (void)encodeJson(Document::from(Tree::map().set("field", std::move(value))).root());
    } catch (const StoreError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(Tree::Bytes{"x"}).substr(0, 6), "field:");
  EXPECT_EQ(refusal(std::numeric_limits<double>::infinity()).substr(0, 6), "field:");
  EXPECT_EQ(refusal("\xff").substr(0, 6), "field:");
}

TEST(ContentJson, NonsenseIsRefused) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "nul", "\"\xff\"", "1 2"})
    EXPECT_THROW((void)decodeJson(text), StoreError) << text;
  EXPECT_THROW((void)decodeJson(std::string(200, '[') + std::string(200, ']')), StoreError);
}

TEST(WriterLock, LedgerL13_OneHolderAtATime) {
  larder::testing::TempDir dir;
  WriterLock one(dir.file("lock"));
  WriterLock two(dir.file("lock"));
  auto held = one.acquire(0);
  ASSERT_TRUE(held);
  EXPECT_FALSE(two.acquire(5));
  held.reset();
  EXPECT_TRUE(two.acquire(0));
}

TEST(WriterLock, AHolderThatWritesAllTheTimeStarvesNobody) {
  larder::testing::TempDir dir;
  WriterLock busy(dir.file("lock"));
  WriterLock patient(dir.file("lock"));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {
      const auto held = busy.acquire(10'000);
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
      while (std::chrono::steady_clock::now() < until) {
      }
    }
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(patient.acquire(5'000)) << i;
  stop = true;
  writer.join();
}

TEST(WriterLock, KnowsWhetherItIsAlone) {
  larder::testing::TempDir dir;
  WriterLock one(dir.file("lock"));
  EXPECT_TRUE(one.enterAlone());
  {
    WriterLock two(dir.file("lock"));
    EXPECT_FALSE(two.enterAlone());
    EXPECT_FALSE(one.alone());
  }
  EXPECT_TRUE(one.alone());
}

}  // namespace
}  // namespace larder::site
