#include "larder/value.h"

#include <algorithm>

#include "heap_size.h"

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
  constexpr std::size_t kShared = 16;  // what make_shared puts before the object
  std::size_t n = heapBytes(sizeof(Page) + kShared) + heapBytes(body) + heapBytes(gzip) +
                  heapBytes(etag) + heapBytes(head) + heapBytes(gzip_head) + heapBytes(headers);
  for (const auto& h : headers) n += heapBytes(h.name) + heapBytes(h.value);
  return n;
}

}  // namespace larder
