// What an entry and a page hold packed comes out as it went in.
#include "larder/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

CacheKey keyOf(std::string_view bytes) {
  return {bytes, digestOf(bytes), 3};
}

TEST(CacheEntry, HoldsItsKeyAndWhatWasRead) {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string key(size, 'k');
    const std::vector<std::string> scopes{"obj:/a", "", "tag:two\nlines"};
    const std::vector<std::string> inputs{"param:q"};
    const auto entry = CacheEntry::make(keyOf(key), {.scopes = scopes, .inputs = inputs});
    EXPECT_EQ(entry->key(), key);
    EXPECT_EQ(entry->partition, 3U);
    EXPECT_THAT(entry->scopes(),
                ElementsAre(hash64("obj:/a"), hash64(""), hash64("tag:two\nlines")));
    EXPECT_THAT(entry->scopeNames(), ElementsAreArray(scopes));
    EXPECT_THAT(entry->inputs(), ElementsAre("param:q"));
  }
}

TEST(CacheEntry, NamesOfAnyLengthAreKept) {
  std::vector<std::string> names;
  for (const std::size_t size : {0U, 1U, 127U, 128U, 16'383U, 16'384U, 100'000U})
    names.emplace_back(size, 'n');
  const auto entry = CacheEntry::make(keyOf("k"), {.inputs = names});
  EXPECT_THAT(entry->inputs(), ElementsAreArray(names));
  EXPECT_EQ(entry->inputs().size(), names.size());
  EXPECT_THAT(entry->scopes(), IsEmpty());
  EXPECT_TRUE(entry->scopeNames().empty());
}

Page finishedPage() {
  Page page;
  page.status = 404;
  page.headers = {
      {"Content-Type", "text/html"}, {"X-Only", "here"}, {"Content-Type", "text"}, {"Empty", ""}};
  page.body = std::string("a body\0", 7);
  page.gzip = "zip";
  page.etag = "0123";
  page.last_modified = 42;
  page.head = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nEmpty: \r\nETag: \"0123\"\r\n";
  page.gzip_head = page.head + "Content-Encoding: gzip\r\n";
  return page;
}

void expectEqual(const PageView& view, const Page& page) {
  EXPECT_EQ(view.status, page.status);
  EXPECT_TRUE(std::equal(view.headers.begin(), view.headers.end(), page.headers.begin(),
                         page.headers.end()));
  EXPECT_EQ(view.body, page.body);
  EXPECT_EQ(view.gzip, page.gzip);
  EXPECT_EQ(view.etag, page.etag);
  EXPECT_EQ(view.last_modified, page.last_modified);
  EXPECT_EQ(view.head, page.head);
  EXPECT_EQ(view.gzip_head, page.gzip_head);
}

TEST(Value, Semantics14_APageIsHeldAsItIs) {
  Page page = finishedPage();
  expectEqual(*Value(page).page(), page);
  page.etag = "not in the head";
  expectEqual(*Value(page).page(), page);
  page.head.clear();
  expectEqual(*Value(page).page(), page);
  expectEqual(*Value(Page()).page(), Page());
  const Page copy = Value(page).page()->copy();
  expectEqual(*Value(copy).page(), page);
}

TEST(Value, WhatTheHeadContainsIsNotHeldTwice) {
  Page page = finishedPage();
  const auto before = Value(page).bytes();
  page.head.append("X-Only: here\r\n");
  EXPECT_LE(Value(page).bytes(), before + 16);
}

TEST(Value, AHeaderIsFoundWithoutCase) {
  const Value value(finishedPage());
  EXPECT_EQ(value.page()->header("x-ONLY"), "here");
  EXPECT_EQ(value.page()->header("content-type"), "text/html");
  EXPECT_EQ(value.page()->header("none"), std::nullopt);
}

TEST(Value, CopiesShareOnePage) {
  Value first(finishedPage());
  const Value second = first;
  first = Value();
  EXPECT_FALSE(first.isPage());
  EXPECT_TRUE(first.document().root().isNull());
  expectEqual(*second.page(), finishedPage());
}

TEST(Value, AnEtagThatIsTooLongIsRefused) {
  Page page;
  page.etag.assign(Page::kMaxEtag + 1, 'e');
  EXPECT_THROW(Value{page}, std::length_error);
}

}  // namespace
}  // namespace larder
