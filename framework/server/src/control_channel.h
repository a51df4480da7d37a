// ControlChannel: how the supervisor and a worker talk: over a socket pair that the worker
// inherits, so that nothing else can reach it and each side notices at once that the other is gone.
//
//   frame: length of the text as 4 bytes, host order; JSON text
//   {"ask": 7, ...} is answered by {"answer": 7, ...}; a frame without either is an event
//
// Each end has one thread that reads. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "larder/clock.h"
#include "larder/result.h"

namespace larder::server {

class ControlChannel {
 public:
  struct Callbacks {
    /// Called on the reading thread; the result is the answer.
    std::function<nlohmann::json(const nlohmann::json& question)> answer = {};
    std::function<void(const nlohmann::json& event)> event = {};
    /// The other end is gone. The last call.
    std::function<void()> closed = {};
  };
  /// Owns the socket.
  ControlChannel(int socket, Callbacks callbacks);
  /// Waits for a callback that runs.
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  /// The answer, or an error when the other end is gone or does not answer in `patience` ms of real
  /// time.
  [[nodiscard]] Result<nlohmann::json> ask(nlohmann::json question, Millis patience);
  /// Waits for as long as the other end does not read. False when it is gone.
  bool tell(const nlohmann::json& event);

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Sent : std::uint8_t { all, late, gone };
  Sent send(const nlohmann::json& frame, Deadline deadline);
  Sent sendUnsent(Deadline deadline);
  void read();
  bool readExactly(void* into, std::size_t size) const;
  bool dispatch(nlohmann::json frame);

  const int socket_;
  const Callbacks callbacks_;
  std::timed_mutex write_mutex_;
  std::string unsent_;  // the rest of a frame whose sender did not wait
  std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t next_ = 1;
  bool closed_ = false;
  std::map<std::uint64_t, std::optional<nlohmann::json>> waiting_;
  std::thread reader_;
};

}  // namespace larder::server
