// EnvelopeCache: any store of bytes as a cache of entries. It gives every shared store the same
// wire keys, format, key check, checksum, compression, MAC, splitting and size limits, and believes
// nothing that comes back.
//
//   EnvelopeCache cache(std::move(store), clock,
//                       {.prefix = "larder:", .name_space = "site-id /path shared"},
//                       [](Page& page) { return finish(page); });
//
// Wire key: the prefix, then 22 characters (RFC 4648, base64url) of a 128-bit hash over name space
// and key digest. No byte of a request reaches it; two sites, two managers and two prefixes never
// meet.
//
// Wire value, numbers of the head little-endian:
//
//   offset size
//        0    4  magic "LRDE"
//        4    1  version of the format: 1
//        5    1  flags: 1 the body is a zstd frame with its content size, 2 a MAC is present,
//                4 the body is a list of parts
//        6    2  zero
//        8    8  checksum: XXH3-64 of everything behind it (a MAC, too), seeded with bytes 0-7 read
//                as a number
//       16   16  MAC, only with flag 2: BLAKE2b with a 16-byte result over the hash of the name
//                space (16 bytes), bytes 0-7 and the body as sent; its key is the 32-byte BLAKE2b
//                of the secret keyed with "larder envelope 1"
//   16 / 32      body
//
//   body: a MessagePack array of 14
//        0 key (bin)             1 as_of             2 era            3 schema hash
//        4 created, wall clock, ms since 1970
//        5 fresh, 6 stale, 7 error: milliseconds from creation on; 2^63 - 1 is for ever
//        8 cost, us              9 private (bool)   10 scope names, one a line (str)
//       11 inputs (array of str) 12 kind: 0 document, 1 page        13 value, see codec.h
//   body with flag 4: a MessagePack array of 3: size of the whole, size of a part, id (bin 16). The
//        parts lie under keys made of name space, digest, id and number; put together they are an
//        envelope of their own. Any gap is a miss.
//
// Scope ids are computed from the names, times become points of this process's monotonic clock with
// an age of at least 0. What does not fit is a counted miss: other_key, damaged, old_format,
// expired, too_large.
//
// Thread-safe. Keeps the store; the clock must outlive it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "larder/cache.h"
#include "larder/cache/lease.h"
#include "larder/clock.h"
#include "larder/result.h"
#include "larder/servers.h"
#include "larder/settings.h"

namespace larder {

struct EnvelopeOptions {
  /// Printable ASCII without blanks, at most kMaxPrefix bytes.
  std::string prefix = "larder:";
  /// What tells this manager from all others on any server: site, path, id. Never sent.
  std::string name_space = {};
  /// Not empty: entries carry a MAC, and those without the right one are misses.
  std::string secret = {};
  /// Bodies of more bytes are compressed, and kept so if that made them smaller.
  std::size_t compress_above = std::size_t{32} << 10U;
  /// Bytes of an entry before compression; larger ones are neither stored nor believed.
  std::size_t max_value = std::size_t{16} << 20U;
  /// Split what is larger than the store's limit instead of refusing it.
  bool chunk = false;

  static constexpr std::size_t kMaxPrefix = 128;
};

/// The settings that a manager over any byte store has beside the plugin's own.
[[nodiscard]] std::span<const SettingSpec> envelopeSettings() noexcept;
/// `settings` were read with a schema that holds envelopeSettings().
[[nodiscard]] EnvelopeOptions envelopeOptions(const Settings& settings, std::string name_space);

class EnvelopeFormat;

class EnvelopeCache final : public Cache, public ServerList, public LeaseStore {
 public:
  /// Completes a page that was read: derived fields such as its header lines. Fails for one that
  /// cannot be sent: it is damaged.
  using Finish = std::function<Result<>(Page&)>;
  /// Told why a value could not be encoded.
  using Log = std::function<void(std::string_view)>;

  /// Throws std::invalid_argument for a prefix that no store could take.
  EnvelopeCache(std::shared_ptr<ByteCache> store, const Clock& clock, EnvelopeOptions options,
                Finish finish = {}, Log log = {});
  ~EnvelopeCache() override;

  Lookup get(const CacheKey& key, Deadline deadline) noexcept override;
  void getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
               Deadline deadline) noexcept override;
  /// Lives in the store as long as its lifetime goes on. A value that cannot be encoded gives
  /// Reason::unsupported.
  Stored put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept override;
  Stored erase(const CacheKey& key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  /// The store's, and the counters of what the envelope refused.
  [[nodiscard]] Stats stats() const noexcept override;
  [[nodiscard]] Health health() const noexcept override { return store_->health(); }
  /// The store's, if it has any.
  std::vector<ServerReport> servers(Deadline deadline) noexcept override;

  /// Leases lie apart from the values (L24). `token` tells one leader from the next; `ttl` is at
  /// least kMinLease. Reason::exists: somebody else leads.
  static constexpr Millis kMinLease = 2000;
  Stored lease(const CacheKey& key, std::string_view token, Millis ttl,
               Deadline deadline) noexcept override;
  Stored endLease(const CacheKey& key, std::string_view token, Deadline deadline) noexcept override;

 private:
  struct WireKey {
    std::array<char, EnvelopeOptions::kMaxPrefix + 22> chars;
    std::size_t size = 0;
    [[nodiscard]] std::string_view view() const noexcept { return {chars.data(), size}; }
  };
  /// What lies under a wire key.
  enum class Use : std::uint8_t { value, part, lease };
  struct Counters {
    std::atomic<std::uint64_t> other_key{0}, damaged{0}, old_format{0}, expired{0}, too_large{0},
        unencodable{0}, incomplete{0}, compressed{0}, split{0};
  };

  [[nodiscard]] WireKey wireKey(const Digest& digest, Use use, const Digest& id = {},
                                std::uint64_t number = 0) const noexcept;
  [[nodiscard]] Lookup open(const CacheKey& key, std::string_view wire_key, ByteLookup&& found,
                            Deadline deadline) noexcept;
  [[nodiscard]] ByteLookup gather(const CacheKey& key, std::string_view list,
                                  Deadline deadline) noexcept;
  [[nodiscard]] Stored split(const CacheKey& key, std::string_view envelope, std::size_t part_size,
                             Millis ttl, Deadline deadline) noexcept;
  [[nodiscard]] Stored refuse(std::string_view wire_key, Reason reason, Deadline deadline) noexcept;
  void count(Reason reason) noexcept;

  std::shared_ptr<ByteCache> store_;
  const Clock& clock_;
  const EnvelopeOptions options_;
  const Digest name_space_;
  const std::unique_ptr<EnvelopeFormat> format_;
  Finish finish_;
  Log log_;
  Counters counters_;
};

}  // namespace larder
