#include "larder/cache/compare.h"

#include <algorithm>
#include <utility>

namespace larder {

namespace {

std::pair<std::string_view, std::string_view> partsOf(std::string_view mask) noexcept {
  const auto star = mask.find('*');
  return {mask.substr(0, star), mask.substr(star + 1)};
}

/// A few words around a place, without line ends.
std::string around(std::string_view text, std::size_t at) {
  constexpr std::size_t kBefore = 20;
  constexpr std::size_t kAfter = 40;
  const std::size_t from = at < kBefore ? 0 : at - kBefore;
  std::string words(text.substr(from, at - from + kAfter));
  std::ranges::replace_if(
      words, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return "'" + words + "'";
}

std::string differenceOfText(std::string_view stored, std::string_view rendered) {
  if (stored == rendered) return {};
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(stored, rendered).in1 - stored.begin());
  const auto line = 1 + std::ranges::count(stored.substr(0, at), '\n');
  return "line " + std::to_string(line) + ": stored " + around(stored, at) + ", rendered " +
         around(rendered, at);
}

std::string differenceOfHeaders(const HeaderList& stored, const HeaderList& rendered) {
  const auto [a, b] = std::mismatch(stored.begin(), stored.end(), rendered.begin(), rendered.end());
  const auto shown = [](auto at, const HeaderList& headers) {
    if (at == headers.end()) return std::string("none");
    return "'" + std::string((*at).name) + ": " + std::string((*at).value) + "'";
  };
  return "header: stored " + shown(a, stored) + ", rendered " + shown(b, rendered);
}

}  // namespace

Result<> checkMask(std::string_view mask) {
  const auto [before, after] = partsOf(mask);
  if (std::ranges::count(mask, '*') != 1 || before.empty() || after.empty()) {
    return Error{"'" + std::string(mask) +
                 "' must be text with one * in it, as in \"<time>*</time>\""};
  }
  return Done{};
}

std::string masked(std::string_view text, std::span<const std::string> masks) {
  std::string result(text);
  for (const auto& mask : masks) {
    const auto [before, after] = partsOf(mask);
    for (auto at = result.find(before); at != std::string::npos; at = result.find(before, at)) {
      at += before.size();
      const auto end = result.find(after, at);
      if (end == std::string::npos) break;
      result.replace(at, end - at, "*");
      at += 1 + after.size();
    }
  }
  return result;
}

std::string differenceOf(const Value& stored, const Value& rendered,
                         std::span<const std::string> masks) {
  const auto a = stored.page();
  const auto b = rendered.page();
  if (!a && !b)
    return stored.document() == rendered.document() ? std::string() : "the values differ";
  if (!a || !b) return "one of them is a page, the other a value";
  if (a->status != b->status)
    return "status: stored " + std::to_string(a->status) + ", rendered " +
           std::to_string(b->status);
  if (!(a->headers == b->headers)) return differenceOfHeaders(a->headers, b->headers);
  if (a->body == b->body) return {};
  return differenceOfText(masked(a->body, masks), masked(b->body, masks));
}

}  // namespace larder
