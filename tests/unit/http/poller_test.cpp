#include "larder/http/poller.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <utility>

namespace larder::http {
namespace {

// Two connected stream sockets.
class Pair {
 public:
  Pair() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds_.data()), 0);
  }
  ~Pair() {
    for (const int fd : fds_) {
      if (fd >= 0) ::close(fd);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  int near() const { return fds_[0]; }
  int far() const { return fds_[1]; }
  void closeFar() { ::close(std::exchange(fds_[1], -1)); }
  void closeNear() { ::close(std::exchange(fds_[0], -1)); }
  void write() const { EXPECT_EQ(::write(far(), "x", 1), 1); }

 private:
  std::array<int, 2> fds_{};
};

constexpr int kLong = 5'000;
constexpr int kAtOnce = 0;

TEST(Poller, ReportsWhatCanBeRead) {
  const Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.read = true}, 42));
  EXPECT_TRUE(poller->wait(kAtOnce).empty());
  pair.write();
  const auto events = poller->wait(kLong);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].token, 42U);
  EXPECT_TRUE(events[0].readable);
  EXPECT_FALSE(events[0].writable);
}

TEST(Poller, ReportsAgainWhatWasNotDealtWith) {
  const Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.read = true}, 1));
  pair.write();
  EXPECT_EQ(poller->wait(kLong).size(), 1U);
  EXPECT_EQ(poller->wait(kLong).size(), 1U);
}

TEST(Poller, ReportsWhatCanBeWritten) {
  const Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.write = true}, 1));
  const auto events = poller->wait(kLong);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].writable);
}

TEST(Poller, InterestCanBeChanged) {
  const Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.read = true}, 1));
  pair.write();
  poller->modify(pair.near(), {}, 1);
  EXPECT_TRUE(poller->wait(kAtOnce).empty());
  poller->modify(pair.near(), {.read = true}, 7);
  ASSERT_EQ(poller->wait(kLong).size(), 1U);
  EXPECT_EQ(poller->wait(kLong)[0].token, 7U);
}

TEST(Poller, HangupIsReportedWithoutBeingAskedFor) {
  Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {}, 1));
  pair.closeFar();
  const auto events = poller->wait(kLong);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].hangup);
}

TEST(Poller, ARemovedDescriptorIsSilent) {
  const Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.read = true, .exclusive = true}, 1));
  poller->remove(pair.near());
  pair.write();
  EXPECT_TRUE(poller->wait(kAtOnce).empty());
}

TEST(Poller, AClosedDescriptorLeavesByItself) {
  Pair pair;
  const auto poller = makeEpollPoller();
  ASSERT_TRUE(poller->add(pair.near(), {.read = true}, 1));
  pair.write();
  pair.closeNear();
  EXPECT_TRUE(poller->wait(kAtOnce).empty());
}

TEST(Poller, ABadDescriptorIsRefused) {
  EXPECT_FALSE(makeEpollPoller()->add(-1, {.read = true}, 1));
}

TEST(Poller, AnotherThreadCanWakeIt) {
  const auto poller = makeEpollPoller();
  std::thread waker([&poller] { poller->wakeUp(); });
  EXPECT_TRUE(poller->wait(-1).empty());
  waker.join();
}

TEST(Poller, AWakeUpBeforeTheWaitIsNotLost) {
  const auto poller = makeEpollPoller();
  poller->wakeUp();
  poller->wakeUp();
  EXPECT_TRUE(poller->wait(-1).empty());
}

}  // namespace
}  // namespace larder::http
