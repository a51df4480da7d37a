// Byte classes of RFC 9110 and RFC 3986, and a fast test for field content.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace larder::http::detail {

constexpr std::array<bool, 256> bytesOf(std::string_view punctuation) {
  std::array<bool, 256> set{};
  for (unsigned c = '0'; c <= '9'; ++c) set[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) set[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c) set[c] = true;
  for (const char c : punctuation) set[static_cast<unsigned char>(c)] = true;
  return set;
}

/// RFC 9110, 5.6.2.
inline constexpr std::array<bool, 256> kTokenBytes = bytesOf("!#$%&'*+-.^_`|~");
/// What a registered name holds besides escapes (RFC 3986, 3.2.2).
inline constexpr std::array<bool, 256> kHostBytes = bytesOf("-._~!$&'()*+,;=");

constexpr bool isTokenByte(char c) {
  return kTokenBytes[static_cast<unsigned char>(c)];
}

constexpr bool isToken(std::string_view text) {
  for (const char c : text) {
    if (!isTokenByte(c)) return false;
  }
  return !text.empty();
}

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool isHexDigit(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Field content (RFC 9110, 5.5): no control byte but the tab; bytes past ASCII are let through.
inline bool isFieldContent(std::string_view text) noexcept {
  const char* p = text.data();
  const char* const end = p + text.size();
  const auto good = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
  };
  // Eight bytes at a time: the high bit of a byte is set in `low` when it is below 0x20, and in
  // `del` when it is 0x7F (exact for the lowest such byte, which is enough to ask the slow way).
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  for (; end - p >= 8; p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    const std::uint64_t low = (word - kOnes * 0x20) & ~word & kHighs;
    const std::uint64_t no_del = word ^ (kOnes * 0x7F);
    const std::uint64_t del = (no_del - kOnes) & ~no_del & kHighs;
    if ((low | del) == 0) continue;
    for (int i = 0; i < 8; ++i) {
      if (!good(p[i])) return false;
    }
  }
  for (; p != end; ++p) {
    if (!good(*p)) return false;
  }
  return true;
}

/// Bytes of a request target: visible ASCII but '#', and anything past ASCII.
inline bool isTarget(std::string_view text) noexcept {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F || c == '#') return false;
  }
  return !text.empty();
}

}  // namespace larder::http::detail
