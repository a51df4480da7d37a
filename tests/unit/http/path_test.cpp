#include "larder/cache/path.h"
#include "larder/view.h"

#include <gtest/gtest.h>

#include <string>

namespace larder::cache {
namespace {

using namespace std::string_literals;

std::string fullOf(std::string_view raw) {
  std::string scratch;
  return std::string(canonicalPath(raw, scratch).full);
}

PathStatus statusOf(std::string_view raw) {
  std::string scratch;
  return canonicalPath(raw, scratch).status;
}

struct Spelling {
  std::string raw;
  std::string canonical;
};

class PathSpelling : public testing::TestWithParam<Spelling> {};

TEST_P(PathSpelling, Semantics03_IsDecodedExactlyOnce) {
  EXPECT_EQ(fullOf(GetParam().raw), GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(
    All, PathSpelling,
    testing::Values(
        Spelling{"/", "/"}, Spelling{"/a", "/a"}, Spelling{"/a/b.html", "/a/b.html"},
        Spelling{"/p/%C3%A9", "/p/\u00e9"}, Spelling{"/p/%c3%a9", "/p/\u00e9"},
        Spelling{"/p/\u00e9", "/p/\u00e9"}, Spelling{"/p/e%CC%81", "/p/e\u0301"},
        Spelling{"/p/%F0%9F%98%80", "/p/\U0001F600"}, Spelling{"/%61", "/a"},
        Spelling{"/a%2541", "/a%41"}, Spelling{"/a%25b", "/a%b"}, Spelling{"/a%20b", "/a b"},
        Spelling{"/a+b", "/a+b"}, Spelling{"/a%2Bb", "/a+b"}, Spelling{"/a%3Fx=1", "/a?x=1"},
        Spelling{"/a%23b", "/a#b"}, Spelling{"/a;b", "/a;b"}, Spelling{"/a%3Bb", "/a;b"},
        Spelling{"/a%5Cb", "/a\\b"}, Spelling{"/p/%0A", "/p/\n"}, Spelling{"/p/%7F", "/p/\x7F"},
        Spelling{"/p/%7Ex", "/p/~x"}, Spelling{"/.well-known/x", "/.well-known/x"},
        Spelling{"/a/...", "/a/..."}, Spelling{"/a/.b", "/a/.b"}, Spelling{"/A/b", "/A/b"}));

class ResolvedPath : public testing::TestWithParam<Spelling> {};

TEST_P(ResolvedPath, HasNoEmptyAndNoDotSegments) {
  EXPECT_EQ(fullOf(GetParam().raw), GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(All, ResolvedPath,
                         testing::Values(Spelling{"//", "/"}, Spelling{"//a", "/a"},
                                         Spelling{"/a//b", "/a/b"}, Spelling{"/a/./b", "/a/b"},
                                         Spelling{"/a/x/../b", "/a/b"},
                                         Spelling{"/a/x/y/../../b", "/a/b"},
                                         Spelling{"/a/%2e/b", "/a/b"},
                                         Spelling{"/a/x/%2E%2e/b", "/a/b"}, Spelling{"/.", "/"},
                                         Spelling{"/a/..", "/"}, Spelling{"/a/../b", "/b"},
                                         Spelling{"/a/b/..", "/a"}, Spelling{"///a///b", "/a/b"}));

class MalformedPath : public testing::TestWithParam<std::string> {};

TEST_P(MalformedPath, FaultA19_IsBad) {
  EXPECT_EQ(statusOf(GetParam()), PathStatus::bad);
}

INSTANTIATE_TEST_SUITE_P(All, MalformedPath,
                         testing::Values("", "a", "*", "/%", "/%2", "/%zz", "/a%g0", "/%00",
                                         "/a\0b"s, "/%FF", "/\xFF", "/%C3", "/%C0%AF", "/%E0%80%AF",
                                         "/%ED%A0%80", "/%F4%90%80%80", "/%F8%88%80%80%80", "/..",
                                         "/a/../../b", "/%2e%2e/a", "/a%2F%zz"));

class NameOfNothing : public testing::TestWithParam<std::string> {};

TEST_P(NameOfNothing, IsNotFound) {
  EXPECT_EQ(statusOf(GetParam()), PathStatus::notFound);
}

INSTANTIATE_TEST_SUITE_P(All, NameOfNothing,
                         testing::Values("/a%2Fb", "/a%2fb", "/%2F", "/a%2F../b", "/a/@@", "/@@",
                                         "/a/@@edit/b", "/a/@@x/@@y"));

TEST(Path, Semantics03_EncodedSlashIsNoSlash) {
  EXPECT_NE(fullOf("/a%2Fb"), fullOf("/a/b"));
}

class TrailingSlash : public testing::TestWithParam<Spelling> {};

TEST_P(TrailingSlash, RedirectsToTheFormWithoutIt) {
  std::string scratch;
  const CanonicalPath path = canonicalPath(GetParam().raw, scratch);
  EXPECT_EQ(path.status, PathStatus::redirect);
  EXPECT_EQ(path.full, GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(All, TrailingSlash,
                         testing::Values(Spelling{"/a/", "/a"}, Spelling{"/a//", "/a"},
                                         Spelling{"/a/b/.", "/a/b"}, Spelling{"/a/b/x/..", "/a/b"},
                                         Spelling{"/%C3%A9/", "/\u00e9"},
                                         Spelling{"/a/@@edit/", "/a/@@edit"}));

TEST(Path, RootNeedsNoRedirect) {
  EXPECT_EQ(statusOf("/"), PathStatus::ok);
}

struct Viewed {
  std::string raw;
  std::string object;
  std::string view;
};

class ViewSuffix : public testing::TestWithParam<Viewed> {};

TEST_P(ViewSuffix, IsSplitOff) {
  std::string scratch;
  const CanonicalPath path = canonicalPath(GetParam().raw, scratch);
  EXPECT_EQ(path.object, GetParam().object);
  EXPECT_EQ(path.view, GetParam().view);
}

INSTANTIATE_TEST_SUITE_P(
    All, ViewSuffix,
    testing::Values(Viewed{"/a/b/@@edit", "/a/b", "edit"}, Viewed{"/@@edit", "/", "edit"},
                    Viewed{"/a/edit", "/a/edit", ""}, Viewed{"/a@@x", "/a@@x", ""},
                    Viewed{"/a/@x", "/a/@x", ""}, Viewed{"/a%40%40listing", "/a@@listing", ""},
                    Viewed{"/a/%40%40listing", "/a", "listing"}, Viewed{"/", "/", ""},
                    Viewed{"/a/../@@edit", "/", "edit"}));

TEST(Path, PlainPathIsReturnedAsItStands) {
  const std::string raw = "/handbook/linux/dpkg/@@page";
  std::string scratch;
  EXPECT_EQ(canonicalPath(raw, scratch).full.data(), raw.data());
}

TEST(Path, PlainPathLeavesTheScratchAlone) {
  std::string scratch = "kept";
  canonicalPath("/a/b", scratch);
  EXPECT_EQ(scratch, "kept");
}

TEST(Path, RefusalSaysWhatIsWrong) {
  std::string scratch;
  EXPECT_EQ(canonicalPath("/%zz", scratch).problem, "a malformed percent escape in the path");
}

TEST(Path, CanonicalFormSurvivesEncodingAndDecoding) {
  std::string every = "/";
  for (int c = 1; c < 128; ++c) {
    if (c != '/' && c != '@') every.push_back(static_cast<char>(c));
  }
  every += "\u00e9\U0001F600";
  EXPECT_EQ(fullOf(urlPath(every)), every);
}

TEST(Path, EncodingLeavesNothingThatALinkCannotHold) {
  EXPECT_EQ(urlPath("/a b?c#d%e\"<>\\\r\n\u00e9/@@x:(1)~"),
            "/a%20b%3Fc%23d%25e%22%3C%3E%5C%0D%0A%C3%A9/@@x:(1)~");
}

}  // namespace
}  // namespace larder::cache
