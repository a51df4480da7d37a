#include "signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace larder::server {
namespace {

sigset_t handled() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGCHLD}) ::sigaddset(&set, number);
  return set;
}

}  // namespace

void blockSignals() {
  const sigset_t set = handled();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

Signals::Signals() {
  const sigset_t set = handled();
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  wakes_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || wakes_ < 0) throw std::system_error(errno, std::generic_category());
}

Signals::~Signals() {
  ::close(signals_);
  ::close(wakes_);
}

std::optional<int> Signals::wait(Millis patience) {
  std::array<pollfd, 2> watched = {{{.fd = signals_, .events = POLLIN, .revents = 0},
                                    {.fd = wakes_, .events = POLLIN, .revents = 0}}};
  constexpr Millis kDay = 24L * 3600 * 1000;
  if (::poll(watched.data(), watched.size(),
             static_cast<int>(std::clamp<Millis>(patience, 0, kDay))) <= 0)
    return std::nullopt;
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    return static_cast<int>(info.ssi_signo);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto drained = ::read(wakes_, &count, sizeof count);
  return std::nullopt;
}

void Signals::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wakes_, &one, sizeof one);
}

}  // namespace larder::server
