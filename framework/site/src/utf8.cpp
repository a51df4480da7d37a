#include "utf8.h"

#include <Poco/UTF8Encoding.h>

namespace larder::site {

std::size_t validUtf8(std::string_view text) noexcept {
  const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = begin + text.size();
  const auto* at = begin;
  while (at < end) {
    if (*at < 0x80) {
      ++at;
      continue;
    }
    // Poco knows the exact table, but has to be kept within the text.
    const int size = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
    if (end - at < size || !Poco::UTF8Encoding::isLegal(at, size)) break;
    at += size;
  }
  return static_cast<std::size_t>(at - begin);
}

}  // namespace larder::site
