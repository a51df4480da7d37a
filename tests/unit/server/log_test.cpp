#include "larder/server/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "larder/testing/temp_dir.h"

namespace larder::server {
namespace {

std::string contentOf(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(EscapeControls, KeepsText) {
  EXPECT_EQ(escapeControls("a \u00e9 \U0001F600 ~"), "a \u00e9 \U0001F600 ~");
}

TEST(EscapeControls, FaultA08_EscapesWhatCouldForgeALine) {
  EXPECT_EQ(escapeControls("a\r\nb\tc"), "a\\x0d\\nb\\tc");
  EXPECT_EQ(escapeControls(std::string_view("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(escapeControls("\u0085"), "\\xc2\\x85");
}

TEST(EscapeControls, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(escapeControls("\xff\xc3\xe9"), "\\xff\\xc3\\xe9");
  EXPECT_EQ(escapeControls("\xc0\xaf"), "\\xc0\\xaf");
}

class LogFile : public ::testing::Test {
 protected:
  LogFile() : config_{.level = LogLevel::info, .file = dir_.file("log"), .access = {}} {}
  testing::TempDir dir_;
  LogConfig config_;
};

TEST_F(LogFile, HoldsOneLineAnEvent) {
  const auto log = Log::open(config_);
  ASSERT_TRUE(log);
  (*log)->write(LogLevel::warning, "one\ntwo");
  const std::string text = contentOf(dir_.file("log"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_NE(text.find(" warning: one\\ntwo\n"), std::string::npos) << text;
}

TEST_F(LogFile, LeavesOutWhatIsBelowItsLevel) {
  const auto log = Log::open(config_);
  ASSERT_TRUE(log);
  (*log)->write(LogLevel::debug, "detail");
  EXPECT_EQ(contentOf(dir_.file("log")), "");
  (*log)->setLevel(LogLevel::debug);
  (*log)->write(LogLevel::debug, "detail");
  EXPECT_NE(contentOf(dir_.file("log")).find("debug: detail"), std::string::npos);
}

TEST_F(LogFile, GoesOnInANewFileAfterItWasMovedAway) {
  const auto log = Log::open(config_);
  ASSERT_TRUE(log);
  std::filesystem::rename(dir_.file("log"), dir_.file("old"));
  ASSERT_TRUE((*log)->reopen());
  (*log)->write(LogLevel::error, "after");
  EXPECT_NE(contentOf(dir_.file("log")).find("error: after"), std::string::npos);
}

TEST_F(LogFile, ThatCannotBeWrittenIsNamed) {
  config_.file = "/nowhere/log";
  const auto log = Log::open(config_);
  ASSERT_FALSE(log);
  EXPECT_TRUE(log.error().message.starts_with("log file /nowhere/log cannot be written"));
}

}  // namespace
}  // namespace larder::server
