#include "markdown.h"

#include <gtest/gtest.h>

namespace larder::server {
namespace {

std::string rewrite(std::string_view text) {
  return rewriteLinks(text, [](std::string_view target) -> std::optional<std::string> {
    if (target == "b.md") return "/new/b";
    if (target == "b c.md") return "/new/b%20c";
    return std::nullopt;
  });
}

TEST(FirstHeading, IsTheTextBehindHashes) {
  EXPECT_EQ(firstHeading("text\n\n## dpkg tools ##\n# other\n"), "dpkg tools");
}

TEST(FirstHeading, MayBeUnderlined) {
  EXPECT_EQ(firstHeading("A title\n=======\n"), "A title");
}

TEST(FirstHeading, IsNotInCode) {
  EXPECT_EQ(firstHeading("```sh\n# comment\n```\n# Title\n"), "Title");
}

TEST(FirstHeading, NeedsABlankBehindHashes) {
  EXPECT_EQ(firstHeading("#hashtag\n# Title\n"), "Title");
}

TEST(FirstHeading, ResolvesEscapesAndCode) {
  EXPECT_EQ(firstHeading("# \\[ and `test`\n"), "[ and test");
}

TEST(FirstHeading, IsAbsentWithoutOne) {
  EXPECT_FALSE(firstHeading("just text\nand more\n"));
}

TEST(FirstHeading, EndsWithAWindowsLineEnd) {
  EXPECT_EQ(firstHeading("# Title\r\ntext\r\n"), "Title");
}

TEST(RewriteLinks, ReplacesInlineTargets) {
  EXPECT_EQ(rewrite("see [b](b.md), [x](x.md)."), "see [b](/new/b), [x](x.md).");
}

TEST(RewriteLinks, KeepsTitles) {
  EXPECT_EQ(rewrite("[b](b.md \"The b\")"), "[b](/new/b \"The b\")");
}

TEST(RewriteLinks, TakesTargetsInAngleBrackets) {
  EXPECT_EQ(rewrite("[b](<b c.md>)"), "[b](/new/b%20c)");
}

TEST(RewriteLinks, ReplacesDefinitions) {
  EXPECT_EQ(rewrite("[b]: b.md\n"), "[b]: /new/b\n");
}

TEST(RewriteLinks, LeavesCodeAlone) {
  const std::string_view text = "`[b](b.md)` and\n```\n[b](b.md)\n```\n";
  EXPECT_EQ(rewrite(text), text);
}

TEST(RewriteLinks, LeavesImagesAlone) {
  EXPECT_EQ(rewrite("![b](b.md)"), "![b](b.md)");
}

TEST(RewriteLinks, ReplacesTheTargetOfALinkAroundAnImage) {
  EXPECT_EQ(rewrite("[![b](b.md)](b.md) ![[b](b.md)](b.md)"),
            "[![b](b.md)](/new/b) ![[b](/new/b)](b.md)");
}

TEST(RewriteLinks, AnEscapedMarkMakesNoImage) {
  EXPECT_EQ(rewrite("\\![b](b.md)"), "\\![b](/new/b)");
}

TEST(RewriteLinks, BracketsInCodeCloseNothing) {
  EXPECT_EQ(rewrite("![`[` b](b.md) [`![` b](b.md)"), "![`[` b](b.md) [`![` b](/new/b)");
}

TEST(RewriteLinks, LeavesEscapedBracketsAlone) {
  EXPECT_EQ(rewrite("[b\\](b.md)"), "[b\\](b.md)");
}

TEST(RewriteLinks, UnclosedTargetsEndWithTheLine) {
  EXPECT_EQ(rewrite("[b](b.md\nnext [b](b.md)"), "[b](/new/b\nnext [b](/new/b)");
}

TEST(RewriteLinks, AnyBytesComeBackWhenNothingIsReplaced) {
  for (const std::string_view text :
       {"](", "[](", "]( ", "](<", "`", "``` ", "\\", "[a]:", "[a]: <", "a](b))(](", "\n\n](\n"})
    EXPECT_EQ(rewrite(text), text);
}

// Of these a line of the largest file would else take minutes to hours.
TEST(RewriteLinks, ALongLineIsReadOnce) {
  constexpr std::size_t kSize = std::size_t{4} << 20;
  for (const std::string_view piece : {"](x ", "](<", "[", "![", "](", "]( ", "[a](<x "}) {
    std::string text;
    while (text.size() < kSize) text += piece;
    EXPECT_TRUE(rewrite(text) == text) << piece;
  }
  std::string code;
  for (std::size_t run = 1; code.size() < kSize; ++run) code += std::string(run, '`') + ' ';
  EXPECT_TRUE(rewrite(code) == code);
}

}  // namespace
}  // namespace larder::server
