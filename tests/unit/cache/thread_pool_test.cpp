#include "larder/cache/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "larder/cache/system_clock.h"

namespace larder {
namespace {

constexpr Millis kPatience = 30'000;

class ThreadPoolTest : public ::testing::Test {
 protected:
  [[nodiscard]] Millis patience() const { return clock.monotonic() + kPatience; }

  /// Occupies a thread of the pool until release() is called.
  struct Blocker {
    std::shared_ptr<Event> entered;
    std::shared_ptr<Event> left;
  };
  Blocker block(ThreadPool& pool) {
    Blocker blocker{pool.makeEvent(), pool.makeEvent()};
    EXPECT_TRUE(pool.post([blocker] {
      blocker.entered->set();
      blocker.left->wait(kForever);
    }));
    EXPECT_TRUE(blocker.entered->wait(patience()));
    return blocker;
  }

  SystemClock clock;
};

TEST_F(ThreadPoolTest, RunsPostedTasks) {
  ThreadPool pool(clock, {.threads = 2});
  std::atomic<int> ran{0};
  const auto done = pool.makeEvent();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(pool.post([&] {
      if (++ran == 100) done->set();
    }));
  EXPECT_TRUE(done->wait(patience()));
}

TEST_F(ThreadPoolTest, FaultA13_ADrainDropsWhatWaitsAndLeavesWhatDoesNotEnd) {
  ThreadPool pool(clock, {.threads = 1});
  const Blocker blocker = block(pool);
  std::atomic<int> ran{0};
  ASSERT_TRUE(pool.post([&] { ++ran; }));
  EXPECT_FALSE(pool.drain(1));
  EXPECT_FALSE(pool.post([] {}));
  blocker.left->set();
  EXPECT_TRUE(pool.drain(kPatience));
  EXPECT_EQ(ran, 0);
}

TEST_F(ThreadPoolTest, RefusesWhenTheQueueIsFull) {
  ThreadPool pool(clock, {.threads = 1, .queue = 2});
  const Blocker blocker = block(pool);
  EXPECT_TRUE(pool.post([] {}));
  EXPECT_TRUE(pool.post([] {}));
  EXPECT_FALSE(pool.post([] {}));
  EXPECT_EQ(pool.queued(), 2u);
  blocker.left->set();
}

TEST_F(ThreadPoolTest, ADueTimerGetsIntoAFullQueue) {
  ThreadPool pool(clock, {.threads = 1, .queue = 0});
  const auto done = pool.makeEvent();
  EXPECT_FALSE(pool.post([] {}));
  ASSERT_TRUE(pool.postAt(clock.monotonic(), [&] { done->set(); }));
  EXPECT_TRUE(done->wait(patience()));
}

TEST_F(ThreadPoolTest, TimersRunInOrderOfTheirTimesAndNotBefore) {
  ThreadPool pool(clock, {.threads = 1});
  const Millis now = clock.monotonic();
  std::vector<int> order;
  std::vector<Millis> at;
  const auto done = pool.makeEvent();
  const auto timer = [&](Millis when, int id) {
    ASSERT_TRUE(pool.postAt(when, [&, id] {
      order.push_back(id);
      at.push_back(clock.monotonic());
      if (order.size() == 3) done->set();
    }));
  };
  timer(now + 40, 3);
  timer(now + 20, 2);
  timer(now - 5, 1);
  ASSERT_TRUE(done->wait(patience()));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(at[1], now + 20);
  EXPECT_GE(at[2], now + 40);
}

TEST_F(ThreadPoolTest, RefusesMoreTimersThanAllowed) {
  ThreadPool pool(clock, {.threads = 1, .timers = 1});
  EXPECT_TRUE(pool.postAt(kForever, [] {}));
  EXPECT_FALSE(pool.postAt(kForever, [] {}));
}

TEST_F(ThreadPoolTest, AnEventTimesOutAtItsDeadline) {
  ThreadPool pool(clock, {.threads = 1});
  const auto never = pool.makeEvent();
  const Millis deadline = clock.monotonic() + 20;
  EXPECT_FALSE(never->wait(deadline));
  EXPECT_GE(clock.monotonic(), deadline);
}

TEST_F(ThreadPoolTest, ADeadlineInThePastDoesNotWait) {
  ThreadPool pool(clock, {.threads = 1});
  EXPECT_FALSE(pool.makeEvent()->wait(0));
}

TEST_F(ThreadPoolTest, AnEventStaysSet) {
  ThreadPool pool(clock, {.threads = 1});
  const auto event = pool.makeEvent();
  event->set();
  EXPECT_TRUE(event->wait(0));
  EXPECT_TRUE(event->wait(kForever));
}

TEST_F(ThreadPoolTest, AnEventWakesAllThatWait) {
  ThreadPool pool(clock, {.threads = 1});
  const auto event = pool.makeEvent();
  std::atomic<int> woken{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i)
    waiting.emplace_back([&] {
      if (event->wait(kForever)) ++woken;
    });
  event->set();
  for (auto& thread : waiting) thread.join();
  EXPECT_EQ(woken.load(), 4);
}

TEST_F(ThreadPoolTest, StopEndsRunningTasksAndDropsTheOthers) {
  ThreadPool pool(clock, {.threads = 1});
  const auto owned = std::make_shared<int>(0);
  std::atomic<bool> finished{false};
  std::shared_ptr<Event> entered = pool.makeEvent();
  ASSERT_TRUE(pool.post([&finished, entered] {
    entered->set();
    const SystemClock real;
    const Millis until = real.monotonic() + 20;
    while (real.monotonic() < until) std::this_thread::yield();
    finished = true;
  }));
  ASSERT_TRUE(entered->wait(patience()));
  ASSERT_TRUE(pool.post([owned] { ++*owned; }));
  ASSERT_TRUE(pool.postAt(kForever, [owned] { ++*owned; }));
  pool.stop();
  EXPECT_TRUE(finished);
  EXPECT_EQ(*owned, 0);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(ThreadPoolTest, RefusesAfterStop) {
  ThreadPool pool(clock, {.threads = 1});
  pool.stop();
  EXPECT_FALSE(pool.post([] {}));
  EXPECT_FALSE(pool.postAt(0, [] {}));
}

TEST_F(ThreadPoolTest, ThreadsCarryItsName) {
  ThreadPool pool(clock, {.threads = 1, .name = "a-name-longer-than-fits"});
  std::string name(16, '\0');
  const auto done = pool.makeEvent();
  ASSERT_TRUE(pool.post([&] {
    pthread_getname_np(pthread_self(), name.data(), name.size());
    done->set();
  }));
  ASSERT_TRUE(done->wait(patience()));
  EXPECT_EQ(std::string(name.c_str()), "a-name-longer-t");
}

TEST_F(ThreadPoolTest, TasksPostTasksFromManyThreads) {
  ThreadPool pool(clock, {.threads = 4, .queue = 100'000});
  std::atomic<int> left{4000};
  const auto done = pool.makeEvent();
  std::vector<std::thread> posting;
  for (int t = 0; t < 4; ++t)
    posting.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        pool.post([&] {
          if (--left == 0) done->set();
          pool.postAt(clock.monotonic(), [&] {
            if (--left == 0) done->set();
          });
        });
    });
  for (auto& thread : posting) thread.join();
  EXPECT_TRUE(done->wait(patience()));
}

}  // namespace
}  // namespace larder
