#include "worker_pool.h"

#include <array>
#include <string>
#include <utility>

#include "threads.h"

namespace larder::http {

void Job::runTogether(std::span<Job* const> jobs, WorkerPool&) noexcept {
  for (Job* job : jobs) job->run();
}

WorkerPool::WorkerPool(unsigned threads, std::size_t queue_limit) : limit_(queue_limit) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.push_back(detail::startThread("http-work-" + std::to_string(i), [this] { work(); }));
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
  bool gathers = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queued_ >= limit_) return false;
    job.previous_ = last_;
    job.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &job;
    last_ = &job;
    job.queued_ = true;
    ++queued_;
    gathers = job.gathers_;  // from here on the job may be done and gone at any time
  }
  if (!gathers) ready_.notify_one();
  return true;
}

void WorkerPool::giveBack(Job& job) {
  {
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
  }
  ready_.notify_one();
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
  }
  for (Job* job : dropped) job->dropped();
  ready_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    if (stopping_) return;
    std::array<Job*, kMostTogether> jobs;
    std::size_t count = 0;
    do {
      jobs[count++] = first_;
      unlink(*first_);
    } while (jobs[0]->gathers_ && first_ != nullptr && first_->gathers_ && count < kMostTogether);
    const bool others_wait = first_ != nullptr && first_->gathers_;
    lock.unlock();
    if (others_wait) wake();
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
