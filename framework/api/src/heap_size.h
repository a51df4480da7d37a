// What blocks on the heap cost with glibc's malloc: 8 bytes of bookkeeping, rounded up to 16, 32 at
// least. Blocks of 128 KiB and more may get pages of their own; that rounding is below 4 %.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace larder {

constexpr std::size_t heapBytes(std::size_t asked) noexcept {
  return asked == 0 ? 0 : std::max<std::size_t>((asked + 8 + 15) / 16 * 16, 32);
}

/// A string that fits into its object has no block.
inline std::size_t heapBytes(const std::string& text) noexcept {
  static const std::size_t kInPlace = std::string().capacity();
  return text.capacity() > kInPlace ? heapBytes(text.capacity() + 1) : 0;
}

template <class T>
std::size_t heapBytes(const std::vector<T>& items) noexcept {
  return heapBytes(items.capacity() * sizeof(T));
}

}  // namespace larder
