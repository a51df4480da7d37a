// Which change invalidates which reading: rules L1 to L4, L8, L12 and L17 against a real file, with
// the sqlite3 shell as the other program.
#include <sqlite3.h>

#include "store_fixture.h"

namespace larder::site {
namespace {

class LedgerScopesTest : public StoreTest {
 protected:
  LedgerScopesTest() {
    create("/a", "A", {"news"});
    create("/a/b", "B");
    create("/ab", "AB");
    schema("app", {"CREATE TABLE item(id INTEGER PRIMARY KEY, v);"
                   "CREATE TABLE slug(id INTEGER PRIMARY KEY, s TEXT UNIQUE, v);"
                   "CREATE TABLE word(w TEXT PRIMARY KEY COLLATE NOCASE, v) WITHOUT ROWID;"
                   "CREATE VIEW items AS SELECT id, v FROM item;"
                   "INSERT INTO item VALUES(1, 'one'), (2, 'two');"
                   "INSERT INTO slug VALUES(1, 'x', 0), (2, 'y', 0)"});
  }
  void sql(const std::string& statement) {
    store_->edit([&](Edit& edit) { edit.execute(statement, {}); });
  }
};

TEST_F(LedgerScopesTest, LedgerL01_OuterConflictClausesDoNotLoseRows) {
  for (const char* statement :
       {"INSERT OR IGNORE INTO item(id, v) VALUES(10, 0)",
        "INSERT OR REPLACE INTO item(id, v) VALUES(10, 1)",
        "UPDATE OR IGNORE item SET v = 2 WHERE id = 10",
        "INSERT INTO item(id, v) VALUES(10, 3) ON CONFLICT(id) DO UPDATE SET v = excluded.v",
        "REPLACE INTO item(id, v) VALUES(10, 4)", "DELETE FROM item WHERE id = 10"}) {
    const auto row = readRow("item", 10);
    sql(statement);
    EXPECT_FALSE(valid(row)) << statement;
  }
}

TEST_F(LedgerScopesTest, LedgerL02_ARowDependsOnItselfAlone) {
  const auto one = readRow("item", 1);
  const auto two = readRow("item", 2);
  outside("UPDATE item SET v = 'x' WHERE id = 1");
  EXPECT_FALSE(valid(one));
  EXPECT_TRUE(valid(two));
}

TEST_F(LedgerScopesTest, LedgerL02_AnAbsentRowFallsWhenItIsMade) {
  const auto absent = readRow("item", 9);
  outside("INSERT INTO item VALUES(9, 'nine')");
  EXPECT_FALSE(valid(absent));
}

TEST_F(LedgerScopesTest, LedgerL02_AKeyThatChangesChangesTwoRows) {
  const auto one = readRow("item", 1);
  const auto five = readRow("item", 5);
  outside("UPDATE item SET id = 5 WHERE id = 1");
  EXPECT_FALSE(valid(one));
  EXPECT_FALSE(valid(five));
}

TEST_F(LedgerScopesTest, LedgerL02_RowsOfATableWithAnotherUniqueColumnDependOnTheTable) {
  const auto displaced = readRow("slug", 1);
  EXPECT_TRUE(displaced.records("table:slug"));
  outside("INSERT OR REPLACE INTO slug VALUES(3, 'x', 1)");
  EXPECT_FALSE(valid(displaced));
}

TEST_F(LedgerScopesTest, LedgerL02_QueriesDependOnTheirTables) {
  const auto query = readQuery("SELECT v FROM item WHERE id = :id", {{"id", 2}});
  EXPECT_TRUE(query.records("table:item"));
  outside("UPDATE item SET v = 'x' WHERE id = 1");
  EXPECT_FALSE(valid(query));
}

TEST_F(LedgerScopesTest, LedgerL02_CaseInsensitiveKeysAreOfTheTable) {
  outside("INSERT INTO word VALUES('Abc', 1)");
  const auto query = readQuery("SELECT v FROM word WHERE w = 'ABC'");
  outside("UPDATE word SET v = 2 WHERE w = 'abc'");
  EXPECT_FALSE(valid(query));
}

TEST_F(LedgerScopesTest, ViewsDependOnWhatTheyRead) {
  const auto query = readQuery("SELECT count(*) FROM items");
  EXPECT_TRUE(query.records("table:item"));
  EXPECT_EQ(query.recorder.refusal(), "");
}

TEST_F(LedgerScopesTest, LedgerL03_ATableMadeElsewhereIsNotStoredUntilItIsWatched) {
  outside("CREATE TABLE late(id INTEGER PRIMARY KEY, v); INSERT INTO late VALUES(1, 1)");
  const auto before = readQuery("SELECT v FROM late");
  EXPECT_NE(before.recorder.refusal(), "");
  store_->maintain();
  const auto after = readQuery("SELECT v FROM late");
  EXPECT_EQ(after.recorder.refusal(), "");
  outside("UPDATE late SET v = 2");
  EXPECT_FALSE(valid(after));
}

TEST_F(LedgerScopesTest, LedgerL03_ARenamedTableIsWatchedByItsNewName) {
  outside("ALTER TABLE item RENAME TO thing");
  store_->maintain();
  const auto row = readRow("thing", 1);
  EXPECT_EQ(row.recorder.refusal(), "");
  outside("UPDATE thing SET v = 'x' WHERE id = 1");
  EXPECT_FALSE(valid(row));
  EXPECT_EQ(outside("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'larder_item_%'"), "0");
}

TEST_F(LedgerScopesTest, LedgerL03_ADroppedTriggerIsNoticed) {
  outside("DROP TRIGGER larder_item_update");
  EXPECT_NE(readRow("item", 1).recorder.refusal(), "");
  store_->maintain();
  EXPECT_EQ(readRow("item", 1).recorder.refusal(), "");
}

TEST_F(LedgerScopesTest, LedgerL03_ADroppedTriggerOfTheContentIsNoticed) {
  const auto drop = [&] { outside("DROP TRIGGER larder_object_update"); };
  drop();
  EXPECT_NE(readObject("/a").recorder.refusal(), "");
  drop();
  EXPECT_NE(readChildren("/a").recorder.refusal(), "");
  drop();
  EXPECT_NE(readQuery("SELECT title FROM object").recorder.refusal(), "");
  const auto object = readObject("/a");
  EXPECT_EQ(object.recorder.refusal(), "");
  retitle("/a", "new");
  EXPECT_FALSE(valid(object));
}

TEST_F(LedgerScopesTest, LedgerL03_AnEditAfterATriggerWasDroppedIsRecorded) {
  const auto object = readObject("/a");
  const auto item = readRow("item", 1);
  outside("DROP TRIGGER larder_object_update; DROP TRIGGER larder_item_update");
  outside("UPDATE item SET v = 5 WHERE id = 2");
  const auto after = readRow("item", 1);
  retitle("/a", "new");
  sql("UPDATE item SET v = 6 WHERE id = 1");
  EXPECT_FALSE(valid(object));
  EXPECT_FALSE(valid(item));
  EXPECT_FALSE(valid(after));
  EXPECT_EQ(readObject("/a").recorder.refusal(), "");
}

TEST_F(LedgerScopesTest, LedgerL01_AForeignStatementThatFailsHalfwayIsRecorded) {
  schema("app2", {"CREATE TABLE thing(id INTEGER PRIMARY KEY, v UNIQUE)"});
  const auto things = readQuery("SELECT v FROM thing");
  const auto object = readObject("/a");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &other), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(other, "INSERT OR FAIL INTO thing VALUES(1, 1), (2, 2), (3, 1)", nullptr,
                         nullptr, nullptr),
            SQLITE_CONSTRAINT);
  sqlite3_close(other);
  ASSERT_EQ(outside("SELECT count(*) FROM thing"), "2");
  EXPECT_FALSE(valid(things));
  EXPECT_EQ(store_->stats().rewinds, 0U);
  retitle("/a", "new");
  EXPECT_FALSE(valid(object));
  const auto again = readObject("/a");
  open();
  EXPECT_TRUE(valid(again));
}

TEST_F(LedgerScopesTest, AVirtualTableOfAnUnknownModuleFailsItsReadersAlone) {
  outside("CREATE VIRTUAL TABLE packed USING zipfile('none.zip')");
  EXPECT_EQ(readObject("/a").recorder.refusal(), "");
  EXPECT_THROW((void)readQuery("SELECT name FROM packed"), StoreError);
}

TEST_F(LedgerScopesTest, LedgerL03_SearchDependsOnTheObjects) {
  const auto search = readQuery("SELECT rowid FROM object_fts WHERE object_fts MATCH 'zebra'");
  EXPECT_EQ(search.recorder.refusal(), "");
  retitle("/a/b", "zebra");
  EXPECT_FALSE(valid(search));
  Recorder recorder;
  const auto found = store_->read()->query(
      "SELECT path FROM object_fts JOIN object ON object.id = object_fts.rowid "
      "WHERE object_fts MATCH :q",
      {{"q", "zebra"}}, recorder);
  ASSERT_EQ(found.root().size(), 1U);
  EXPECT_EQ(found.root().at(0)["path"].text(), "/a/b");
}

TEST_F(LedgerScopesTest, LedgerL03_FullTextTablesOfAppsAreWatched) {
  schema("search",
         {"CREATE VIRTUAL TABLE own USING fts5(body);"
          "CREATE VIRTUAL TABLE of_item USING fts5(v, content = 'item', content_rowid=id);"
          "CREATE VIRTUAL TABLE blind USING fts5(v, content='')"});
  const auto own = readQuery("SELECT rowid FROM own WHERE own MATCH 'x'");
  const auto of_item = readQuery("SELECT rowid FROM of_item WHERE of_item MATCH 'x'");
  EXPECT_EQ(own.recorder.refusal(), "");
  EXPECT_TRUE(of_item.records("table:item"));
  EXPECT_NE(readQuery("SELECT rowid FROM blind WHERE blind MATCH 'x'").recorder.refusal(), "");
  for (const char* statement :
       {"INSERT INTO own VALUES('x')", "UPDATE own SET body = 'x y' WHERE rowid = 1",
        "INSERT OR REPLACE INTO own(rowid, body) VALUES(1, 'x z')", "DELETE FROM own"}) {
    const auto search = readQuery("SELECT body FROM own WHERE own MATCH 'x'");
    outside(statement);
    EXPECT_FALSE(valid(search)) << statement;
  }
}

TEST_F(LedgerScopesTest, LedgerL03_OtherVirtualTablesAreNotStored) {
  schema("geo", {"CREATE VIRTUAL TABLE box USING rtree(id, a, b)"});
  EXPECT_NE(readQuery("SELECT id FROM box").recorder.refusal(), "");
}

TEST_F(LedgerScopesTest, TableFunctionsOfTheirArgumentsArePure) {
  const auto r = readQuery("SELECT value FROM json_each(:ids)", {{"ids", Tree::list({1, 2})}});
  EXPECT_EQ(r.recorder.refusal(), "");
  EXPECT_TRUE(r.recorder.scopes().empty());
}

TEST_F(LedgerScopesTest, LedgerL03_CommitsThatNoTriggerSawAreRecognised) {
  const auto object = readObject("/ab");
  sly("UPDATE object SET title = 'sly' WHERE path = '/ab'");
  EXPECT_FALSE(valid(object));
  EXPECT_EQ(store_->stats().unlogged, 1U);
  EXPECT_EQ(store_->log(0, 10'000).rows.back().scope.substr(0, 7), "commit:");
}

TEST_F(LedgerScopesTest, LedgerL03_AnUnloggedCommitIsNotMaskedByALoggedOne) {
  const auto object = readObject("/ab");
  sly("UPDATE object SET title = 'sly' WHERE path = '/ab'");
  sql("UPDATE item SET v = 7 WHERE id = 1");
  EXPECT_FALSE(valid(object));
}

TEST_F(LedgerScopesTest, LedgerL03_AnUnloggedCommitAfterOneRowOfAnotherProgramIsRecognised) {
  const auto object = readObject("/ab");
  outside("UPDATE item SET v = 7 WHERE id = 1");
  sly("UPDATE object SET title = 'sly' WHERE path = '/ab'");
  EXPECT_FALSE(valid(object));
}

TEST_F(LedgerScopesTest, LedgerL03_AnUnloggedCommitBesideManyRowsOfAnotherProgramIsRecognised) {
  const auto object = readObject("/ab");
  outside("UPDATE item SET v = v + 1");
  sly("UPDATE object SET title = 'sly' WHERE path = '/ab'");
  outside("UPDATE item SET v = v + 1");
  EXPECT_FALSE(valid(object));
  EXPECT_EQ(store_->stats().unlogged, 1U);
}

TEST_F(LedgerScopesTest, LedgerL03_AnUnloggedCommitBeforeTheWriteAheadLogBeganAnewIsRecognised) {
  const auto object = readObject("/ab");
  sly("UPDATE object SET title = 'sly' WHERE path = '/ab'");
  outside("PRAGMA wal_checkpoint(TRUNCATE)");
  outside("UPDATE item SET v = v + 1");
  EXPECT_FALSE(valid(object));
  EXPECT_EQ(store_->stats().unlogged, 1U);
}

TEST_F(LedgerScopesTest, LoggedCommitsOfOthersAreNotTakenForUnloggedOnes) {
  const auto other = readObject("/ab");
  for (int i = 0; i < 20; ++i)
    outside("UPDATE item SET v = " + std::to_string(i) + " WHERE id = 1");
  sql("UPDATE item SET v = 0");
  store_->maintain();
  outside("UPDATE item SET v = 1 WHERE id = 99; BEGIN IMMEDIATE; COMMIT");
  outside("UPDATE item SET v = v + 1");
  EXPECT_TRUE(valid(other));
  outside("PRAGMA wal_checkpoint(TRUNCATE)");
  outside("UPDATE item SET v = v + 1");
  EXPECT_TRUE(valid(other));
  EXPECT_EQ(store_->stats().unlogged, 0U);
}

TEST_F(LedgerScopesTest, LedgerL04_AnObjectDependsOnItselfAlone) {
  const auto a = readObject("/a");
  const auto b = readObject("/a/b");
  const auto ab = readObject("/ab");
  retitle("/a/b", "new");
  EXPECT_TRUE(valid(a));
  EXPECT_FALSE(valid(b));
  EXPECT_TRUE(valid(ab));
}

TEST_F(LedgerScopesTest, LedgerL04_AnAbsentObjectFallsWhenItIsMade) {
  const auto absent = readObject("/a/new");
  create("/a/new");
  EXPECT_FALSE(valid(absent));
}

TEST_F(LedgerScopesTest, LedgerL04_AListFallsWhenAChildComesGoesOrMoves) {
  create("/t");
  const std::vector<std::function<void(Edit&)>> edits = {[](Edit& e) {
                                                           Object o;
                                                           o.path = "/a/c";
                                                           o.type = "document";
                                                           e.create(o);
                                                         },
                                                         [](Edit& e) { e.move("/a/c", "/t/c"); },
                                                         [](Edit& e) { e.move("/t/c", "/a/d"); },
                                                         [](Edit& e) { e.remove("/a/d"); }};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const auto list = readChildren("/a");
    store_->edit(edits[i]);
    EXPECT_FALSE(valid(list)) << i;
  }
}

TEST_F(LedgerScopesTest, LedgerL04_AListInSomeOrderFallsWhenTheOrderMayChange) {
  ChildrenQuery by_title;
  by_title.sort = "title";
  by_title.limit = 1;
  ChildrenQuery by_change = by_title;
  by_change.sort = "modified";
  ChildrenQuery by_name;
  by_name.limit = 1;
  create("/a/z", "zzz");
  const auto titles = readChildren("/a", by_title);
  store_->edit([](Edit& edit) {
    Object o = *edit.open("/a/z");
    o.title = "A first";
    edit.update(o, 0);
  });
  EXPECT_FALSE(valid(titles));
  const auto changes = readChildren("/a", by_change);
  const auto names = readChildren("/a", by_name);
  store_->edit([](Edit& edit) {
    Object o = *edit.open("/a/z");
    o.body = "more";
    edit.update(o, 0);
  });
  EXPECT_FALSE(valid(changes));
  EXPECT_TRUE(valid(names));
}

TEST_F(LedgerScopesTest, LedgerL04_AListOfATypeFallsWhenAnObjectBecomesOne) {
  ChildrenQuery folders;
  folders.type = "folder";
  const auto list = readChildren("/a", folders);
  store_->edit([](Edit& edit) {
    Object o = *edit.open("/a/b");
    o.type = "folder";
    edit.update(o, 0);
  });
  EXPECT_FALSE(valid(list));
  Recorder recorder;
  EXPECT_EQ(store_->read()->children("/a", folders, recorder).size(), 1U);
}

TEST_F(LedgerScopesTest, LedgerL04_MoveBumpsOldAndNewPlace) {
  create("/t");
  const auto inside = readObject("/a/b");
  const auto place = readObject("/t/b");
  const auto subtree = readScope("subtree:/a/b");
  store_->edit([](Edit& edit) { edit.move("/a/b", "/t/b"); });
  EXPECT_FALSE(valid(inside));
  EXPECT_FALSE(valid(place));
  EXPECT_FALSE(valid(subtree));
}

TEST_F(LedgerScopesTest, LedgerL04_RemoveBumpsEverythingBelow) {
  const auto below = readObject("/a/b");
  const auto beside = readObject("/ab");
  store_->edit([](Edit& edit) { edit.remove("/a"); });
  EXPECT_FALSE(valid(below));
  EXPECT_TRUE(valid(beside));
}

TEST_F(LedgerScopesTest, LedgerL04_AnEditBumpsTheUnionOfOldAndNewTags) {
  const auto set = [&](std::vector<std::string> tags) {
    store_->edit([&](Edit& edit) {
      Object o = *edit.open("/a");
      o.tags = tags;
      edit.update(o, 0);
    });
  };
  set({"kept", "old"});
  const auto kept = readScope("tag:kept");
  const auto old = readScope("tag:old");
  const auto fresh = readScope("tag:fresh");
  const auto other = readScope("tag:other");
  set({"kept", "fresh"});
  EXPECT_FALSE(valid(kept));
  EXPECT_FALSE(valid(old));
  EXPECT_FALSE(valid(fresh));
  EXPECT_TRUE(valid(other));
}

TEST_F(LedgerScopesTest, LedgerL04_RemovingBumpsTheTags) {
  const auto news = readScope("tag:news");
  store_->edit([](Edit& edit) { edit.remove("/a"); });
  EXPECT_FALSE(valid(news));
  EXPECT_EQ(outside("SELECT count(*) FROM object_tag"), "0");
}

TEST_F(LedgerScopesTest, Semantics23_TheShellsEditsOfObjectsAreSeen) {
  const auto a = readObject("/a");
  const auto list = readChildren("/");
  const auto news = readScope("tag:news");
  outside("UPDATE object SET path = '/moved' WHERE path = '/a'");
  EXPECT_FALSE(valid(a));
  EXPECT_FALSE(valid(list));
  EXPECT_FALSE(valid(news));
  EXPECT_EQ(titleOf("/moved"), "A");
}

TEST_F(LedgerScopesTest, Semantics23_TheShellsTagsAreSeen) {
  const auto a = readObject("/a");
  const auto tag = readScope("tag:fresh");
  outside("INSERT INTO object_tag SELECT id, 'fresh' FROM object WHERE path = '/a'");
  EXPECT_FALSE(valid(a));
  EXPECT_FALSE(valid(tag));
}

TEST_F(LedgerScopesTest, Semantics23_ARowDisplacedByReplaceIsSeen) {
  const auto a = readObject("/a");
  const auto news = readScope("tag:news");
  outside(
      "REPLACE INTO object(id, path, type) SELECT id, '/other', 'document' FROM object "
      "WHERE path = '/a'");
  EXPECT_FALSE(valid(a));
  EXPECT_FALSE(valid(news));
}

TEST_F(LedgerScopesTest, Semantics23_TheShellCannotBreakTheTree) {
  EXPECT_THROW(outside("INSERT INTO object(path, type) VALUES('nonsense/', 'x')"),
               std::runtime_error);
  EXPECT_THROW(outside("UPDATE object SET properties = '[' WHERE path = '/a'"), std::runtime_error);
  outside("INSERT INTO object(path, type) VALUES('/a/x/y', 'x')");
  EXPECT_EQ(outside("SELECT parent || ' ' || name FROM object WHERE path = '/a/x/y'"), "/a/x y");
}

TEST_F(LedgerScopesTest, Semantics19_ManualInvalidationsReachWhatTheyName) {
  struct Case {
    std::string scope;
    bool object, below, beside, table;
  };
  for (const auto& c :
       {Case{"obj:/a", true, false, false, false}, Case{"subtree:/a", true, true, false, false},
        Case{"table:item", false, false, false, true}, Case{"site:", true, true, true, true}}) {
    const auto object = readObject("/a");
    const auto below = readObject("/a/b");
    const auto beside = readObject("/ab");
    const auto row = readRow("item", 1);
    ASSERT_TRUE(store_->ledger().append(std::vector<Change>{{c.scope, Hardness::hard}}));
    EXPECT_EQ(!valid(object), c.object) << c.scope;
    EXPECT_EQ(!valid(below), c.below) << c.scope;
    EXPECT_EQ(!valid(row), c.table) << c.scope;
    EXPECT_EQ(!valid(beside), c.beside) << c.scope;
  }
}

TEST_F(LedgerScopesTest, Semantics21_ASoftInvalidationMakesStale) {
  const auto object = readObject("/a");
  ASSERT_TRUE(store_->ledger().append(std::vector<Change>{{"obj:/a", Hardness::soft}}));
  EXPECT_EQ(verdict(object), Verdict::soft);
}

TEST_F(LedgerScopesTest, TagsCanBeInvalidatedByAnEdit) {
  const auto tag = readScope("tag:news");
  store_->edit([](Edit& edit) { edit.invalidateTag("news"); });
  EXPECT_FALSE(valid(tag));
}

TEST_F(LedgerScopesTest, LedgerL08_AViewRedefinedElsewhereChangesTheDependencies) {
  outside("CREATE VIEW v AS SELECT v FROM item");
  const auto before = readQuery("SELECT * FROM v");
  EXPECT_TRUE(before.records("table:item"));
  outside("DROP VIEW v; CREATE VIEW v AS SELECT v FROM slug");
  EXPECT_EQ(verdict(before), Verdict::history);
  const auto after = readQuery("SELECT * FROM v");
  EXPECT_TRUE(after.records("table:slug"));
  EXPECT_FALSE(after.records("table:item"));
}

TEST_F(LedgerScopesTest, LedgerL08_StatisticsAreNoSchemaChange) {
  const auto stamp = readObject("/a").stamp;
  outside("ANALYZE");
  EXPECT_EQ(readObject("/a").stamp.schema, stamp.schema);
}

TEST_F(LedgerScopesTest, LedgerL12_ABulkChangeInvalidatesRowsAndTable) {
  const auto row = readRow("item", 2);
  const auto other = readRow("slug", 1);
  outside(
      "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1400) "
      "INSERT INTO item SELECT i, 0 FROM n");
  EXPECT_FALSE(valid(row)) << "over 256 rows count as all of them";
  EXPECT_TRUE(valid(other));
}

TEST_F(LedgerScopesTest, LedgerL17_SqlThatReadsTheClockReadsNow) {
  const auto reads_clock = [&](const char* sql) { return readQuery(sql).recorder.readClock(); };
  for (const char* sql : {"SELECT date('now')", "SELECT current_timestamp", "SELECT unixepoch()",
                          "SELECT v FROM item WHERE v < strftime('%s', 'now')"}) {
    EXPECT_TRUE(reads_clock(sql)) << sql;
    EXPECT_TRUE(reads_clock(sql)) << sql << ", again";
  }
  EXPECT_FALSE(reads_clock("SELECT date('2020-01-01'), v FROM item"));
}

TEST_F(LedgerScopesTest, LedgerL17_SqlThatReadsChanceIsNotStored) {
  EXPECT_NE(readQuery("SELECT v FROM item ORDER BY random()").recorder.refusal(), "");
  EXPECT_NE(readQuery("SELECT hex(randomblob(8))").recorder.refusal(), "");
}

}  // namespace
}  // namespace larder::site
