#include "larder/server/importer.h"

#include <gtest/gtest.h>

#include "larder/cache/recorder.h"
#include "larder/cache/system_clock.h"
#include "larder/testing/temp_dir.h"

namespace larder::server {
namespace {

class Importer : public ::testing::Test {
 protected:
  Importer() {
    site::StoreOptions options;
    options.data_dir = data_.path();
    options.clock = &clock_;
    store_ = site::Store::open(std::move(options));
  }
  ImportReport import(std::size_t batch = 200) {
    return importMarkdown(*store_, {.folder = pages_.path(), .to = "/handbook", .batch = batch},
                          clock_);
  }
  ObjectPtr open(std::string_view path) {
    Recorder recorder;
    return store_->read()->object(path, recorder);
  }
  /// The text that a page with this Markdown is stored with.
  std::string stored(std::string_view markdown) {
    pages_.write("linux/page.md", markdown);
    (void)import();
    const ObjectPtr page = open("/handbook/linux/page");
    return page ? page->body : "(none)";
  }

  SystemClock clock_;
  testing::TempDir data_;
  testing::TempDir pages_;
  std::unique_ptr<site::Store> store_;
};

TEST_F(Importer, MakesPagesOfFiles) {
  pages_.write("linux/dpkg.md", "# Package tool\n\nText.\n");
  const ImportReport report = import();
  EXPECT_EQ(report.created, 1U);
  const ObjectPtr page = open("/handbook/linux/dpkg");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->type, "document");
  EXPECT_EQ(page->title, "Package tool");
  EXPECT_EQ(page->body, "# Package tool\n\nText.\n");
}

TEST_F(Importer, MakesFoldersOfFolders) {
  pages_.write("linux/dpkg.md", "# x\n");
  EXPECT_EQ(import().folders, 2U);
  const ObjectPtr folder = open("/handbook/linux");
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->type, "folder");
  EXPECT_EQ(folder->title, "Linux");
}

TEST_F(Importer, FileWithoutHeadingIsTitledByItsName) {
  pages_.write("a.md", "text\n");
  (void)import();
  EXPECT_EQ(open("/handbook/a")->title, "a");
}

TEST_F(Importer, SecondRunChangesNothing) {
  pages_.write("a.md", "# A\n");
  (void)import();
  const ObjectPtr before = open("/handbook/a");
  const ImportReport report = import();
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(report.created + report.changed + report.folders, 0U);
  EXPECT_EQ(open("/handbook/a")->revision, before->revision);
}

TEST_F(Importer, SecondRunTakesOverWhatChanged) {
  pages_.write("a.md", "# A\n");
  pages_.write("b.md", "# B\n");
  (void)import();
  pages_.write("b.md", "# B two\n");
  const ImportReport report = import();
  EXPECT_EQ(report.changed, 1U);
  EXPECT_EQ(report.unchanged, 1U);
  EXPECT_EQ(open("/handbook/b")->title, "B two");
}

TEST_F(Importer, EditedPageOfAnUnchangedFileStays) {
  pages_.write("a.md", "# A\n");
  (void)import();
  store_->edit([&](Edit& edit) {
    Object page = *edit.open("/handbook/a");
    page.body = "edited";
    edit.update(page, 0);
  });
  (void)import();
  EXPECT_EQ(open("/handbook/a")->body, "edited");
}

TEST_F(Importer, ChangedFileKeepsOtherPropertiesOfThePage) {
  pages_.write("a.md", "# A\n");
  (void)import();
  store_->edit([&](Edit& edit) {
    Object page = *edit.open("/handbook/a");
    Tree properties = Tree::of(page.properties.root());
    properties.set("owner", "anna");
    page.properties = Document::from(properties);
    page.tags = {"news"};
    edit.update(page, 0);
  });
  pages_.write("a.md", "# A two\n");
  (void)import();
  EXPECT_EQ(open("/handbook/a")->properties.root()["owner"].text(), "anna");
  EXPECT_EQ(open("/handbook/a")->tags, std::vector<std::string>{"news"});
}

TEST_F(Importer, GoesOnAfterItWasStopped) {
  for (const char* name : {"a.md", "b.md", "c.md"}) pages_.write(name, "# x\n");
  const ImportReport first =
      importMarkdown(*store_,
                     {.folder = pages_.path(),
                      .to = "/handbook",
                      .batch = 2,
                      .progress = [](const ImportProgress&) { return false; }},
                     clock_);
  EXPECT_TRUE(first.stopped);
  const ImportReport second = import();
  EXPECT_EQ(second.unchanged, first.created);
  EXPECT_EQ(second.pages(), 3U);
}

TEST_F(Importer, LeavesOutWhatIsNotUtf8) {
  pages_.write("bad.md", "# B\xe4\n");
  pages_.write("good.md", "# Good\n");
  const ImportReport report = import();
  EXPECT_EQ(report.created, 1U);
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0],
            pages_.file("bad.md") +
                ": not UTF-8 (byte 4); convert it, for example with iconv, and import again");
}

TEST_F(Importer, LeavesOutNamesThatNoPathMayHold) {
  pages_.write("@@edit.md", "# x\n");
  const ImportReport report = import();
  EXPECT_EQ(report.pages(), 0U);
  ASSERT_EQ(report.refused.size(), 1U);
}

TEST_F(Importer, OfTwoFilesForOnePageTheSecondIsRefused) {
  pages_.write("dup.md", "# lower\n");
  pages_.write("dup.MD", "# upper\n");
  pages_.write("dup/x.md", "# x\n");
  pages_.write("link.md", "[a](dup.MD) [b](dup.md)");
  const ImportReport report = import();
  EXPECT_EQ(report.created, 3U);
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0],
            pages_.file("dup.md") + ": makes the same page as dup.MD; rename one of them");
  EXPECT_EQ(open("/handbook/dup")->title, "upper");
  EXPECT_EQ(open("/handbook/link")->body, "[a](/handbook/dup) [b](dup.md)");
}

TEST_F(Importer, PassesOverHiddenFilesAndOtherKinds) {
  pages_.write(".git/x.md", "# x\n");
  pages_.write(".hidden.md", "# x\n");
  pages_.write("picture.png", "x");
  const ImportReport report = import();
  EXPECT_EQ(report.pages(), 0U);
  EXPECT_TRUE(report.refused.empty());
}

TEST_F(Importer, TakesNamesOfAnyCharacters) {
  for (const char* name : {"!.md", "%.md", "[.md", "a b.md", "\u00e9.md", "?.md"})
    pages_.write(name, "# x\n");
  EXPECT_EQ(import().created, 6U);
  EXPECT_TRUE(open("/handbook/%"));
  EXPECT_TRUE(open("/handbook/\u00e9"));
}

TEST_F(Importer, PageNamedByADotKeepsItsEnding) {
  pages_.write("..md", "# .\n");
  EXPECT_EQ(import().created, 1U);
  EXPECT_TRUE(open("/handbook/..md"));
}

TEST_F(Importer, PageAndFolderOfOneNameAreOneObject) {
  pages_.write("git.md", "# Git\n");
  pages_.write("git/add.md", "# Add\n");
  EXPECT_EQ(import(1).created, 2U);
  EXPECT_EQ(open("/handbook/git")->title, "Git");
  EXPECT_TRUE(open("/handbook/git/add"));
}

TEST_F(Importer, PageOfAFolderThatIsThereAlreadyIsADocument) {
  pages_.write("git/add.md", "# Add\n");
  (void)import();
  pages_.write("git.md", "# Git\n");
  EXPECT_EQ(import().changed, 1U);
  EXPECT_EQ(open("/handbook/git")->type, "document");
  EXPECT_EQ(open("/handbook/git")->title, "Git");
}

TEST_F(Importer, ChangedFileKeepsTheTypeOfThePage) {
  pages_.write("a.md", "# A\n");
  (void)import();
  store_->edit([&](Edit& edit) {
    Object page = *edit.open("/handbook/a");
    page.type = "folder";
    edit.update(page, 0);
  });
  pages_.write("a.md", "# A two\n");
  (void)import();
  EXPECT_EQ(open("/handbook/a")->type, "folder");
}

TEST_F(Importer, LinksBetweenPagesFollowThem) {
  pages_.write("common/tar.md", "# tar\n");
  pages_.write("linux/a b.md", "# ab\n");
  EXPECT_EQ(stored("[tar](../common/tar.md#usage)"), "[tar](/handbook/common/tar#usage)");
  EXPECT_EQ(stored("[ab](a%20b.md)"), "[ab](/handbook/linux/a%20b)");
  EXPECT_EQ(stored("[common](../common/)"), "[common](/handbook/common)");
  EXPECT_EQ(stored("[self](page.md)"), "[self](/handbook/linux/page)");
}

TEST_F(Importer, OtherLinksStayAsTheyAre) {
  for (const char* text : {"[x](https://example.org/tar.md)", "[x](/abs.md)", "[x](missing.md)",
                           "[x](#part)", "[x](mailto:a@b.md)", "[x](../../../up.md)"})
    EXPECT_EQ(stored(text), text);
}

TEST_F(Importer, ByteOrderMarkIsNoText) {
  EXPECT_EQ(stored("\xef\xbb\xbf# T\n"), "# T\n");
}

TEST_F(Importer, ImportsToTheRoot) {
  pages_.write("a.md", "# A\n");
  (void)importMarkdown(*store_, {.folder = pages_.path(), .to = "/"}, clock_);
  EXPECT_TRUE(open("/a"));
}

}  // namespace
}  // namespace larder::server
