#include "store_fixture.h"

namespace larder::site {
namespace {

class EditTest : public StoreTest {
 protected:
  std::int64_t revisionOf(const std::string& path) {
    Recorder recorder;
    return store_->read()->object(path, recorder)->revision;
  }
};

Object document(const std::string& path) {
  Object object;
  object.path = path;
  object.type = "document";
  return object;
}

std::string errorOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST_F(EditTest, CreatedObjectReadsBackAsItWas) {
  Object object = document("/a");
  object.title = "Title \"q\" \u00e9";
  object.body = "line\nline";
  object.properties = Document::from(Tree::map()
                                         .set("count", 3)
                                         .set("share", 1.0)
                                         .set("flag", true)
                                         .set("none", nullptr)
                                         .set("list", Tree::list({"x", Tree::map().set("y", 1)})));
  object.tags = {"news", "b", "news"};
  object.manager = "fast";
  object.created = 5;
  store_->edit([&](Edit& edit) { edit.create(object); });

  Recorder recorder;
  const auto read = store_->read()->object("/a", recorder);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "a");
  EXPECT_EQ(read->title, object.title);
  EXPECT_EQ(read->body, object.body);
  EXPECT_TRUE(read->properties == object.properties);
  EXPECT_EQ(read->tags, (std::vector<std::string>{"b", "news"}));
  EXPECT_EQ(read->manager, "fast");
  EXPECT_GT(read->revision, 0);
  EXPECT_EQ(read->created, 5);
  EXPECT_EQ(read->modified, clock_.wall());
}

TEST_F(EditTest, UpdateRaisesTheRevisionAndReplacesTags) {
  create("/a", "one", {"x", "y"});
  const auto before = revisionOf("/a");
  store_->edit([&](Edit& edit) {
    Object object = *edit.open("/a");
    object.tags = {"y", "z"};
    edit.update(object, before);
  });
  Recorder recorder;
  const auto read = store_->read()->object("/a", recorder);
  EXPECT_EQ(read->revision, before + 1);
  EXPECT_EQ(read->tags, (std::vector<std::string>{"y", "z"}));
}

TEST_F(EditTest, UpdateOfAnotherRevisionIsAConflict) {
  create("/a");
  const auto before = revisionOf("/a");
  retitle("/a", "somebody else's");
  try {
    store_->edit([&](Edit& edit) { edit.update(document("/a"), before); });
    FAIL() << "no conflict";
  } catch (const EditConflict& conflict) {
    EXPECT_EQ(conflict.path, "/a");
    EXPECT_EQ(conflict.expected, before);
    EXPECT_EQ(conflict.actual, before + 1);
  }
  EXPECT_EQ(titleOf("/a"), "somebody else's");
}

TEST_F(EditTest, UpdateOfAnotherObjectThatIsThereNowIsAConflict) {
  create("/a");
  const auto first = revisionOf("/a");
  const auto update = [&] { store_->edit([&](Edit& e) { e.update(document("/a"), first); }); };
  store_->edit([](Edit& edit) { edit.remove("/a"); });
  create("/a");
  EXPECT_THROW(update(), EditConflict);
  create("/b");
  const auto second = revisionOf("/a");
  outside("UPDATE object SET revision = " + std::to_string(second) + " WHERE path = '/b'");
  store_->edit([](Edit& edit) {
    edit.remove("/a");
    edit.move("/b", "/a");
  });
  EXPECT_GT(revisionOf("/a"), second);
}

TEST_F(EditTest, UpdateOfARemovedObjectIsAConflict) {
  create("/a");
  store_->edit([](Edit& edit) { edit.remove("/a"); });
  EXPECT_THROW(store_->edit([](Edit& edit) { edit.update(document("/a"), 1); }), EditConflict);
}

TEST_F(EditTest, RemoveTakesWhatIsBelowButNotTheNeighbour) {
  for (const char* path : {"/a", "/a/b", "/a/b/c", "/ab", "/a-b", "/a0"}) create(path);
  store_->edit([](Edit& edit) { edit.remove("/a"); });
  EXPECT_EQ(titleOf("/a/b/c"), "(none)");
  for (const char* path : {"/ab", "/a-b", "/a0"}) EXPECT_EQ(titleOf(path), "") << path;
}

TEST_F(EditTest, MoveTakesTheSubtreeAlong) {
  for (const char* path : {"/a", "/a/b", "/a/b/\u00e9", "/ab", "/t"}) create(path, path);
  store_->edit([](Edit& edit) { edit.move("/a", "/t/\u00e9\u00e9"); });
  EXPECT_EQ(titleOf("/t/\u00e9\u00e9/b/\u00e9"), "/a/b/\u00e9");
  EXPECT_EQ(titleOf("/a/b"), "(none)");
  EXPECT_EQ(titleOf("/ab"), "/ab");
  Recorder recorder;
  EXPECT_EQ(store_->read()->children("/t/\u00e9\u00e9/b", {}, recorder).size(), 1U);
}

TEST_F(EditTest, MoveBelowItselfIsRefused) {
  create("/a");
  EXPECT_NE(errorOf([&] { store_->edit([](Edit& e) { e.move("/a", "/a/b"); }); }).find("itself"),
            std::string::npos);
}

TEST_F(EditTest, MoveRefusesWhatWouldMakeAPathBelowTooLong) {
  const std::string deep = "/a/" + std::string(1'000, 'x');
  for (const auto& path : {std::string("/a"), deep, std::string("/a/y")}) create(path);
  const std::string to = "/" + std::string(30, 'b');
  EXPECT_NE(errorOf([&] { store_->edit([&](Edit& e) { e.move("/a", to); }); }).find("1024 bytes"),
            std::string::npos);
  EXPECT_EQ(titleOf(deep), "");
  store_->edit([](Edit& e) { e.move("/a", "/b"); });
}

TEST_F(EditTest, CreateNeedsAParentAndAFreePath) {
  EXPECT_NE(errorOf([&] { create("/no/such"); }).find("there is no /no"), std::string::npos);
  create("/a");
  EXPECT_NE(errorOf([&] { create("/a"); }).find("already"), std::string::npos);
}

TEST_F(EditTest, PathsThatAreNotCanonicalAreRefused) {
  for (const char* path : {"", "a", "/a/", "//a", "/a//b", "/.", "/../a", "/@@edit", "/a\nb"})
    EXPECT_NE(errorOf([&] { create(path); }), "") << path;
}

TEST_F(EditTest, Semantics22_AFailedEditLeavesNothing) {
  create("/a", "one");
  const auto before = readObject("/a");
  EXPECT_THROW(store_->edit([](Edit& edit) {
    Object object = *edit.open("/a");
    object.title = "two";
    edit.update(object, 0);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(titleOf("/a"), "one");
  EXPECT_TRUE(valid(before));
}

TEST_F(EditTest, AnEditThatChangesNothingIsNoCommit) {
  create("/a");
  const auto head = store_->ledger().known().as_of;
  const auto receipt = store_->edit([](Edit& edit) { (void)edit.open("/a"); });
  EXPECT_EQ(receipt.seq, head);
  EXPECT_EQ(store_->ledger().known().as_of, head);
}

TEST_F(EditTest, AnEditInsideAnEditIsRefused) {
  EXPECT_NE(errorOf([&] {
              store_->edit([&](Edit&) { store_->edit([](Edit&) {}); });
            }).find("inside an edit"),
            std::string::npos);
}

TEST_F(EditTest, ReceiptNamesEraAndSeqOfTheCommit) {
  const auto receipt = create("/a");
  EXPECT_EQ(receipt.era, store_->ledger().known().era);
  EXPECT_EQ(receipt.seq, store_->ledger().known().as_of);
}

TEST_F(EditTest, ByIsInTheLog) {
  store_->edit([](Edit& edit) { edit.create(document("/a")); }, "anna");
  EXPECT_EQ(store_->log(0, 1'000).rows.back().by, "anna");
}

class AppEditTest : public EditTest {
 protected:
  AppEditTest() {
    schema("app", {"CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, data BLOB);"
                   "CREATE TABLE part(item REFERENCES item(id) ON DELETE CASCADE, n)"});
  }
};

TEST_F(AppEditTest, ExecuteBindsByNameAndReturnsRows) {
  std::int64_t id = 0;
  Document returned;
  store_->edit([&](Edit& edit) {
    returned = edit.execute("INSERT INTO item(name, data) VALUES(:name, :data) RETURNING id, name",
                            {{"name", "n"}, {"data", Tree::Bytes{std::string("\0x", 2)}}});
    id = edit.lastInsertId();
  });
  EXPECT_EQ(returned.root().at(0)["name"].text(), "n");
  EXPECT_EQ(returned.root().at(0)["id"].integer(), id);
  Recorder recorder;
  EXPECT_EQ(store_->read()->row("item", id, recorder).root()["data"].type(), Node::Type::bytes);
}

TEST_F(AppEditTest, ExecuteKeepsOffWhatIsNotTheApps) {
  for (const char* sql :
       {"UPDATE object SET title = 'x'", "DELETE FROM larder_log", "SELECT * FROM larder_log",
        "PRAGMA user_version = 7", "ATTACH 'x.db' AS x", "DROP TABLE item", "CREATE TABLE x(y)",
        "COMMIT", "INSERT INTO object_fts(title) VALUES('x')", "CREATE TEMP TABLE x(y)",
        "DELETE FROM sqlite_sequence", "VACUUM", "SELECT 1; SELECT 2", ""}) {
    EXPECT_NE(errorOf([&] { store_->edit([&](Edit& edit) { edit.execute(sql, {}); }); }), "")
        << sql;
  }
}

TEST_F(AppEditTest, ExecuteNamesAMissingArgument) {
  EXPECT_NE(errorOf([&] {
              store_->edit([](Edit& e) { e.execute("DELETE FROM item WHERE id = :id", {}); });
            }).find(":id"),
            std::string::npos);
}

TEST_F(AppEditTest, CascadesAreFollowed) {
  store_->edit([](Edit& edit) {
    edit.execute("INSERT INTO item(id) VALUES(1)", {});
    edit.execute("INSERT INTO part(item, n) VALUES(1, 2)", {});
  });
  const auto parts = readQuery("SELECT n FROM part");
  store_->edit([](Edit& edit) { edit.execute("DELETE FROM item WHERE id = 1", {}); });
  EXPECT_FALSE(valid(parts));
}

}  // namespace
}  // namespace larder::site
