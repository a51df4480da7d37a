// A byte store in memory that a test can look into and damage, and entries to put into it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.h"
#include "larder/cache/key_builder.h"

namespace larder::testing {

class MemoryStore final : public ByteCache {
 public:
  struct Item {
    std::string value;
    Millis ttl = 0;
  };
  std::map<std::string, Item, std::less<>> items;
  std::vector<std::string> distrusted;
  std::size_t limit = 1'000'000;
  std::size_t round_trips = 0;
  Reason failure = Reason::none;  ///< every answer, if set

  ByteLookup get(std::string_view key, Deadline) noexcept override {
    ++round_trips;
    return find(key);
  }
  void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
               Deadline) noexcept override {
    ++round_trips;
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = find(keys[i]);
  }
  Stored put(std::string_view key, std::string_view value, Millis ttl, Deadline) noexcept override {
    if (failure != Reason::none) return {false, failure};
    items.insert_or_assign(std::string(key), Item{std::string(value), ttl});
    return {true, Reason::none};
  }
  Stored add(std::string_view key, std::string_view value, Millis ttl, Deadline) noexcept override {
    if (items.contains(key)) return {false, Reason::exists};
    return put(key, value, ttl, 0);
  }
  Stored release(std::string_view key, std::string_view expected, Deadline) noexcept override {
    const auto it = items.find(key);
    if (it == items.end() || it->second.value != expected) return {false, Reason::exists};
    items.erase(it);
    return {true, Reason::none};
  }
  Stored erase(std::string_view key, Deadline) noexcept override {
    if (const auto it = items.find(key); it != items.end()) items.erase(it);
    return {true, Reason::none};
  }
  Stored clear(Deadline) noexcept override { return {false, Reason::unsupported}; }
  void distrust(std::string_view key) noexcept override { distrusted.emplace_back(key); }
  [[nodiscard]] std::size_t maxValueBytes() const noexcept override { return limit; }
  [[nodiscard]] Stats stats() const noexcept override { return {{"items", items.size()}}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }

 private:
  [[nodiscard]] ByteLookup find(std::string_view key) const {
    if (failure != Reason::none) return {Status::error, {}, failure};
    const auto it = items.find(key);
    if (it == items.end()) return {};
    // A copy of exactly this size, so that a sanitizer sees a read beyond its end.
    auto owner =
        std::make_shared<std::vector<char>>(it->second.value.begin(), it->second.value.end());
    const std::string_view data(owner->data(), owner->size());
    return {Status::hit, {std::move(owner), data}, Reason::none};
  }
};

/// A key as the engine makes it: path and, if not empty, the value of "param:q".
class TestKey {
 public:
  explicit TestKey(std::string_view path, std::string_view q = {}) {
    builder_.begin("site", path, "page", 1);
    if (q.empty()) return;
    builder_.input("param:q", 1);
    builder_.text(q);
  }
  operator CacheKey() const { return builder_.key(7); }

 private:
  KeyBuilder builder_;
};

/// Ten minutes fresh, one more stale, one more on errors.
inline std::unique_ptr<CacheEntry> makeEntry(const CacheKey& key, const Clock& clock, Value value,
                                             const std::vector<std::string>& inputs = {}) {
  static const std::string kScopes[] = {"obj:/a", "tag:news"};
  auto entry = CacheEntry::make(key, {.scopes = kScopes, .inputs = inputs});
  entry->value = std::move(value);
  entry->stamp = {.as_of = 41, .era = 0xfedcba9876543210, .schema = 0x8000000000000001};
  entry->created_wall = clock.wall();
  entry->cost_us = 1234;
  const Millis now = clock.monotonic();
  entry->lifetime = {now, now + 600'000, now + 660'000, now + 720'000};
  return entry;
}

}  // namespace larder::testing
