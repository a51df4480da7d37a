#include "larder/server/supervisor.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace larder::server
