#include "larder/cache/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <msgpack.hpp>
#include <string>

namespace larder {
namespace {

using testing::HasSubstr;

Buffer buffer(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view data = *owner;
  return {std::move(owner), data};
}

std::string encoded(const Tree& tree) {
  std::string out;
  const auto done = encodeDocument(Document::from(tree).root(), out);
  EXPECT_TRUE(done);
  return out;
}

std::string problemOf(std::string bytes) {
  const auto document = decodeDocument(buffer(std::move(bytes)));
  return document ? "none" : document.error().message;
}

Tree nested(std::size_t depth) {
  Tree tree = 1;
  for (std::size_t i = 0; i < depth; ++i) tree = Tree::list({tree});
  return tree;
}

const Tree kEveryType =
    Tree::map()
        .set("null", nullptr)
        .set("yes", true)
        .set("no", false)
        .set("zero", 0)
        .set("small", -32)
        .set("byte", -128)
        .set("wide", std::int64_t{1} << 40)
        .set("lowest", std::numeric_limits<std::int64_t>::min())
        .set("highest", std::numeric_limits<std::int64_t>::max())
        .set("real", 0.1)
        .set("text", "grüße")
        .set("long", std::string(70'000, 'x'))
        .set("bytes", Tree::Bytes{std::string("\0\xff", 2)})
        .set("list", Tree::list({1, "two", Tree::list(), Tree::map()}))
        .set("map", Tree::map().set("", "empty key").set("a", Tree::map().set("b", 2)));

TEST(Codec, GivesBackEveryTypeAndValue) {
  const Document original = Document::from(kEveryType);
  const auto copy = decodeDocument(buffer(encoded(kEveryType)));
  ASSERT_TRUE(copy);
  EXPECT_EQ(*copy, original);
}

TEST(Codec, Semantics16_TellsEmptyNullFalseAndZeroApart) {
  for (const Tree& value : {Tree(nullptr), Tree(false), Tree(0), Tree(0.0), Tree(""),
                            Tree(Tree::Bytes{""}), Tree::list(), Tree::map()}) {
    const auto copy = decodeDocument(buffer(encoded(value)));
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->root().type(), Document::from(value).root().type());
  }
}

TEST(Codec, KeepsEveryBitOfAReal) {
  for (const double value : {-0.0, 5e-324, std::numeric_limits<double>::infinity(), 1.0 / 3}) {
    const auto copy = decodeDocument(buffer(encoded(value)));
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->root().real(), value);
    EXPECT_EQ(std::signbit(copy->root().real()), std::signbit(value));
  }
}

TEST(Codec, CopiesNoText) {
  const Buffer bytes = buffer(encoded(Tree::list({"some text"})));
  const auto document = decodeDocument(bytes);
  ASSERT_TRUE(document);
  const auto text = document->root().at(0).text();
  EXPECT_GE(text.data(), bytes.data.data());
  EXPECT_LT(text.data(), bytes.data.data() + bytes.data.size());
}

TEST(Codec, ADocumentKeepsItsBytesAlive) {
  auto owner = std::make_shared<const std::string>(encoded(Tree::list({"kept"})));
  const std::weak_ptr<const std::string> watched = owner;
  auto document = decodeDocument({owner, *owner});
  owner.reset();
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().at(0).text(), "kept");
  document = Document();
  EXPECT_TRUE(watched.expired());
}

TEST(Codec, OtherMessagePackProgramsReadIt) {
  const std::string bytes =
      encoded(Tree::map().set("title", "dpkg").set("sizes", Tree::list({1, 2})));
  const auto handle = msgpack::unpack(bytes.data(), bytes.size());
  std::ostringstream json;
  json << handle.get();
  EXPECT_EQ(json.str(), R"({"title":"dpkg","sizes":[1,2]})");
}

TEST(Codec, ReadsWhatOtherProgramsWrite) {
  // float32, and integers wider than they need be.
  const auto document =
      decodeDocument(buffer(std::string("\x93\xca\x3f\x00\x00\x00\xd3\xff\xff\xff"
                                        "\xff\xff\xff\xff\xfe\xcd\x00\x07",
                                        18)));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().at(0).real(), 0.5);
  EXPECT_EQ(document->root().at(1).integer(), -2);
  EXPECT_EQ(document->root().at(2).integer(), 7);
}

TEST(Codec, TakesTheDeepestAllowedNesting) {
  EXPECT_TRUE(decodeDocument(buffer(encoded(nested(kMaxValueDepth)))));
}

TEST(Codec, Semantics18_RefusesToEncodeDeeperNestingAndLeavesTheOutput) {
  std::string out = "before";
  const auto done = encodeDocument(Document::from(nested(kMaxValueDepth + 1)).root(), out);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("64 levels"));
  EXPECT_EQ(out, "before");
}

TEST(Codec, RefusesToDecodeDeeperNesting) {
  EXPECT_THAT(problemOf(std::string(kMaxValueDepth + 1, '\x91') + '\x01'), HasSubstr("too deep"));
}

TEST(Codec, RefusesEveryTruncation) {
  const std::string bytes = encoded(kEveryType);
  for (std::size_t size = 0; size < bytes.size(); size += size < 2000 ? 1 : 977) {
    EXPECT_FALSE(decodeDocument(buffer(bytes.substr(0, size)))) << size;
  }
}

TEST(Codec, RefusesWhatFollowsTheValue) {
  EXPECT_THAT(problemOf(encoded(1) + '\x01'), HasSubstr("follows"));
}

TEST(Codec, RefusesMoreItemsThanThereAreBytes) {
  EXPECT_THAT(problemOf(std::string("\xdd\xff\xff\xff\xff\x01", 6)), HasSubstr("more items"));
  EXPECT_THAT(problemOf(std::string("\xdf\x80\x00\x00\x00\x01", 6)), HasSubstr("more items"));
}

TEST(Codec, RefusesTextLongerThanTheInput) {
  EXPECT_THAT(problemOf(std::string("\xdb\xff\xff\xff\xff"
                                    "abc",
                                    8)),
              HasSubstr("longer"));
}

TEST(Codec, RefusesTypesThatNoValueHas) {
  for (const auto* bytes : {"\xc1", "\xd4\x01x", "\xc7\x01\x01x", "\xd8\x01xxxxxxxxxxxxxxxx"}) {
    EXPECT_THAT(problemOf(bytes), HasSubstr("no place")) << bytes;
  }
}

TEST(Codec, RefusesIntegersThatAreTooLarge) {
  EXPECT_NE(problemOf("\xcf\x80\xff\xff\xff\xff\xff\xff\xff"), "none");
  EXPECT_EQ(problemOf("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"), "none");
}

TEST(Codec, RefusesMapKeysThatAreNoText) {
  EXPECT_THAT(problemOf("\x81\x01\x02"), HasSubstr("key of a map"));
}

TEST(Codec, PageComesBackAsItWas) {
  Page page;
  page.status = 404;
  page.headers = {{"Content-Type", "text/html; charset=utf-8"}, {"X-Empty", ""}};
  page.body = std::string("a\0b", 3);
  page.gzip = "\x1f\x8b";
  page.etag = "0123";
  page.last_modified = 1'700'000'000'123;
  page.head = "derived, not stored";

  std::string bytes;
  ASSERT_TRUE(encodePage(*Value(page).page(), bytes));
  const auto copy = decodePage(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->status, page.status);
  EXPECT_EQ(copy->headers, page.headers);
  EXPECT_EQ(copy->body, page.body);
  EXPECT_EQ(copy->gzip, page.gzip);
  EXPECT_EQ(copy->etag, page.etag);
  EXPECT_EQ(copy->last_modified, page.last_modified);
  EXPECT_EQ(copy->head, "");
}

TEST(Codec, RefusesPagesThatHttpDoesNotKnow) {
  Page page;
  std::string bytes;
  page.status = 42;
  EXPECT_FALSE(encodePage(*Value(page).page(), bytes));
  page.status = 200;
  page.headers.assign(kMaxPageHeaders + 1, {"a", "b"});
  EXPECT_FALSE(encodePage(*Value(page).page(), bytes));
}

TEST(Codec, RefusesEveryTruncationOfAPage) {
  Page page;
  page.headers = {{"a", "b"}};
  page.body = "body";
  std::string bytes;
  ASSERT_TRUE(encodePage(*Value(page).page(), bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decodePage(std::string_view(bytes).substr(0, size))) << size;
  }
}

TEST(Codec, RefusesAnOddNumberOfHeaderTexts) {
  EXPECT_FALSE(decodePage("\x96\xcc\xc8\x91\xa1x\xc4\x00\xc4\x00\xa0\x00"));
}

}  // namespace
}  // namespace larder
