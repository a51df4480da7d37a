// WorkerPool: a fixed number of threads that take jobs off a bounded queue, first come first
// served. Of those that wait for one, the thread that waits the shortest is woken: what it works
// with, its memory and its connections, is in the processor's cache still.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace larder::http {

class WorkerPool;

/// The pool borrows a job from submit() until it calls run() or dropped(), or withdraw() succeeds.
class Job {
 public:
  virtual ~Job() = default;
  /// The pool does not touch the job afterwards, so run() may hand it on.
  virtual void run() noexcept = 0;
  /// Of a job that gathers: runs those that waited together, this one among them, or gives them
  /// back.
  virtual void runTogether(std::span<Job* const> jobs, WorkerPool& pool) noexcept;
  /// The pool has stopped before the job's turn came.
  virtual void dropped() noexcept {}

 protected:
  bool gathers_ = false;

 private:
  friend class WorkerPool;
  Job* previous_ = nullptr;
  Job* next_ = nullptr;
  bool queued_ = false;
};

/// Thread-safe.
class WorkerPool {
 public:
  /// Throws std::system_error when the threads cannot be started.
  WorkerPool(unsigned threads, std::size_t queue_limit);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// False when the queue is full or the pool is stopping. Nobody is woken for a job that gathers:
  /// when all are in, call wake().
  bool submit(Job& job);
  void wake();
  /// A job that a worker has taken and not run goes to the head of the queue, full or not, and
  /// gathers no more. Dropped at once when the pool is stopping.
  void giveBack(Job& job);
  /// True when the job had not begun: it will not run.
  bool withdraw(Job& job);
  /// Drops what is queued and waits for the jobs that run.
  void stop();
  [[nodiscard]] std::size_t queued() const;
  /// Workers that wait for a job.
  [[nodiscard]] std::size_t idle() const;

 private:
  static constexpr std::size_t kMostTogether = 32;
  /// Where a worker waits.
  struct Seat {
    std::condition_variable called;
    bool is_called = false;
    Seat* longer_idle = nullptr;
  };
  void work(Seat& mine);
  void unlink(Job& job);
  /// With the mutex held; the caller notifies it when he has let go. Null if all work.
  [[nodiscard]] Seat* callOne();
  static void notify(Seat* seat) {
    if (seat != nullptr) seat->called.notify_one();
  }

  const std::size_t limit_;
  mutable std::mutex mutex_;
  const std::unique_ptr<Seat[]> seats_;
  Seat* idle_ = nullptr;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  std::size_t queued_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace larder::http
