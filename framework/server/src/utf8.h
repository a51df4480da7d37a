// UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <Poco/UTF8Encoding.h>

#include <cstddef>
#include <optional>
#include <string_view>

namespace larder::server {

/// Bytes of the character that `text` begins with; 0 if it is none. `text` is not empty.
inline std::size_t utf8Length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length > text.size()) return 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  return Poco::UTF8Encoding::isLegal(bytes, static_cast<int>(length)) ? length : 0;
}

/// Where the text is not UTF-8; nothing if it is.
inline std::optional<std::size_t> findNonUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8Length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace larder::server
