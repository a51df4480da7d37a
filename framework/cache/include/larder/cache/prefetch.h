// RequestMemo: what one request has got from outside of the process, so that it asks for each key
// once. Manifests: the keys that each page got from there last time, fetched in one round trip per
// cache when its render asks for the first of them.
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
  /// Null: nothing is known of it.
  [[nodiscard]] const Item* find(const Cache& cache, const Digest& key) const;
  /// In the order in which the request came upon them.
  [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }

 private:
  [[nodiscard]] Item* itemOf(const Cache& cache, const Digest& key);
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

  /// Fetches what `page` used last time and `memo` does not hold yet. False: a cache did not answer
  /// in time, and no other was asked.
  [[nodiscard]] bool prefetch(const Digest& page, RequestMemo& memo, const Cache::Over& over,
                              Deadline deadline);
  /// What the request has used is what `page` will want next time, with what it did not have to ask
  /// for because it was at hand.
  void learn(const Digest& page, const RequestMemo& memo);

 private:
  struct Key {
    std::string bytes;
    Digest digest;
    std::uint32_t partition;
    std::size_t weight;  ///< of its entry, bytes
  };
  struct Part {
    std::weak_ptr<Cache> cache;
    std::vector<Key> keys;
  };
  struct Manifest {
    std::vector<Part> parts;
    std::size_t bytes = 0;
    std::size_t keys = 0;
    std::size_t weight = 0;
    /// Whether learning from `memo` would change nothing.
    [[nodiscard]] bool names(const RequestMemo& memo) const;
    /// False: there is no room.
    bool add(const std::shared_ptr<Cache>& cache, Key key);
  };
  struct Page {
    Digest digest;
    std::shared_ptr<const Manifest> manifest;
  };
  static constexpr std::size_t kMaxKeys = 512;                      ///< of one page
  static constexpr std::size_t kMaxWeight = std::size_t{8} << 20U;  ///< of their values
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;  ///< of all manifests

  [[nodiscard]] static std::shared_ptr<const Manifest> manifestOf(const RequestMemo& memo,
                                                                  const Manifest* known);
  [[nodiscard]] std::shared_ptr<const Manifest> find(const Digest& page);
  void put(const Digest& page, std::shared_ptr<const Manifest> manifest);

  const FlightTable& flights_;
  std::mutex mutex_;
  std::list<Page> pages_;  ///< the last used one first
  std::unordered_map<Digest, std::list<Page>::iterator, DigestHash> places_;
  std::size_t bytes_ = 0;
};

}  // namespace larder
