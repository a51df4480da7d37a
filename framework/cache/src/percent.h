// Decoding shared by path.cpp and query.cpp: percent escapes and the check that text is UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace larder::cache::detail {

// -1 when the byte is no hexadecimal digit.
constexpr int hexValue(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const unsigned char lower = c | 0x20;
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return -1;
}

// The byte that the escape at text[at] == '%' stands for, or -1 when it is malformed.
constexpr int escapedByte(std::string_view text, std::size_t at) {
  if (text.size() - at < 3) return -1;
  const int high = hexValue(static_cast<unsigned char>(text[at + 1]));
  const int low = hexValue(static_cast<unsigned char>(text[at + 2]));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Well-formed UTF-8 as in table 3-7 of the Unicode standard: no overlong form, no surrogate,
// nothing past U+10FFFF.
inline bool isUtf8(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + i, 8);
      if ((word & 0x8080808080808080U) == 0) {
        i += 8;
        continue;
      }
    }
    const unsigned first = byte(i);
    if (first < 0x80) {
      i += 1;
    } else if (first >= 0xC2 && first <= 0xDF) {
      if (!within(i + 1, 0x80, 0xBF)) return false;
      i += 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
      const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
      const unsigned high = first == 0xED ? 0x9F : 0xBF;
      if (!within(i + 1, low, high) || !within(i + 2, 0x80, 0xBF)) return false;
      i += 3;
    } else if (first >= 0xF0 && first <= 0xF4) {
      const unsigned low = first == 0xF0 ? 0x90 : 0x80;
      const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
      if (!within(i + 1, low, high) || !within(i + 2, 0x80, 0xBF) || !within(i + 3, 0x80, 0xBF)) {
        return false;
      }
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace larder::cache::detail
