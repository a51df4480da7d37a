#include "control_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace larder::server {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMostBytes = 256U * 1024 * 1024;

/// False when there is none by the deadline.
bool waitForRoom(int socket, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  constexpr milliseconds kSlice(60'000);
  pollfd room{.fd = socket, .events = POLLOUT, .revents = 0};
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return false;
    const auto slice = std::min(std::chrono::ceil<milliseconds>(deadline - now), kSlice);
    if (::poll(&room, 1, static_cast<int>(slice.count())) > 0) return true;
  }
}

}  // namespace

ControlChannel::ControlChannel(int socket, Callbacks callbacks)
    : socket_(socket), callbacks_(std::move(callbacks)), reader_([this] { read(); }) {}

ControlChannel::~ControlChannel() {
  ::shutdown(socket_, SHUT_RDWR);
  reader_.join();
  ::close(socket_);
}

Result<json> ControlChannel::ask(json question, Millis patience) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
    waiting_.emplace(number, std::nullopt);
  }
  question["ask"] = number;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience);
  const Sent sent = send(question, deadline);
  std::unique_lock lock(mutex_);
  const auto has_answer = [&] { return closed_ || waiting_.at(number).has_value(); };
  if (sent == Sent::all) answered_.wait_until(lock, deadline, has_answer);
  std::optional<json> answer = std::move(waiting_.at(number));
  waiting_.erase(number);
  if (answer) return std::move(*answer);
  return Error{closed_ || sent == Sent::gone ? "it has ended" : "it does not answer"};
}

bool ControlChannel::tell(const json& event) {
  return send(event, Deadline::max()) == Sent::all;
}

ControlChannel::Sent ControlChannel::send(const json& frame, Deadline deadline) {
  std::string text(sizeof(std::uint32_t), '\0');
  text += frame.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto size = static_cast<std::uint32_t>(text.size() - sizeof(std::uint32_t));
  std::memcpy(text.data(), &size, sizeof size);
  std::unique_lock lock(write_mutex_, std::defer_lock);
  if (deadline == Deadline::max())
    lock.lock();
  else if (!lock.try_lock_until(deadline))
    return Sent::late;
  if (const Sent earlier = sendUnsent(deadline); earlier != Sent::all) return earlier;
  const std::size_t whole = text.size();
  unsent_ = std::move(text);
  const Sent sent = sendUnsent(deadline);
  // Of a frame that has begun, the rest goes out before the next one.
  if (unsent_.size() == whole) unsent_.clear();
  return sent;
}

ControlChannel::Sent ControlChannel::sendUnsent(Deadline deadline) {
  std::size_t done = 0;
  Sent sent = Sent::all;
  while (done < unsent_.size()) {
    const auto written =
        ::send(socket_, unsent_.data() + done, unsent_.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {
      if (!waitForRoom(socket_, deadline)) {
        sent = Sent::late;
        break;
      }
    } else if (written == 0 || errno != EINTR) {
      sent = Sent::gone;
      break;
    }
  }
  unsent_.erase(0, done);
  return sent;
}

bool ControlChannel::readExactly(void* into, std::size_t size) const {
  for (std::size_t done = 0; done < size;) {
    const auto count = ::recv(socket_, static_cast<char*>(into) + done, size - done, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void ControlChannel::read() {
  std::uint32_t size = 0;
  std::string text;
  while (readExactly(&size, sizeof size) && size <= kMostBytes) {
    text.resize(size);
    if (!readExactly(text.data(), size)) break;
    json frame = json::parse(text, nullptr, false);
    if (!frame.is_object() || !dispatch(std::move(frame))) break;
  }
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  answered_.notify_all();
  if (callbacks_.closed) callbacks_.closed();
}

bool ControlChannel::dispatch(json frame) {
  if (const auto asked = frame.find("ask"); asked != frame.end()) {
    json answer = callbacks_.answer ? callbacks_.answer(frame) : json::object();
    answer["answer"] = *asked;
    return tell(answer);
  }
  const auto answer = frame.find("answer");
  if (answer == frame.end()) {
    if (callbacks_.event) callbacks_.event(frame);
    return true;
  }
  if (!answer->is_number_unsigned()) return false;
  const std::lock_guard lock(mutex_);
  // One that nobody waits for any longer came too late.
  if (const auto waiting = waiting_.find(answer->get<std::uint64_t>()); waiting != waiting_.end())
    waiting->second = std::move(frame);
  answered_.notify_all();
  return true;
}

}  // namespace larder::server
