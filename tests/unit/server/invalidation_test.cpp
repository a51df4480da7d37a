#include <gtest/gtest.h>

#include "larder/server/management.h"

namespace larder::server {
namespace {

std::string scopeOf(std::string_view json) {
  const auto changes = parseInvalidation(json);
  return changes ? changes->front().scope : "error: " + changes.error().message;
}

std::string scopeOfTarget(std::string_view target) {
  const auto body = invalidationBody(target, false);
  return body ? scopeOf(*body) : "error: " + body.error().message;
}

TEST(Invalidation, NamesEachKindOfScope) {
  EXPECT_EQ(scopeOf(R"({"path": "/a/b"})"), objectScope("/a/b"));
  EXPECT_EQ(scopeOf(R"({"path": "/a", "view": "page"})"), viewScope("page", "/a"));
  EXPECT_EQ(scopeOf(R"({"subtree": "/a"})"), subtreeScope("/a"));
  EXPECT_EQ(scopeOf(R"({"tag": "news"})"), tagScope("news"));
  EXPECT_EQ(scopeOf(R"({"table": "comment"})"), tableScope("comment"));
  EXPECT_EQ(scopeOf(R"({"manager": "fast"})"), managerScope("/", "fast"));
  EXPECT_EQ(scopeOf(R"({"manager": "fast", "at": "/a"})"), managerScope("/a", "fast"));
  EXPECT_EQ(scopeOf(R"({"site": true})"), kSiteScope);
}

TEST(Invalidation, FaultA18_SpellingsOfOnePathAreOneScope) {
  EXPECT_EQ(scopeOf(R"({"path": "/p/%C3%A9"})"), scopeOf("{\"path\": \"/p/\u00e9\"}"));
  EXPECT_EQ(scopeOf(R"({"path": "/p/%c3%a9"})"), objectScope("/p/\u00e9"));
  EXPECT_EQ(scopeOf(R"({"path": "/p/%2541"})"), objectScope("/p/%41"));
}

TEST(Invalidation, IsHardUnlessSaidOtherwise) {
  EXPECT_EQ(parseInvalidation(R"({"path": "/a"})")->front().hardness, Hardness::hard);
  EXPECT_EQ(parseInvalidation(R"({"path": "/a", "hardness": "soft"})")->front().hardness,
            Hardness::soft);
}

TEST(Invalidation, RefusesWhatIsNotOneThing) {
  for (const char* bad :
       {"", "[]", "{}", R"({"path": "/a", "tag": "x"})", R"({"path": 1})", R"({"site": false})",
        R"({"path": ""})", R"({"tag": "x", "view": "page"})", R"({"path": "/a", "at": "/"})",
        R"({"path": "/a", "hardness": "medium"})", R"({"path": "/%zz"})", R"({"path": "/a%2Fb"})",
        R"({"path": "/a/@@page"})"}) {
    EXPECT_FALSE(parseInvalidation(bad)) << bad;
  }
}

TEST(Invalidation, UnknownMemberSuggestsTheNearest) {
  EXPECT_EQ(scopeOf(R"({"pth": "/a"})"), "error: unknown member 'pth'; did you mean 'path'?");
}

TEST(InvalidationTarget, NamesEachKindOfScope) {
  EXPECT_EQ(scopeOfTarget("/a/b"), objectScope("/a/b"));
  EXPECT_EQ(scopeOfTarget("/"), objectScope("/"));
  EXPECT_EQ(scopeOfTarget("/a/@@page"), viewScope("page", "/a"));
  EXPECT_EQ(scopeOfTarget("/@@page"), viewScope("page", "/"));
  EXPECT_EQ(scopeOfTarget("/a/**"), subtreeScope("/a"));
  EXPECT_EQ(scopeOfTarget("/**"), subtreeScope("/"));
  EXPECT_EQ(scopeOfTarget("tag:news"), tagScope("news"));
  EXPECT_EQ(scopeOfTarget("table:comment"), tableScope("comment"));
  EXPECT_EQ(scopeOfTarget("manager:fast"), managerScope("/", "fast"));
  EXPECT_EQ(scopeOfTarget("manager:/a:fast"), managerScope("/a", "fast"));
  EXPECT_EQ(scopeOfTarget("site"), kSiteScope);
}

TEST(InvalidationTarget, RefusesWhatItDoesNotKnow) {
  for (const char* bad : {"", "a", "tag:", "everything"})
    EXPECT_TRUE(scopeOfTarget(bad).starts_with("error: ")) << bad;
}

}  // namespace
}  // namespace larder::server
