#include "larder/server/command_line.h"

#include <gtest/gtest.h>

namespace larder::server {
namespace {

Result<CommandLine> parse(std::vector<std::string> arguments) {
  return parseCommandLine(arguments);
}

std::string errorOf(std::vector<std::string> arguments) {
  const auto line = parse(std::move(arguments));
  return line ? "no error" : line.error().message;
}

TEST(CommandLine, TakesOptionsBeforeAndAfterArguments) {
  const auto line = parse({"import", "--to", "/a", "pages", "-c", "x.toml"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->arguments, std::vector<std::string>{"pages"});
  EXPECT_EQ(line->value("--to"), "/a");
  EXPECT_EQ(line->value("-c"), "x.toml");
}

TEST(CommandLine, TakesValuesBehindEqualsSigns) {
  const auto line = parse({"serve", "x.toml", "--processes=3"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->value("--processes"), "3");
}

TEST(CommandLine, CollectsOverrides) {
  const auto line = parse({"serve", "-D", "http.port=1", "x.toml", "-Dsite.data=/x=y"});
  ASSERT_TRUE(line) << line.error().message;
  ASSERT_EQ(line->overrides.size(), 2U);
  EXPECT_EQ(line->overrides[1].key, "site.data");
  EXPECT_EQ(line->overrides[1].value, "/x=y");
}

TEST(CommandLine, RepeatsWhatMayBeRepeated) {
  const auto line = parse({"user", "add", "anna", "--role", "editor", "--role", "member"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->command, "user add");
  EXPECT_EQ(line->values("--role"), (std::vector<std::string>{"editor", "member"}));
}

TEST(CommandLine, RefusesAnOptionGivenTwice) {
  EXPECT_NE(errorOf({"import", "x", "--to", "/a", "--to", "/b"}).find("--to is given twice"),
            std::string::npos);
}

TEST(CommandLine, UnknownCommandSuggestsTheNearest) {
  EXPECT_NE(errorOf({"serv", "x"}).find("did you mean 'serve'"), std::string::npos);
}

TEST(CommandLine, UnknownOptionSuggestsTheNearest) {
  EXPECT_NE(errorOf({"serve", "x", "--proceses", "2"}).find("did you mean '--processes'"),
            std::string::npos);
}

TEST(CommandLine, MissingArgumentShowsTheUsage) {
  EXPECT_NE(errorOf({"serve"}).find("CONF is missing; usage: larder serve CONF"),
            std::string::npos);
}

TEST(CommandLine, SurplusArgumentIsNamed) {
  EXPECT_NE(errorOf({"serve", "a", "b"}).find("'b' is too much"), std::string::npos);
}

TEST(CommandLine, MissingValueIsNamed) {
  EXPECT_NE(errorOf({"serve", "a", "--processes"}).find("--processes needs a value, N"),
            std::string::npos);
}

TEST(CommandLine, DoubleDashEndsTheOptions) {
  const auto line = parse({"import", "--to", "/a", "--", "-c"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->arguments, std::vector<std::string>{"-c"});
}

TEST(CommandLine, HelpMayBeAskedForAsAnOption) {
  for (const char* option : {"--help", "-h"}) {
    const auto line = parse({"config", "set", option});
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->command, "help");
    EXPECT_EQ(line->arguments, std::vector<std::string>{"config set"});
  }
}

TEST(CommandLine, HelpHidesWhatIsInternal) {
  EXPECT_EQ(helpText("serve").find("--worker"), std::string::npos);
  EXPECT_NE(helpText("serve").find("--processes N"), std::string::npos);
}

TEST(CommandLine, HelpOfAFirstWordListsItsCommands) {
  for (const auto& words : {std::vector<std::string>{"user", "--help"}, {"help", "user"}}) {
    const auto line = parseCommandLine(words);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(line->command, "help");
    const std::string text = helpText(line->arguments.front());
    EXPECT_NE(text.find("user add"), std::string::npos);
    EXPECT_EQ(text.find("serve"), std::string::npos);
  }
}

TEST(CommandLine, HelpListsEveryCommand) {
  const std::string text = helpText("");
  for (const char* command : {"serve", "check", "import", "user add", "stats", "invalidate"})
    EXPECT_NE(text.find(command), std::string::npos) << command;
}

}  // namespace
}  // namespace larder::server
