#include "larder/cache/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace larder {
namespace {

/// Waits in slices, so that no deadline overflows the arithmetic of the wait.
constexpr Millis kSlice = 3'600'000;

/// Waits until notified or about the time from now to `deadline`. The clock, not the wait, decides
/// what is due: coarse clocks lag behind the one that times the wait, so callers loop.
void waitSlice(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
               const Clock& clock, Millis deadline) {
  const Millis left = deadline - clock.monotonic();
  if (left > 0) changed.wait_for(lock, std::chrono::milliseconds(std::min(left, kSlice)));
}

class PoolEvent final : public Event {
 public:
  explicit PoolEvent(const Clock& clock) : clock_(clock) {}

  void set() noexcept override {
    const std::lock_guard lock(mutex_);
    set_ = true;
    // Under the lock: the waiter may destroy the event as soon as it sees it set.
    changed_.notify_all();
  }

  bool wait(Millis deadline) noexcept override {
    std::unique_lock lock(mutex_);
    while (!set_ && clock_.monotonic() < deadline) waitSlice(changed_, lock, clock_, deadline);
    return set_;
  }

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

struct Timer {
  Millis when;
  std::uint64_t order;
  Executor::Task task;
};
/// Orders a heap whose top is due first; among equals the one posted first.
bool later(const Timer& a, const Timer& b) noexcept {
  return a.when != b.when ? a.when > b.when : a.order > b.order;
}

}  // namespace

class ThreadPool::State {
 public:
  State(const Clock& clock, Options options) : clock_(clock), options_(std::move(options)) {
    const std::size_t workers = std::max<std::size_t>(options_.threads, 1);
    threads_.reserve(workers + 1);
    try {
      for (std::size_t i = 0; i < workers; ++i) start(&State::work);
      start(&State::keepTime);
    } catch (...) {
      stop();
      throw;
    }
  }

  bool post(Task& task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || tasks_.size() >= options_.queue) return false;
      tasks_.push_back(std::move(task));
    }
    work_came_.notify_one();
    return true;
  }

  bool postAt(Millis when, Task& task) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || timers_.size() >= options_.timers) return false;
      timers_.push_back({when, next_order_++, std::move(task)});
      std::push_heap(timers_.begin(), timers_.end(), later);
    }
    timer_came_.notify_one();
    return true;
  }

  void stop() noexcept {
    drop();
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (auto& thread : threads) thread.join();
  }

  bool drain(Millis patience) noexcept {
    drop();
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, std::chrono::milliseconds(patience),
                           [this] { return running_ == 0; });
  }

  [[nodiscard]] std::size_t queued() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
  }

  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

 private:
  void drop() noexcept {
    // What tasks own is destroyed outside of the lock.
    std::deque<Task> tasks;
    std::vector<Timer> timers;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      tasks.swap(tasks_);
      timers.swap(timers_);
    }
    work_came_.notify_all();
    timer_came_.notify_all();
  }

  void start(void (State::*loop)()) {
    threads_.emplace_back(loop, this);
    pthread_setname_np(threads_.back().native_handle(), options_.name.substr(0, 15).c_str());
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_came_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      if (--running_ == 0 && stopping_) ended_.notify_all();
    }
  }

  void keepTime() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (timers_.empty()) {
        timer_came_.wait(lock);
      } else if (timers_.front().when > clock_.monotonic()) {
        waitSlice(timer_came_, lock, clock_, timers_.front().when);
      } else {
        std::pop_heap(timers_.begin(), timers_.end(), later);
        tasks_.push_back(std::move(timers_.back().task));
        timers_.pop_back();
        work_came_.notify_one();
      }
    }
  }

  const Clock& clock_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable timer_came_;
  std::condition_variable ended_;
  std::deque<Task> tasks_;
  std::vector<Timer> timers_;
  std::vector<std::thread> threads_;
  std::uint64_t next_order_ = 0;
  std::size_t running_ = 0;
  bool stopping_ = false;
};

ThreadPool::ThreadPool(const Clock& clock, Options options)
    : state_(std::make_unique<State>(clock, std::move(options))) {}

ThreadPool::~ThreadPool() {
  stop();
}

bool ThreadPool::post(Task task) noexcept {
  try {
    return state_->post(task);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool ThreadPool::postAt(Millis when, Task task) noexcept {
  try {
    return state_->postAt(when, task);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::unique_ptr<Event> ThreadPool::makeEvent() {
  return std::make_unique<PoolEvent>(state_->clock());
}

void ThreadPool::stop() noexcept {
  state_->stop();
}

bool ThreadPool::drain(Millis patience) noexcept {
  return state_->drain(patience);
}

std::size_t ThreadPool::queued() const noexcept {
  return state_->queued();
}

}  // namespace larder
