#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

#include "larder/http/poller.h"

namespace larder::http {
namespace {

constexpr std::uint64_t kWakeToken = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kEventsPerWait = 256;

class Descriptor {
 public:
  Descriptor(int fd, const char* what) : fd_(fd) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

epoll_event toEpoll(Poller::Interest interest, std::uint64_t token) noexcept {
  epoll_event event{};
  if (interest.read) event.events |= EPOLLIN;
  if (interest.write) event.events |= EPOLLOUT;
  if (interest.exclusive) event.events |= EPOLLEXCLUSIVE;
  event.data.u64 = token;
  return event;
}

class EpollPoller final : public Poller {
 public:
  EpollPoller()
      : epoll_(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1"),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd") {
    if (!add(wake_.get(), {.read = true}, kWakeToken)) {
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    }
  }

  bool add(int fd, Interest interest, std::uint64_t token) noexcept override {
    epoll_event event = toEpoll(interest, token);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  void modify(int fd, Interest interest, std::uint64_t token) noexcept override {
    epoll_event event = toEpoll(interest, token);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }

  void remove(int fd) noexcept override { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  std::span<const Event> wait(int timeout_ms) noexcept override {
    const int count =
        ::epoll_wait(epoll_.get(), raw_.data(), static_cast<int>(raw_.size()), timeout_ms);
    std::size_t kept = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& raw = raw_[static_cast<std::size_t>(i)];
      if (raw.data.u64 == kWakeToken) {
        std::uint64_t times = 0;
        // Fails only when another wait() has taken the wake-up already.
        [[maybe_unused]] const auto taken = ::read(wake_.get(), &times, sizeof times);
        continue;
      }
      Event& event = events_[kept++];
      event.token = raw.data.u64;
      event.readable = (raw.events & EPOLLIN) != 0;
      event.writable = (raw.events & EPOLLOUT) != 0;
      event.hangup = (raw.events & (EPOLLHUP | EPOLLERR)) != 0;
    }
    return {events_.data(), kept};
  }

  void wakeUp() noexcept override {
    const std::uint64_t once = 1;
    // Fails only when 2^64 - 2 wake-ups are pending, which wakes as well.
    [[maybe_unused]] const auto written = ::write(wake_.get(), &once, sizeof once);
  }

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::array<epoll_event, kEventsPerWait> raw_{};
  std::array<Event, kEventsPerWait> events_{};
};

}  // namespace

std::unique_ptr<Poller> makeEpollPoller() {
  return std::make_unique<EpollPoller>();
}

}  // namespace larder::http
