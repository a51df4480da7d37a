// The three interfaces that a cache plugin can implement; it offers exactly one of them:
//
//   Cache            an object cache: holds entries in this process (RAMCache)
//   ByteCache        an out-of-process store of bytes (MemcachedManager); the engine wraps it in
//   its envelope, so
//                    that format, key check, compression, MAC and size limits are the same for
//                    every store
//   ResponseManager  sees responses and invalidations, stores nothing itself (httpcache)
//
// A plugin knows nothing of paths, views, tags or validity: the ledger decides those. It may lose
// any entry at any time; it must never return one under another key.
//
// All functions are thread-safe and noexcept. Answers keep hit, miss and error apart: an error is a
// store that could not be asked, and is never reported as a miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/entry.h"
#include "larder/key.h"

namespace larder {

/// A point of the monotonic clock after which the caller does not want to wait any longer. If it is
/// over, the answer is what can be had at once.
using Deadline = Millis;

enum class Status : std::uint8_t { hit, miss, error };

/// Why an answer is a miss or an error, or why something was not stored. Counted by reason.
enum class Reason : std::uint8_t {
  none,
  cold,         ///< nothing under this key
  expired,      ///< past its whole lifetime
  other_key,    ///< same digest, other key bytes
  damaged,      ///< checksum, MAC, format or length wrong
  old_format,   ///< an envelope of an older format version
  too_large,    ///< over the manager's or the store's limit
  full,         ///< refused by admission or by a full store
  exists,       ///< add(): somebody was first
  timeout,      ///< the store did not answer in time
  unreachable,  ///< connection refused or broken
  breaker,      ///< not asked: its breaker is open
  protocol,     ///< the store answered nonsense
  unsupported,  ///< the plugin cannot do this
};
[[nodiscard]] std::string_view reasonName(Reason reason) noexcept;

struct Lookup {
  Status status = Status::miss;
  EntryRef entry;  ///< set iff status is hit
  /// With a hit: why a cache further away could not be asked as well, else none.
  Reason reason = Reason::cold;
  bool near = false;  ///< a hit for which a cache further away was not asked
};

struct Stored {
  bool ok = false;
  /// If ok: why it is not in a cache further away as well, else none.
  Reason reason = Reason::none;
};

/// A name and a number, shown as they are in statistics ("evictions", "bytes").
using Stats = std::vector<std::pair<std::string, std::uint64_t>>;

struct Health {
  bool ok = true;
  std::string detail;  ///< for people: which server, since when, what next
};

class Cache {
 public:
  /// Asked for each entry of a sweep; true removes it. Called without locks that a reader could
  /// wait for.
  using Expendable = std::function<bool(const CacheEntry&)>;
  /// Whether an entry is to be handed out only if there is no other.
  using Over = std::function<bool(const CacheEntry&)>;

  virtual ~Cache() = default;
  virtual Lookup get(const CacheKey& key, Deadline deadline) noexcept = 0;
  /// `out` has the size of `keys`. The default asks one by one.
  virtual void getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
                       Deadline deadline) noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = get(keys[i], deadline);
  }
  /// Stores or replaces. When refused, an older entry of that key is gone all the same.
  virtual Stored put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept = 0;
  virtual Stored erase(const CacheKey& key, Deadline deadline) noexcept = 0;
  /// Frees everything of this instance and nothing else.
  virtual Stored clear(Deadline deadline) noexcept = 0;
  /// Visits at most `budget` entries from where the last sweep stopped; removes the expendable
  /// ones. False when the end was reached (the next call starts anew). Plugins without the
  /// enumerable capability return false.
  virtual bool sweep(const Expendable& expendable, std::size_t budget) noexcept {
    (void)expendable;
    (void)budget;
    return false;
  }
  [[nodiscard]] virtual Stats stats() const noexcept = 0;
  [[nodiscard]] virtual Health health() const noexcept = 0;
  /// As getMany(). A cache over one further away asks that one, in the same round trip, also for
  /// what it holds itself but is `over`.
  virtual void getBehind(std::span<const CacheKey> keys, std::span<Lookup> out, const Over& over,
                         Deadline deadline) noexcept {
    (void)over;
    getMany(keys, out, deadline);
  }
};

/// Bytes kept alive by an owner of any kind.
struct Buffer {
  std::shared_ptr<const void> owner;
  std::string_view data;
};

struct ByteLookup {
  Status status = Status::miss;
  Buffer value;  ///< set iff status is hit
  Reason reason = Reason::cold;
};

class ByteCache {
 public:
  virtual ~ByteCache() = default;
  /// Keys are printable ASCII without blanks, at most 200 bytes.
  virtual ByteLookup get(std::string_view key, Deadline deadline) noexcept = 0;
  /// One round trip per server. `out` has the size of `keys`.
  virtual void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
                       Deadline deadline) noexcept = 0;
  /// `ttl` in ms, > 0; kForever means no expiry; what is below a second rounds up. A refused value
  /// leaves no older one behind.
  virtual Stored put(std::string_view key, std::string_view value, Millis ttl,
                     Deadline deadline) noexcept = 0;
  /// Stores only if absent (Reason::exists otherwise): leases.
  virtual Stored add(std::string_view key, std::string_view value, Millis ttl,
                     Deadline deadline) noexcept = 0;
  /// Ends a lease: removes the key only if it still holds `expected`.
  virtual Stored release(std::string_view key, std::string_view expected,
                         Deadline deadline) noexcept = 0;
  virtual Stored erase(std::string_view key, Deadline deadline) noexcept = 0;
  /// Frees what this instance's prefix holds, where the store can; Reason::unsupported where it
  /// cannot without touching others' data.
  virtual Stored clear(Deadline deadline) noexcept = 0;
  /// What get() or getMany() just returned under `key` was stored under another one: a store closes
  /// the connection that it came over.
  virtual void distrust(std::string_view key) noexcept { (void)key; }
  /// The largest value that the store takes, bytes.
  [[nodiscard]] virtual std::size_t maxValueBytes() const noexcept = 0;
  [[nodiscard]] virtual Stats stats() const noexcept = 0;
  [[nodiscard]] virtual Health health() const noexcept = 0;
};

/// Sees every answer of the views that name it, and every invalidation.
class ResponseManager {
 public:
  virtual ~ResponseManager() = default;
  struct Answer {
    std::string_view path;
    int status = 0;
    bool anonymous = true;
  };
  /// Header lines to add to this answer ("Cache-Control: max-age=3600\r\n"), or empty.
  [[nodiscard]] virtual std::string headersFor(const Answer& answer) noexcept = 0;
  /// Paths whose content changed; must return at once.
  virtual void invalidated(std::span<const std::string> paths) noexcept = 0;
  [[nodiscard]] virtual Stats stats() const noexcept = 0;
  [[nodiscard]] virtual Health health() const noexcept = 0;
};

}  // namespace larder
