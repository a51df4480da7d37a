// WriterLock: one writer at a time across all processes that share a file, checkpoints included.
//
// SQLite before 3.51.3 can lose a write-ahead log that is reset while a second connection
// checkpoints, so every write transaction and every checkpoint holds this lock (L13). It also keeps
// writers from meeting SQLite's busy time-outs.
//
//   WriterLock lock("var/site.lock");
//   if (auto held = lock.acquire(5000)) { ... }
//
// Advisory locks of the open file description (fcntl(2), F_OFD_SETLK), which end with the process
// however it ends. Two bytes are locked: the turnstile is held while waiting for the writer's byte,
// so that a process that writes all the time cannot starve another one.
//
// The file also keeps a short note for the next holder. Thread-safe; not recursive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "larder/clock.h"

namespace larder::site {

class WriterLock {
 public:
  /// Opens or makes the file. Throws StoreError.
  explicit WriterLock(std::filesystem::path file);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

  class Held {
   public:
    explicit Held(WriterLock& lock) noexcept : lock_(&lock) {}
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (lock_) lock_->release();
    }

   private:
    WriterLock* lock_;
  };

  /// Waits up to `patience` ms of real time; nothing when it stayed locked.
  [[nodiscard]] std::optional<Held> acquire(Millis patience);

  // Only while the lock is held:
  /// Makes this one count for others; true if none had entered.
  bool enterAlone();
  /// True if no other one has entered.
  [[nodiscard]] bool alone();
  /// Bytes read.
  [[nodiscard]] std::size_t readNote(std::span<std::byte> note);
  [[nodiscard]] bool writeNote(std::span<const std::byte> note) noexcept;

  [[nodiscard]] bool entered() const noexcept { return entered_; }

  /// The file is another one than the one that is open, or gone.
  [[nodiscard]] bool moved() const noexcept;

 private:
  void release() noexcept;
  void letNext() noexcept;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::atomic<bool> entered_{false};
  // Between the threads of this process: a flag, since ThreadSanitizer does not know timed mutexes.
  std::mutex mutex_;
  std::condition_variable free_;
  bool held_ = false;
};

}  // namespace larder::site
