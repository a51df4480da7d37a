// NameList: a list of texts packed into one run of bytes: each its length (LEB128), then its bytes.
//
//   for (std::string_view name : entry->inputs()) ...
//
// A view: whoever holds the bytes keeps them alive and unchanged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace larder {

class NameList {
 public:
  using value_type = std::string_view;

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    const_iterator() noexcept = default;
    explicit const_iterator(const char* at) noexcept : at_(at) {}
    std::string_view operator*() const noexcept {
      const char* text = at_;
      const std::size_t size = readSize(text);
      return {text, size};
    }
    const_iterator& operator++() noexcept {
      const auto name = **this;
      at_ = name.data() + name.size();
      return *this;
    }
    const_iterator operator++(int) noexcept {
      auto before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    static std::size_t readSize(const char*& at) noexcept {
      std::size_t size = 0;
      for (unsigned shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(*at++);
        size |= std::size_t{byte & 0x7FU} << shift;
        if (byte < 0x80) return size;
      }
    }
    const char* at_ = nullptr;
  };
  using iterator = const_iterator;

  NameList() noexcept = default;
  /// Bytes that write() made.
  explicit NameList(std::string_view packed) noexcept : packed_(packed) {}

  [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(packed_.data()); }
  [[nodiscard]] const_iterator end() const noexcept {
    return const_iterator(packed_.data() + packed_.size());
  }
  [[nodiscard]] bool empty() const noexcept { return packed_.empty(); }
  /// Counts them.
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(std::distance(begin(), end()));
  }
  friend bool operator==(const NameList& a, const NameList& b) noexcept {
    return a.packed_ == b.packed_;
  }

  /// Bytes that write() needs.
  static std::size_t bytesFor(std::span<const std::string> names) noexcept {
    std::size_t n = 0;
    for (const auto& name : names) {
      n += 1 + name.size();
      for (auto rest = name.size() >> 7U; rest != 0; rest >>= 7U) ++n;
    }
    return n;
  }
  /// Returns the end of what it wrote.
  static char* write(std::span<const std::string> names, char* to) noexcept {
    for (const auto& name : names) {
      auto rest = name.size();
      for (; rest >= 0x80; rest >>= 7U) *to++ = static_cast<char>((rest & 0x7FU) | 0x80U);
      *to++ = static_cast<char>(rest);
      to = std::copy(name.begin(), name.end(), to);
    }
    return to;
  }

 private:
  std::string_view packed_;
};

}  // namespace larder
