// What blocks on the heap cost with glibc's malloc: 8 bytes of bookkeeping, rounded up to 16, 32 at
// least. Blocks of 128 KiB and more may get pages of their own; that rounding is below 4 %.
#pragma once

#include <algorithm>
#include <cstddef>

namespace larder {

constexpr std::size_t heapBytes(std::size_t asked) noexcept {
  return asked == 0 ? 0 : std::max<std::size_t>((asked + 8 + 15) / 16 * 16, 32);
}

}  // namespace larder
