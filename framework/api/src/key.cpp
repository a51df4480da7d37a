#include "larder/key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace larder {

Digest digestOf(std::string_view bytes) noexcept {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

std::uint64_t hash64(std::string_view bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace larder
