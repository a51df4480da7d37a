// RequestMemo: what one request has got out of caches that block, so that it asks for each key
// once. Manifests: the keys that each page used last time, fetched in one round trip per cache when
// its render starts.
//
// Neither changes an answer: what they hold is judged when it is used as if it had been fetched
// then, and a prefetch records nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "larder/cache.h"
#include "larder/clock.h"
#include "larder/entry.h"
#include "larder/key.h"

namespace larder {

class FlightTable;

/// Of one request, used by one thread.
class RequestMemo {
 public:
  struct Item {
    std::shared_ptr<Cache> cache;
    Lookup lookup;
    /// The flight table's landings of this key before it was looked up.
    std::uint32_t landings = 0;
    bool used = false;
  };
  /// What goes beyond them is not remembered, so that a request holds no more than this.
  static constexpr std::size_t kMaxItems = 1000;
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;

  /// What was fetched under this key; a miss or an error is told only once. Nothing if it has to be
  /// looked up.
  [[nodiscard]] std::optional<Lookup> take(const Cache& cache, const CacheKey& key,
                                           std::uint32_t& landings);
  /// The cache holds this entry, and the request used it.
  void keep(const std::shared_ptr<Cache>& cache, const EntryRef& entry, std::uint32_t landings);
  /// A look-up that the request may use later.
  void prefetched(const std::shared_ptr<Cache>& cache, const Digest& key, Lookup&& lookup,
                  std::uint32_t landings);
  [[nodiscard]] bool has(const Cache& cache, const Digest& key) const;
  /// In the order in which the request came upon them.
  [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }

 private:
  [[nodiscard]] Item* find(const Cache& cache, const Digest& key);
  /// Null if there is no room, or another cache's item has this key.
  Item* add(const std::shared_ptr<Cache>& cache, const Digest& key, std::size_t bytes);
  std::vector<Item> items_;
  /// Two caches may hold one key: the later one is not remembered.
  std::unordered_map<Digest, std::size_t, DigestHash> places_;
  std::size_t bytes_ = 0;
};

/// Thread-safe. Holds no cache alive; bounded in pages and bytes, the least recently used go first.
class Manifests {
 public:
  explicit Manifests(const FlightTable& flights) : flights_(flights) {}

  /// Fetches what `page` used last time and `memo` does not hold yet.
  void prefetch(const Digest& page, RequestMemo& memo, Deadline deadline);
  /// What the request has used is what `page` will want next time.
  void learn(const Digest& page, const RequestMemo& memo);

 private:
  struct Key {
    std::string bytes;
    Digest digest;
    std::uint32_t partition;
  };
  struct Part {
    std::weak_ptr<Cache> cache;
    std::vector<Key> keys;
  };
  struct Manifest {
    std::vector<Part> parts;
    std::size_t bytes = 0;
    [[nodiscard]] bool names(const RequestMemo& memo) const;
  };
  struct Page {
    Digest digest;
    std::shared_ptr<const Manifest> manifest;
  };
  static constexpr std::size_t kMaxKeys = 512;                      ///< of one page
  static constexpr std::size_t kMaxWeight = std::size_t{8} << 20U;  ///< of their values
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;  ///< of all manifests

  [[nodiscard]] static std::shared_ptr<const Manifest> manifestOf(const RequestMemo& memo);
  [[nodiscard]] std::shared_ptr<const Manifest> find(const Digest& page);
  void put(const Digest& page, std::shared_ptr<const Manifest> manifest);

  const FlightTable& flights_;
  std::mutex mutex_;
  std::list<Page> pages_;  ///< the last used one first
  std::unordered_map<Digest, std::list<Page>::iterator, DigestHash> places_;
  std::size_t bytes_ = 0;
};

}  // namespace larder
