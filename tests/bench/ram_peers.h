// What RAMCache is compared with: the least that a look-up can cost, caches that a C++ programmer
// would write or take, all behind get(key) and put(key).
#pragma once

#include <Poco/ExpireLRUCache.h>
#include <Poco/LRUCache.h>

#include <list>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "ram_load.h"

namespace larder::bench {

inline constexpr std::size_t kBodyBytes = 1024;

/// The same value for all engines that share values.
using Body = std::shared_ptr<const std::string>;
inline Body makeBody() {
  return std::make_shared<const std::string>(kBodyBytes, 'x');
}
/// What malloc takes for it: the string and its control block, the bytes.
inline constexpr std::size_t kBodyHeap = 64 + 1040;

class Engine {
 public:
  virtual ~Engine() = default;
  /// Looks up keys[requests[i]] for each i; returns the hits. Each engine has its loop, so that no
  /// virtual call is measured.
  virtual std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) = 0;
  virtual void put(std::string_view key) = 0;
};

/// Zero, but the compiler does not know.
inline const volatile std::size_t kZero = 0;

/// Each request waits for the answer to the one before, as in a server, where a system call lies
/// between two hits; otherwise the processor would work on several at once.
template <class Get>
std::size_t countHits(const Keys& keys, std::span<const std::uint32_t> requests, Get&& get) {
  const std::size_t zero = kZero;
  std::size_t hits = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) hits += get(keys[requests[i + (hits & zero)]]);
  return hits;
}

class RamEngine final : public Engine {
 public:
  RamEngine(World& world, std::size_t max_size) : cache_(world.cache(max_size)) {}
  std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) override {
    return countHits(keys, requests, [this](std::string_view key) {
      const auto found = cache_->get({key, digestOf(key), 0}, kForever);
      return std::size_t{found.status == Status::hit && found.entry->lifetime.fresh_until != 0};
    });
  }
  void put(std::string_view key) override {
    const CacheKey id{key, digestOf(key), 0};
    auto entry = CacheEntry::make(id);
    auto body = makeBody();
    const auto text = Node::ofText(*body);
    entry->value = Document(std::move(body), text, kBodyHeap);
    entry->lifetime = {0, kForever, kForever, kForever};
    cache_->put(id, EntryPtr(std::move(entry)), kForever);
  }
  RAMCache& cache() { return *cache_; }

 private:
  std::unique_ptr<RAMCache> cache_;
};

/// The floor: hash the key, read a word of the index, read the entry that it points to. The
/// entries are those of a RAMCache, the index has its size.
class Floor final : public Engine {
 public:
  Floor(RAMCache& cache, std::size_t entries) {
    std::size_t slots = 8;
    while (slots < entries * 3 / 2) slots *= 2;
    mask_ = slots - 1;
    std::vector<EntryPtr> all;
    while (cache.sweep(
        [&](const CacheEntry& entry) {
          all.emplace_back(&entry);
          return false;
        },
        entries)) {
    }
    held_ = std::move(all);
    index_.resize(slots);
    for (std::size_t i = 0; i < slots; ++i) index_[i] = held_[i % held_.size()].get();
    for (const auto& entry : held_) index_[entry->digest.low & mask_] = entry.get();
  }
  std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) override {
    return countHits(keys, requests, [this](std::string_view key) {
      return std::size_t{index_[digestOf(key).low & mask_]->lifetime.fresh_until != 0};
    });
  }
  void put(std::string_view) override {}

 private:
  std::vector<EntryPtr> held_;
  std::vector<const CacheEntry*> index_;
  std::size_t mask_ = 0;
};

/// The usual one: a mutex, a hash map, a list in order of use.
class MutexLru {
 public:
  explicit MutexLru(std::size_t capacity) : capacity_(capacity) {}
  Body get(std::string_view key) {
    const std::lock_guard lock(mutex_);
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }
  void put(std::string_view key, Body body) {
    const std::lock_guard lock(mutex_);
    const auto it = index_.find(key);
    if (it != index_.end()) {
      it->second->second = std::move(body);
      order_.splice(order_.begin(), order_, it->second);
      return;
    }
    order_.emplace_front(std::string(key), std::move(body));
    index_.emplace(order_.front().first, order_.begin());
    if (index_.size() <= capacity_) return;
    index_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  using Order = std::list<std::pair<std::string, Body>>;
  std::mutex mutex_;
  const std::size_t capacity_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> index_;
};

class MutexEngine final : public Engine {
 public:
  explicit MutexEngine(std::size_t capacity) : lru_(capacity) {}
  std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) override {
    return countHits(keys, requests, [this](std::string_view key) {
      return std::size_t{lru_.get(key) != nullptr};
    });
  }
  void put(std::string_view key) override { lru_.put(key, makeBody()); }

 private:
  MutexLru lru_;
};

class ShardedEngine final : public Engine {
 public:
  explicit ShardedEngine(std::size_t capacity) {
    for (std::size_t i = 0; i < kShards; ++i)
      shards_.push_back(std::make_unique<MutexLru>(capacity / kShards * 5 / 4));
  }
  std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) override {
    return countHits(keys, requests, [this](std::string_view key) {
      return std::size_t{of(key).get(key) != nullptr};
    });
  }
  void put(std::string_view key) override { of(key).put(key, makeBody()); }

 private:
  static constexpr std::size_t kShards = 64;
  MutexLru& of(std::string_view key) {
    return *shards_[std::hash<std::string_view>{}(key) / 64 % kShards];
  }
  std::vector<std::unique_ptr<MutexLru>> shards_;
};

template <class PocoCache>
class PocoEngine final : public Engine {
 public:
  template <class... Arguments>
  explicit PocoEngine(Arguments... arguments) : cache_(arguments...) {}
  std::size_t getAll(const Keys& keys, std::span<const std::uint32_t> requests) override {
    return countHits(keys, requests, [this](std::string_view key) {
      return std::size_t{!cache_.get(std::string(key)).isNull()};
    });
  }
  void put(std::string_view key) override {
    cache_.add(std::string(key), std::string(kBodyBytes, 'x'));
  }

 private:
  PocoCache cache_;
};

using PocoLru = PocoEngine<Poco::LRUCache<std::string, std::string>>;
using PocoExpireLru = PocoEngine<Poco::ExpireLRUCache<std::string, std::string>>;

}  // namespace larder::bench
