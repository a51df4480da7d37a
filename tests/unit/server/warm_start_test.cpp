#include "warm_start.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "larder/cache/thread_pool.h"
#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/temp_dir.h"

namespace larder::server {
namespace {

/// Holds what it is given.
class HeldCache final : public Cache {
 public:
  Lookup get(const CacheKey&, Deadline) noexcept override { return {}; }
  Stored put(const CacheKey&, EntryPtr entry, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
    return {true, Reason::none};
  }
  Stored erase(const CacheKey&, Deadline) noexcept override { return {}; }
  Stored clear(Deadline) noexcept override { return {}; }
  bool sweep(const Expendable& expendable, std::size_t) noexcept override {
    const std::lock_guard lock(mutex_);
    for (const EntryPtr& entry : entries_) expendable(*entry);
    return false;
  }
  [[nodiscard]] Stats stats() const noexcept override { return {}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<EntryPtr> entries_;
};

ManagerSet setOf(std::shared_ptr<Cache> cache) {
  const CacheManager::Identity identity{.path = "/", .id = "main", .type = "Held"};
  ManagerSet::Item item;
  item.config.identity = identity;
  item.manager =
      std::make_shared<const CacheManager>(identity, Policy{}, std::move(cache), Waits::never);
  item.snapshot = SnapshotPlan{.max_bytes = 64U << 20, .interval = 1};
  ManagerSet set;
  set.items.push_back(std::move(item));
  return set;
}

class WarmStartTest : public ::testing::Test {
 protected:
  WarmStart make(Executor& executor) {
    return {{.clock = clock_,
             .executor = executor,
             .log =
                 [this](LogLevel level, std::string_view message) {
                   const std::lock_guard lock(mutex_);
                   if (level == LogLevel::warning) (warnings_ += message) += '\n';
                 },
             .finish = {}},
            folder_.path(),
            "site",
            0};
  }
  /// What the next process begins with.
  std::size_t restored() {
    const auto cache = std::make_shared<HeldCache>();
    testing::InlineExecutor executor(clock_);
    auto warm = make(executor);
    warm.adopt(setOf(cache));
    return cache->size();
  }

  const testing::TempDir folder_;
  testing::ManualClock clock_;
  std::mutex mutex_;
  std::string warnings_;
};

TEST_F(WarmStartTest, AManagerThatIsReplacedWhileItSavesLeavesAWholeFile) {
  constexpr std::size_t kEntries = 500;
  {
    const auto cache = std::make_shared<HeldCache>();
    testing::InlineExecutor executor(clock_);
    auto warm = make(executor);
    warm.adopt(setOf(cache));
    for (std::size_t i = 0; i < kEntries; ++i) {
      const std::string key = "key " + std::to_string(i);
      auto entry = CacheEntry::make({key, digestOf(key), 0});
      entry->lifetime = {0, kForever, kForever, kForever};
      entry->value = Document::from(Tree(std::string(1000, 'x')));
      cache->put({key, digestOf(key), 0}, EntryPtr(std::move(entry)), kForever);
    }
    warm.saveAll();
  }
  ThreadPool pool(clock_, {.threads = 4});
  auto warm = make(pool);
  for (int reload = 0; reload < 20; ++reload) {
    const auto cache = std::make_shared<HeldCache>();
    warm.adopt(setOf(cache));  // and the one before it still saves
    for (int i = 0; i < 1'000'000 && cache->size() < kEntries; ++i) std::this_thread::yield();
    ASSERT_EQ(cache->size(), kEntries) << warnings_;
    clock_.advance(1);
    warm.tick();
  }
  EXPECT_TRUE(pool.drain(10'000));
  EXPECT_EQ(warnings_, "");
  EXPECT_EQ(restored(), kEntries);
}

}  // namespace
}  // namespace larder::server
