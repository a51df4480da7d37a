// Keys, requests and measuring that the benchmarks of RAMCache share.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/testing/test_host.h"
#include "ram_cache.h"

namespace larder::bench {

inline constexpr std::size_t kKeyBytes = 60;

/// Keys of 60 bytes, each on a cache line of its own.
class Keys {
 public:
  explicit Keys(std::size_t count) : lines_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::string key = "/site/section-" + std::to_string(i % 97) + "/article-" +
                        std::to_string(i) + "/@@index?page=1&sort=";
      key.resize(kKeyBytes, 'd');
      std::copy(key.begin(), key.end(), lines_[i].text.begin());
    }
  }
  std::string_view operator[](std::size_t i) const { return {lines_[i].text.data(), kKeyBytes}; }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

 private:
  struct alignas(64) Line {
    std::array<char, 64> text;
  };
  std::vector<Line> lines_;
};

/// `count` numbers below `keys`, the k-th most popular with weight 1/k^0.99, popularity scattered
/// over the numbers.
inline std::vector<std::uint32_t> zipf(std::size_t keys, std::size_t count, unsigned seed) {
  std::vector<double> sums(keys);
  double sum = 0;
  for (std::size_t k = 0; k < keys; ++k) sums[k] = sum += std::pow(double(k + 1), -0.99);
  std::vector<std::uint32_t> numbers(keys);
  for (std::size_t i = 0; i < keys; ++i) numbers[i] = static_cast<std::uint32_t>(i);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, sum);
  std::vector<std::uint32_t> requests(count);
  for (auto& r : requests) {
    const auto rank = std::upper_bound(sums.begin(), sums.end(), uniform(random)) - sums.begin();
    r = numbers[static_cast<std::size_t>(rank)];
  }
  return requests;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

inline double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// What a RAMCache needs around it.
struct World {
  SystemClock clock;
  ThreadPool pool{clock, {.threads = 1, .queue = 64, .timers = 64, .name = "bench"}};
  testing::TestHost host{clock, pool};

  std::unique_ptr<RAMCache> cache(std::size_t max_size, std::int64_t max_entries = 0,
                                  std::int64_t max_entry_size = 0, std::int64_t shards = 0,
                                  const char* policy = "s3fifo") {
    Settings settings;
    settings.set("max_size", static_cast<std::int64_t>(max_size));
    settings.set("max_entries", max_entries);
    settings.set("max_entry_size", max_entry_size);
    settings.set("max_share", std::int64_t{100});
    settings.set("min_share", std::int64_t{0});
    settings.set("cleanup_interval", std::int64_t{0});
    settings.set("policy", std::string(policy));
    settings.set("shards", shards);
    return std::make_unique<RAMCache>(host, settings);
  }
};

inline std::unique_ptr<CacheEntry> pageEntry(const CacheKey& key, std::size_t body_bytes) {
  auto entry = CacheEntry::make(key);
  Page page;
  page.body.assign(body_bytes, 'x');
  entry->value = Value(std::move(page));
  entry->lifetime = {0, kForever, kForever, kForever};
  return entry;
}

}  // namespace larder::bench
