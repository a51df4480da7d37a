#include "control_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

namespace larder::server {
namespace {

using nlohmann::json;

constexpr std::uint32_t kMostBytes = 256U * 1024 * 1024;

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
  const bool sent = tell(question);
  std::unique_lock lock(mutex_);
  const auto has_answer = [&] { return closed_ || waiting_.at(number).has_value(); };
  if (sent) answered_.wait_for(lock, std::chrono::milliseconds(patience), has_answer);
  std::optional<json> answer = std::move(waiting_.at(number));
  waiting_.erase(number);
  if (answer) return std::move(*answer);
  return Error{closed_ || !sent ? "it has ended" : "it does not answer"};
}

bool ControlChannel::tell(const json& event) {
  std::string frame(sizeof(std::uint32_t), '\0');
  frame += event.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto size = static_cast<std::uint32_t>(frame.size() - sizeof(std::uint32_t));
  std::memcpy(frame.data(), &size, sizeof size);
  const std::lock_guard lock(write_mutex_);
  for (std::size_t done = 0; done < frame.size();) {
    const auto written = ::send(socket_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
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
