#include "larder/http/chunked.h"

#include <algorithm>

#include "chars.h"

namespace larder::http {
namespace {

constexpr std::size_t kSizeDigits = 16;

unsigned digitOf(char c) {
  return static_cast<unsigned>(detail::isDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

}  // namespace

ParseStatus ChunkedDecoder::fail(int status, std::string_view reason) noexcept {
  failure_ = {status, reason};
  return ParseStatus::failed;
}

ParseStatus ChunkedDecoder::takeLine(std::string_view bytes, std::size_t& used, std::size_t limit,
                                     int status, std::string_view& line) {
  if (line_taken_) {
    pending_.clear();
    line_taken_ = false;
  }
  const std::string_view rest = bytes.substr(used);
  const std::size_t feed = rest.find('\n');
  const std::size_t size = std::min(feed, rest.size());
  if (pending_.size() + size > limit) return fail(status, "a line of the body is too long");
  if (feed == std::string_view::npos) {
    pending_.append(rest);
    used = bytes.size();
    return ParseStatus::incomplete;
  }
  used += feed + 1;
  line = rest.substr(0, feed);
  if (!pending_.empty()) {
    pending_.append(line);
    line = pending_;
    line_taken_ = true;
  }
  if (!line.ends_with('\r')) return fail(400, "a line that ends without a carriage return");
  line.remove_suffix(1);
  return ParseStatus::complete;
}

bool ChunkedDecoder::readSizeLine(std::string_view line) {
  std::size_t digits = 0;
  std::uint64_t size = 0;
  while (digits < line.size() && detail::isHexDigit(line[digits])) {
    if (digits == kSizeDigits) break;
    size = size * 16 + digitOf(line[digits]);
    ++digits;
  }
  const std::string_view extensions = line.substr(digits);
  if (!extensions.empty()) {
    // White space may stand before an extension's semicolon, and nowhere else.
    const std::size_t semicolon = extensions.find_first_not_of(" \t");
    if (semicolon == std::string_view::npos || extensions[semicolon] != ';' ||
        !detail::isFieldContent(extensions)) {
      fail(400, "a malformed chunk size");
      return false;
    }
  }
  if (digits == 0) {
    fail(400, "a malformed chunk size");
    return false;
  }
  extensions_ += extensions.size();
  if (extensions_ > kExtensionsLimit) {
    fail(400, "too many chunk extensions");
    return false;
  }
  // total_ never exceeds the limit, so this cannot wrap.
  if (size > body_limit_ - total_) {
    fail(413, "the body is larger than the limit");
    return false;
  }
  total_ += size;
  remaining_ = size;
  state_ = size == 0 ? State::trailers : State::data;
  return true;
}

ParseStatus ChunkedDecoder::decode(std::string_view bytes, std::string& body, std::size_t& used) {
  used = 0;
  std::string_view line;
  for (;;) {
    switch (state_) {
      case State::size_line: {
        const ParseStatus status = takeLine(bytes, used, kSizeLineLimit, 400, line);
        if (status != ParseStatus::complete) return status;
        if (!readSizeLine(line)) return ParseStatus::failed;
        break;
      }
      case State::data: {
        const std::size_t take =
            static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size() - used));
        body.append(bytes, used, take);
        used += take;
        remaining_ -= take;
        if (remaining_ > 0) return ParseStatus::incomplete;
        state_ = State::data_cr;
        break;
      }
      case State::data_cr:
      case State::data_lf: {
        if (used == bytes.size()) return ParseStatus::incomplete;
        const bool first = state_ == State::data_cr;
        if (bytes[used] != (first ? '\r' : '\n'))
          return fail(400, "a chunk is longer than its size");
        ++used;
        state_ = first ? State::data_lf : State::size_line;
        break;
      }
      case State::trailers: {
        const std::size_t room = kTrailersLimit - trailers_;
        const ParseStatus status = takeLine(bytes, used, room, 431, line);
        if (status != ParseStatus::complete) return status;
        if (line.empty()) return ParseStatus::complete;
        trailers_ += line.size();
        std::string_view name;
        std::string_view value;
        if (const std::string_view problem = splitField(line, name, value); !problem.empty()) {
          return fail(400, problem);
        }
        break;
      }
    }
  }
}

}  // namespace larder::http
