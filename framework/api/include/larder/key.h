// CacheKey: the canonical bytes that name a result, and their digest. Bytes are the truth, the
// digest only finds: a stored entry whose key bytes differ from the asked ones is a miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larder {

/// 128 bits of XXH3 over the key bytes; the same in every process and version.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

struct DigestHash {
  std::size_t operator()(const Digest& d) const noexcept { return static_cast<std::size_t>(d.low); }
};

/// Borrows its bytes. `partition` groups keys for share accounting and is opaque to plugins.
struct CacheKey {
  std::string_view bytes;
  Digest digest;
  std::uint32_t partition = 0;
};

/// Digest of any bytes (XXH3-128, unseeded).
[[nodiscard]] Digest digestOf(std::string_view bytes) noexcept;
/// 64 bits of XXH3, unseeded: scope ids, content hashes of small things.
[[nodiscard]] std::uint64_t hash64(std::string_view bytes) noexcept;

}  // namespace larder
