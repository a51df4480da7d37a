#include "larder/testing/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "larder/testing/temp_dir.h"

namespace larder::testing {
namespace {

using ::testing::HasSubstr;

Process shell(std::string script, Process::Options options = {}) {
  auto process = Process::start("sh", {"-c", std::move(script)}, std::move(options));
  EXPECT_TRUE(process) << process.error().message;
  return std::move(*process);
}

TEST(FreePort, IsNoneThatAConnectionMayBeGivenMeanwhile) {
  int first_given = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_given;
  EXPECT_LT(freePort(), first_given);
}

TEST(Process, ReportsTheExitStatus) {
  Process process = shell("exit 3");
  EXPECT_EQ(process.wait(), 3);
}

TEST(Process, ReportsTheSignalThatEndedIt) {
  Process process = shell("kill -TERM $$");
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

TEST(Process, KeepsWhatItWrites) {
  Process process = shell("echo out; echo err >&2");
  process.wait();
  EXPECT_EQ(process.output(), "out\nerr\n");
}

TEST(Process, GetsEnvironmentAndDirectory) {
  const TempDir dir;
  Process process =
      shell("echo $COLOUR; pwd", {.environment = {{"COLOUR", "blue"}}, .directory = dir.path()});
  process.wait();
  EXPECT_EQ(process.output(), "blue\n" + dir.path() + "\n");
}

TEST(Process, AMissingProgramNamesItsPackage) {
  const auto process = Process::start("no-such-program", {}, {.package = "such-package"});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("install the Debian package such-package"));
}

TEST(Process, AFolderThatDoesNotExistIsAnErrorOfStart) {
  const auto process = Process::start("sh", {}, {.directory = "/no/such/folder"});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("No such file"));
}

TEST(Process, WaitingForOutputSeesIt) {
  Process process = shell("echo ready; read line < /dev/zero; sleep 600");
  EXPECT_TRUE(process.waitForOutput("ready"));
}

TEST(Process, WaitingEndsWithTheOutputWhenTheChildDies) {
  Process process = shell("echo 'port in use'; exit 2");
  const auto ready = process.waitForOutput("ready");
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message, HasSubstr("ended with status 2"));
  EXPECT_THAT(ready.error().message, HasSubstr("port in use"));
}

TEST(Process, WaitingEndsWhenPatienceDoes) {
  Process process = shell("sleep 600");
  const auto ready = process.waitForOutput("ready", 20);
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message, HasSubstr("after 20 ms"));
}

TEST(Process, StopKillsOneThatIgnoresTermination) {
  Process process = shell("trap '' TERM; echo ready; while :; do sleep 600; done");
  ASSERT_TRUE(process.waitForOutput("ready"));
  EXPECT_EQ(process.stop(20), 128 + SIGKILL);
}

TEST(Process, EndsItsDescendantsWithTheScope) {
  pid_t descendant = 0;
  {
    Process process = shell("sleep 600 & echo $!; wait");
    ASSERT_TRUE(process.waitForOutput("\n"));
    descendant = std::stoi(process.output());
    ASSERT_EQ(::kill(descendant, 0), 0);
  }
  // A killed orphan is there until its new parent has collected it.
  Process waiting = shell("while kill -0 " + std::to_string(descendant) +
                          " 2>/dev/null && ! grep -q '^State:.Z' /proc/" +
                          std::to_string(descendant) + "/status; do sleep 0.01; done");
  EXPECT_EQ(waiting.wait(), 0);
}

TEST(TempDir, IsOursAloneAndGoesWithTheScope) {
  std::string path;
  {
    const TempDir dir;
    path = dir.path();
    dir.write("a/b.txt", "x");
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
  }
  EXPECT_EQ(::access(path.c_str(), F_OK), -1);
}

TEST(FreePort, CanBeListenedOn) {
  EXPECT_GT(freePort(), 1023);
}

}  // namespace
}  // namespace larder::testing
