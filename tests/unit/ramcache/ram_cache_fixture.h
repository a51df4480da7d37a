// What the tests of RAMCache share: a cache over a manual clock, entries of a chosen size whose
// freeing can be observed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/test_host.h"
#include "ram_cache.h"

namespace larder::ram {

inline constexpr Deadline kNoDeadline = kForever;

inline CacheKey keyOf(std::string_view bytes) {
  return {bytes, digestOf(bytes), 0};
}

/// The settings as the host would pass them, from the fallbacks and these changes.
inline Settings ramSettings(const std::map<std::string, Settings::Value>& changes = {}) {
  Settings settings;
  settings.set("max_size", std::int64_t{64} << 20);
  settings.set("max_entries", std::int64_t{0});
  settings.set("max_entry_size", std::int64_t{0});
  settings.set("max_share", std::int64_t{100});
  settings.set("min_share", std::int64_t{0});
  settings.set("cleanup_interval", std::int64_t{60'000});
  settings.set("policy", std::string("s3fifo"));
  settings.set("shards", std::int64_t{0});
  for (const auto& [name, value] : changes) settings.set(name, value);
  return settings;
}

class RamCacheTest : public ::testing::Test {
 protected:
  using Changes = std::map<std::string, Settings::Value>;

  void open(const Changes& changes = {}) {
    cache_ = std::make_unique<RAMCache>(host_, ramSettings(changes));
  }
  /// An entry that lives for an hour, whose value is a text of `size` bytes.
  std::unique_ptr<CacheEntry> entry(std::string_view key, std::size_t size = 100,
                                    std::weak_ptr<const void>* watch = nullptr) {
    auto made = CacheEntry::make(keyOf(key));
    auto text = std::make_shared<std::string>(size, 'x');
    if (watch) *watch = text;
    const auto node = Node::ofText(*text);
    made->value = Document(std::move(text), node, size);
    made->lifetime = {clock_.monotonic(), hourFromNow(), hourFromNow(), hourFromNow()};
    return made;
  }
  [[nodiscard]] Millis hourFromNow() const { return clock_.monotonic() + 3'600'000; }

  Stored put(std::unique_ptr<CacheEntry> made) {
    const std::string key(made->key());
    return cache_->put(keyOf(key), EntryPtr(std::move(made)), kNoDeadline);
  }
  Stored put(std::string_view key, std::size_t size = 100) { return put(entry(key, size)); }
  Lookup get(std::string_view key) { return cache_->get(keyOf(key), kNoDeadline); }
  bool has(std::string_view key) { return get(key).status == Status::hit; }
  void erase(std::string_view key) { cache_->erase(keyOf(key), kNoDeadline); }
  void clear() { cache_->clear(kNoDeadline); }
  std::uint64_t stat(std::string_view name) {
    for (const auto& [known, value] : cache_->stats()) {
      if (known == name) return value;
    }
    ADD_FAILURE() << "no figure named " << name;
    return 0;
  }
  /// Lets the background sweep run once.
  void runSweep() {
    clock_.advance(60'000);
    executor_.runAll();
  }

  testing::ManualClock clock_;
  testing::InlineExecutor executor_{clock_};
  testing::TestHost host_{clock_, executor_};
  std::unique_ptr<RAMCache> cache_;
};

}  // namespace larder::ram
