#include "larder/server/supervisor.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace larder::server {
namespace {

TEST(RestartDelay, FirstDeathIsFollowedAtOnce) {
  EXPECT_EQ(restartDelay(1), 0);
}

TEST(RestartDelay, DoublesUpToItsLimit) {
  EXPECT_EQ(restartDelay(2), 100);
  EXPECT_EQ(restartDelay(3), 200);
  EXPECT_EQ(restartDelay(7), 3'200);
  EXPECT_EQ(restartDelay(8), 5'000);
  EXPECT_EQ(restartDelay(1'000'000), 5'000);
}

TEST(Supervisor, FaultA13_AFirstWorkerThatCannotBeStartedIsToldAndEndsIt) {
  auto config = parseConfig("[http]\nport = 0\n", "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  Log log(LogLevel::error);
  Supervisor supervisor(
      {.workers = 2, .arguments = {}, .overrides = {}, .program = "/nonexistent/larder"},
      std::move(*config), log);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(supervisor.run(), 2);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("worker 0 cannot be started: No such file")) << said;
}

}  // namespace
}  // namespace larder::server
