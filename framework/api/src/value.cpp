#include "larder/value.h"

#include <algorithm>

namespace larder {

namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool sameName(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const std::string* Page::header(std::string_view name) const noexcept {
  for (const auto& h : headers) {
    if (sameName(h.name, name)) return &h.value;
  }
  return nullptr;
}

void Page::setHeader(std::string_view name, std::string value) {
  for (auto& h : headers) {
    if (sameName(h.name, name)) {
      h.value = std::move(value);
      return;
    }
  }
  headers.push_back({std::string(name), std::move(value)});
}

std::size_t Page::bytes() const noexcept {
  std::size_t n = sizeof(Page) + body.capacity() + gzip.capacity() + etag.capacity() +
                  head.capacity() + gzip_head.capacity() + headers.capacity() * sizeof(Header);
  for (const auto& h : headers) n += h.name.capacity() + h.value.capacity();
  return n;
}

}  // namespace larder
