#include "writer_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "larder/site/store.h"

namespace larder::site {

namespace {

using SteadyClock = std::chrono::steady_clock;

// Locked bytes lie far behind the note.
constexpr off_t kTurnstile = 1 << 20;
constexpr off_t kWriter = kTurnstile + 1;
constexpr off_t kPresence = kTurnstile + 2;

bool tryLock(int descriptor, short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  while (fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "the writer's lock");
  }
  return true;
}

void unlock(int descriptor, off_t byte) noexcept {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  fcntl(descriptor, F_OFD_SETLK, &lock);
}

// The kernel offers no wait with a time limit. The holder is usually done within 0.1 ms.
bool waitFor(int descriptor, off_t byte, SteadyClock::time_point until) {
  auto pause = std::chrono::microseconds(20);
  while (!tryLock(descriptor, F_WRLCK, byte)) {
    if (SteadyClock::now() >= until) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(500));
  }
  return true;
}

}  // namespace

WriterLock::WriterLock(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0660)) {
  if (descriptor_ < 0) {
    throw StoreError(file_.string() + ": " + std::generic_category().message(errno) +
                     "; the data folder must be writable for the user that runs the server");
  }
}

WriterLock::~WriterLock() {
  close(descriptor_);
}

std::optional<WriterLock::Held> WriterLock::acquire(Millis patience) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(patience);
  {
    std::unique_lock lock(mutex_);
    if (!free_.wait_until(lock, until, [this] { return !held_; })) return {};
    held_ = true;
  }
  try {
    if (waitFor(descriptor_, kTurnstile, until)) {
      const bool locked = waitFor(descriptor_, kWriter, until);
      unlock(descriptor_, kTurnstile);
      if (locked) return Held(*this);
    }
  } catch (...) {
    unlock(descriptor_, kTurnstile);
    letNext();
    throw;
  }
  letNext();
  return {};
}

void WriterLock::release() noexcept {
  unlock(descriptor_, kWriter);
  letNext();
}

void WriterLock::letNext() noexcept {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  free_.notify_one();
}

bool WriterLock::enterAlone() {
  const bool alone = tryLock(descriptor_, F_WRLCK, kPresence);
  tryLock(descriptor_, F_RDLCK, kPresence);
  entered_ = true;
  return alone;
}

bool WriterLock::alone() {
  const bool alone = tryLock(descriptor_, F_WRLCK, kPresence);
  if (alone) tryLock(descriptor_, F_RDLCK, kPresence);
  return alone;
}

std::size_t WriterLock::readNote(std::span<std::byte> note) {
  const auto size = pread(descriptor_, note.data(), note.size(), 0);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

bool WriterLock::writeNote(std::span<const std::byte> note) noexcept {
  return pwrite(descriptor_, note.data(), note.size(), 0) == static_cast<ssize_t>(note.size());
}

bool WriterLock::moved() const noexcept {
  struct stat here {};
  struct stat there {};
  return fstat(descriptor_, &here) != 0 || stat(file_.c_str(), &there) != 0 ||
         here.st_ino != there.st_ino || here.st_dev != there.st_dev;
}

}  // namespace larder::site
