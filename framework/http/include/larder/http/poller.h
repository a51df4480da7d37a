// Poller: waits until descriptors can be read or written, or another thread wants attention.
//
//   auto poller = makeEpollPoller();
//   poller->add(fd, {.read = true}, token);
//   for (const Poller::Event& event : poller->wait(1000)) ...
//
// Level-triggered: what is not dealt with is reported again. A descriptor that is closed leaves by
// itself. wakeUp() is safe from any thread, all else belongs to one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace larder::http {

class Poller {
 public:
  struct Interest {
    bool read = false;
    bool write = false;
    /// One descriptor watched by several pollers: one of them is woken, not all. Cannot be
    /// modified.
    bool exclusive = false;
    friend bool operator==(const Interest&, const Interest&) = default;
  };
  struct Event {
    std::uint64_t token = 0;
    bool readable = false;  ///< data, a new connection, or the end of the stream
    bool writable = false;
    bool hangup = false;  ///< reset, or closed in both directions; reported without being asked for
  };

  virtual ~Poller() = default;
  /// False when the system has no room for another one.
  virtual bool add(int fd, Interest interest, std::uint64_t token) noexcept = 0;
  virtual void modify(int fd, Interest interest, std::uint64_t token) noexcept = 0;
  virtual void remove(int fd) noexcept = 0;
  /// Waits at most `timeout_ms` (negative: for ever). Empty after a time-out, a wake-up alone, or a
  /// signal. The events are valid until the next call.
  virtual std::span<const Event> wait(int timeout_ms) noexcept = 0;
  /// Makes the current or the next wait() return.
  virtual void wakeUp() noexcept = 0;
};

/// Throws std::system_error when the process has no descriptor left.
[[nodiscard]] std::unique_ptr<Poller> makeEpollPoller();

}  // namespace larder::http
