#include "larder/view.h"

#include <array>

namespace larder {
namespace {

// pchar and "/" of RFC 3986: what stands in a path as it is.
constexpr std::array<bool, 256> makePathBytes() {
  std::array<bool, 256> plain{};
  for (unsigned c = '0'; c <= '9'; ++c) plain[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) plain[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c) plain[c] = true;
  for (const char c : std::string_view("-._~!$&'()*+,;=:@/"))
    plain[static_cast<unsigned char>(c)] = true;
  return plain;
}
constexpr std::array<bool, 256> kPathBytes = makePathBytes();

}  // namespace

std::string urlPath(std::string_view canonical) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(canonical.size());
  for (const char c : canonical) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPathBytes[byte]) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(digits[byte >> 4]);
      out.push_back(digits[byte & 15]);
    }
  }
  return out;
}

}  // namespace larder
