#include "get_reply.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace larder::memcached {

namespace {

constexpr std::size_t kLineEnd = 2;

/// Takes the text up to the next blank, and the blank.
std::string_view nextWord(std::string_view& line) noexcept {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// A decimal number without a sign.
template <class T>
bool readNumber(std::string_view word, T& number) noexcept {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return !word.empty() && error == std::errc() && end == word.data() + word.size();
}

}  // namespace

GetReply::State GetReply::receive(Connection& connection, Connection::Arrived::State& arrived) {
  std::span<char> direct;
  if (value_ && connection.received().empty()) {
    direct = {value_.get() + filled_, size_ + kLineEnd - filled_};
  }
  const auto got = connection.receive(direct);
  arrived = got.state;
  if (arrived == Connection::Arrived::State::some) begun_ = true;
  filled_ += got.direct;
  return advance(connection);
}

GetReply::State GetReply::advance(Connection& connection) {
  for (;;) {
    const std::string_view received = connection.received();
    if (value_) {
      const std::size_t part = std::min(received.size(), size_ + kLineEnd - filled_);
      std::memcpy(value_.get() + filled_, received.data(), part);
      connection.consume(part);
      filled_ += part;
      if (filled_ < size_ + kLineEnd) return State::unfinished;
      if (!endValue()) return State::nonsense;
      continue;
    }
    const auto end = received.find('\n');
    if (end == std::string_view::npos) {
      return received.size() > Connection::kMaxLine ? State::nonsense : State::unfinished;
    }
    if (end == 0 || received[end - 1] != '\r') return State::nonsense;
    const std::string_view line = received.substr(0, end - 1);
    if (line == "END") {
      connection.consume(end + 1);
      return connection.received().empty() ? State::finished : State::nonsense;
    }
    if (!beginValue(line)) return State::nonsense;
    connection.consume(end + 1);
  }
}

bool GetReply::beginValue(std::string_view line) {
  if (nextWord(line) != "VALUE") return false;
  const std::string_view key = nextWord(line);
  const auto asked =
      std::find(keys_.begin() + static_cast<std::ptrdiff_t>(next_), keys_.end(), key);
  if (asked == keys_.end()) return false;
  const std::string_view flags = nextWord(line);
  if (!readNumber(flags, flags_) || !readNumber(line, size_) || size_ > max_value_) return false;
  next_ = static_cast<std::size_t>(asked - keys_.begin());
  value_ = std::make_shared_for_overwrite<char[]>(size_ + kLineEnd);
  filled_ = 0;
  return true;
}

bool GetReply::endValue() {
  if (std::memcmp(value_.get() + size_, "\r\n", kLineEnd) != 0) return false;
  ByteLookup& answer = answers_[next_++];
  bytes_ += size_;
  if (flags_ != 0) {
    answer = {Status::miss, {}, Reason::damaged};  // stored by somebody else
    value_.reset();
    return true;
  }
  const std::string_view data(value_.get(), size_);
  answer = {Status::hit, {std::move(value_), data}, Reason::none};
  ++hits_;
  return true;
}

}  // namespace larder::memcached
