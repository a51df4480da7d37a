#include "worker_pool.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <future>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace larder::http {
namespace {

class Task final : public Job {
 public:
  explicit Task(std::function<void()> work) : work_(std::move(work)) {}
  void run() noexcept override { work_(); }

 private:
  std::function<void()> work_;
};

// Occupies the pool's only worker until it is let go.
class Blocker {
 public:
  explicit Blocker(WorkerPool& pool)
      : task_([this] {
          started_.set_value();
          go_.get_future().wait();
        }) {
    EXPECT_TRUE(pool.submit(task_));
    started_.get_future().wait();
  }
  void letGo() { go_.set_value(); }

 private:
  std::promise<void> started_;
  std::promise<void> go_;
  Task task_;
};

TEST(WorkerPool, RunsJobsInOrder) {
  std::vector<int> order;
  std::promise<void> done;
  std::deque<Task> tasks;
  WorkerPool pool(1, 100);
  for (int i = 0; i < 10; ++i) tasks.emplace_back([&order, i] { order.push_back(i); });
  tasks.emplace_back([&done] { done.set_value(); });
  for (Task& task : tasks) ASSERT_TRUE(pool.submit(task));
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(WorkerPool, WhoWorkedLastWorksNext) {
  WorkerPool pool(4, 10);
  std::thread::id last;
  Task task([&last] { last = std::this_thread::get_id(); });
  std::set<std::thread::id> workers;
  for (int i = 0; i < 20; ++i) {
    while (pool.idle() < 4) std::this_thread::yield();
    ASSERT_TRUE(pool.submit(task));
    while (pool.idle() < 4 || pool.queued() > 0) std::this_thread::yield();
    workers.insert(last);
  }
  EXPECT_EQ(workers.size(), 1U);
}

TEST(WorkerPool, RefusesWhatTheQueueCannotHold) {
  Task first([] {});
  Task second([] {});
  WorkerPool pool(1, 1);
  Blocker blocker(pool);
  EXPECT_TRUE(pool.submit(first));
  EXPECT_FALSE(pool.submit(second));
  blocker.letGo();
  pool.stop();
}

TEST(WorkerPool, AWithdrawnJobDoesNotRun) {
  bool ran = false;
  std::promise<void> done;
  Task withdrawn([&ran] { ran = true; });
  Task last([&done] { done.set_value(); });
  WorkerPool pool(1, 10);
  Blocker blocker(pool);
  ASSERT_TRUE(pool.submit(withdrawn));
  ASSERT_TRUE(pool.submit(last));
  EXPECT_TRUE(pool.withdraw(withdrawn));
  EXPECT_EQ(pool.queued(), 1U);
  blocker.letGo();
  done.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(WorkerPool, AJobThatRunsCannotBeWithdrawn) {
  std::promise<void> started;
  std::promise<void> go;
  Task running([&] {
    started.set_value();
    go.get_future().wait();
  });
  WorkerPool pool(1, 10);
  ASSERT_TRUE(pool.submit(running));
  started.get_future().wait();
  EXPECT_FALSE(pool.withdraw(running));
  go.set_value();
  pool.stop();
}

TEST(WorkerPool, StoppingDropsWhatIsQueued) {
  bool ran = false;
  Task queued([&ran] { ran = true; });
  WorkerPool pool(1, 10);
  Blocker blocker(pool);
  ASSERT_TRUE(pool.submit(queued));
  std::thread stopper([&pool] { pool.stop(); });
  while (pool.queued() > 0) std::this_thread::yield();
  blocker.letGo();
  stopper.join();
  EXPECT_FALSE(ran);
}

// Those that were taken together run on their own, the last ones on other workers.
class Gatherer final : public Job {
 public:
  explicit Gatherer(std::function<void()> work = [] {}) : work_(std::move(work)) {
    gathers_ = true;
  }
  void run() noexcept override { work_(); }
  void runTogether(std::span<Job* const> jobs, WorkerPool& pool) noexcept override {
    for (Job* job : jobs.subspan(1)) pool.giveBack(*job);
    jobs[0]->run();
  }
  void dropped() noexcept override { ++drops; }
  int drops = 0;

 private:
  std::function<void()> work_;
};

TEST(WorkerPool, AJobThatWasGivenBackIsDroppedOnceWhenThePoolStops) {
  std::promise<void> started;
  std::promise<void> go;
  Gatherer first([&] {
    started.set_value();
    go.get_future().wait();
  });
  Gatherer second;
  WorkerPool pool(1, 10);
  Blocker blocker(pool);
  ASSERT_TRUE(pool.submit(first));
  ASSERT_TRUE(pool.submit(second));
  blocker.letGo();
  started.get_future().wait();
  std::thread stopper([&pool] { pool.stop(); });
  while (pool.queued() > 0) std::this_thread::yield();
  go.set_value();
  stopper.join();
  EXPECT_EQ(second.drops, 1);
  EXPECT_EQ(first.drops, 0);
  pool.giveBack(second);
  EXPECT_EQ(second.drops, 2);
}

TEST(WorkerPool, AStoppedPoolRefusesJobs) {
  Task late([] {});
  WorkerPool pool(1, 10);
  pool.stop();
  EXPECT_FALSE(pool.submit(late));
}

}  // namespace
}  // namespace larder::http
