#include "worker_pool.h"

#include <array>
#include <string>
#include <utility>

#include "threads.h"

namespace larder::http {

void Job::runTogether(std::span<Job* const> jobs, WorkerPool&) noexcept {
  for (Job* job : jobs) job->run();
}

WorkerPool::WorkerPool(unsigned threads, std::size_t queue_limit)
    : limit_(queue_limit), seats_(std::make_unique<Seat[]>(threads)) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.push_back(
          detail::startThread("http-work-" + std::to_string(i), [this, i] { work(seats_[i]); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::submit(Job& job) {
  Seat* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queued_ >= limit_) return false;
    job.previous_ = last_;
    job.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &job;
    last_ = &job;
    job.queued_ = true;
    ++queued_;
    // Once the mutex is free the job may be done and gone at any time.
    if (!job.gathers_) worker = callOne();
  }
  notify(worker);
  return true;
}

void WorkerPool::wake() {
  std::unique_lock lock(mutex_);
  Seat* const worker = callOne();
  lock.unlock();
  notify(worker);
}

WorkerPool::Seat* WorkerPool::callOne() {
  Seat* const worker = idle_;
  if (worker == nullptr) return nullptr;
  idle_ = worker->longer_idle;
  worker->is_called = true;
  return worker;
}

void WorkerPool::giveBack(Job& job) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return job.dropped();
  }
  job.gathers_ = false;
  job.previous_ = nullptr;
  job.next_ = first_;
  (first_ != nullptr ? first_->previous_ : last_) = &job;
  first_ = &job;
  job.queued_ = true;
  ++queued_;
  Seat* const worker = callOne();
  lock.unlock();
  notify(worker);
}

bool WorkerPool::withdraw(Job& job) {
  const std::lock_guard lock(mutex_);
  if (!job.queued_) return false;
  unlink(job);
  return true;
}

void WorkerPool::stop() {
  std::vector<Job*> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.reserve(queued_);
    while (first_ != nullptr) {
      dropped.push_back(first_);
      unlink(*first_);
    }
    while (idle_ != nullptr) notify(callOne());
  }
  for (Job* job : dropped) job->dropped();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

std::size_t WorkerPool::idle() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const Seat* seat = idle_; seat != nullptr; seat = seat->longer_idle) ++count;
  return count;
}

void WorkerPool::work(Seat& mine) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!stopping_ && first_ == nullptr) {
      mine.is_called = false;
      mine.longer_idle = std::exchange(idle_, &mine);
      mine.called.wait(lock, [&mine] { return mine.is_called; });
    }
    if (stopping_) return;
    std::array<Job*, kMostTogether> jobs;
    std::size_t count = 0;
    do {
      jobs[count++] = first_;
      unlink(*first_);
    } while (jobs[0]->gathers_ && first_ != nullptr && first_->gathers_ && count < kMostTogether);
    Seat* const another = first_ != nullptr && first_->gathers_ ? callOne() : nullptr;
    lock.unlock();
    notify(another);
    if (count == 1) {
      jobs[0]->run();
    } else {
      jobs[0]->runTogether({jobs.data(), count}, *this);
    }
    lock.lock();
  }
}

void WorkerPool::unlink(Job& job) {
  (job.previous_ != nullptr ? job.previous_->next_ : first_) = job.next_;
  (job.next_ != nullptr ? job.next_->previous_ : last_) = job.previous_;
  job.queued_ = false;
  --queued_;
}

}  // namespace larder::http
