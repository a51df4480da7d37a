#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "larder/server/management.h"
#include "larder/testing/temp_dir.h"

namespace larder::server {
namespace {

TEST(Token, IsForItsOwnerOnly) {
  const testing::TempDir dir;
  ASSERT_TRUE(readOrMakeToken(dir.file("token")));
  struct stat status {};
  ASSERT_EQ(::stat(dir.file("token").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(Token, StaysTheSame) {
  const testing::TempDir dir;
  const auto first = readOrMakeToken(dir.file("token"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->size(), 64U);
  EXPECT_EQ(*readOrMakeToken(dir.file("token")), *first);
}

TEST(Token, LeavesNoOtherFileBehind) {
  const testing::TempDir dir;
  ASSERT_TRUE(readOrMakeToken(dir.file("token")));
  const std::filesystem::directory_iterator files(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(Token, ThatOthersMayReadIsRefused) {
  const testing::TempDir dir;
  ASSERT_TRUE(readOrMakeToken(dir.file("token")));
  ::chmod(dir.file("token").c_str(), 0644);
  const auto token = readToken(dir.file("token"));
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("others may read it"), std::string::npos);
}

TEST(Token, ThatIsALinkIsRefused) {
  const testing::TempDir dir;
  ASSERT_TRUE(readOrMakeToken(dir.file("token")));
  ASSERT_EQ(::symlink(dir.file("token").c_str(), dir.file("link").c_str()), 0);
  EXPECT_FALSE(readOrMakeToken(dir.file("link")));
}

TEST(Token, ThatIsDamagedIsRefused) {
  const testing::TempDir dir;
  dir.write("token", "short\n");
  ::chmod(dir.file("token").c_str(), 0600);
  const auto token = readToken(dir.file("token"));
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("damaged"), std::string::npos);
}

TEST(Token, OfAFolderThatIsMissingNamesTheFile) {
  const auto token = readOrMakeToken("/nowhere/token");
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("/nowhere/token"), std::string::npos);
}

}  // namespace
}  // namespace larder::server
