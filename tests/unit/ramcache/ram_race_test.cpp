// Threads do at random what a server does to a cache, and compare each answer with a model.
// LARDER_RAM_RACE_SECONDS sets how long each test takes (default 1).
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/test/paths.h"
#include "ram_cache_fixture.h"

namespace larder::ram {
namespace {

constexpr int kThreads = 8;
constexpr int kKeysPerThread = 64;

std::chrono::seconds duration() {
  return std::chrono::seconds(test::countFrom("LARDER_RAM_RACE_SECONDS", 1));
}

std::string keyText(int owner, int number) {
  return "/object/" + std::to_string(owner) + "/view/" + std::to_string(number);
}

/// What a value says: its key, a version, and padding that depends on both.
std::string valueText(const std::string& key, std::uint64_t version) {
  return key + "#" + std::to_string(version) + "#" +
         std::string(version % 700, static_cast<char>('a' + version % 26));
}

/// The cache of the moment; reconfiguring puts another in its place.
class Managed {
 public:
  Managed(Host& host, Settings settings) : host_(host), settings_(std::move(settings)) {
    reconfigure();
  }
  std::shared_ptr<RAMCache> get() {
    const std::lock_guard lock(mutex_);
    return cache_;
  }
  void reconfigure() {
    auto fresh = std::make_shared<RAMCache>(host_, settings_);
    const std::lock_guard lock(mutex_);
    cache_.swap(fresh);
  }

 private:
  Host& host_;
  const Settings settings_;
  std::mutex mutex_;
  std::shared_ptr<RAMCache> cache_;
};

/// What everybody may expect of a key. Its owner writes `newest`, `erases` and kUncertain before it
/// writes to the cache, the rest after that.
struct Model {
  static constexpr std::uint64_t kUncertain = ~std::uint64_t{0};

  std::atomic<std::uint64_t> newest{0};
  /// World::wipes_ended before the last store, which has ended; kUncertain if an erasure began
  /// after it. A miss is allowed only if a wipe began after that.
  std::atomic<std::uint64_t> stored_after{kUncertain};
  std::atomic<std::uint64_t> erases{0};
  /// Versions before this one have been replaced or erased for good.
  std::atomic<std::uint64_t> oldest{1};
};

/// One thread: writes keys of its own, reads everybody's.
class Actor {
 public:
  struct World {
    Managed& managed;
    const bool evicts;
    std::array<std::array<Model, kKeysPerThread>, kThreads> keys{};
    /// Clears and reconfigurations. What was stored before the last one ended may be gone.
    std::atomic<std::uint64_t> wipes_begun{0};
    std::atomic<std::uint64_t> wipes_ended{0};
    std::atomic<bool> stop{false};
  };
  Actor(World& world, int number)
      : world_(world), number_(number), random_(static_cast<unsigned>(number) + 1) {}

  void run() {
    while (!world_.stop.load(std::memory_order_relaxed)) {
      const auto dice = random_() % 1000;
      if (dice < 250) {
        store();
      } else if (dice < 300) {
        remove();
      } else if (dice < 302) {
        ++world_.wipes_begun;
        world_.managed.get()->clear(kNoDeadline);
        ++world_.wipes_ended;
      } else if (dice < 303) {
        ++world_.wipes_begun;
        world_.managed.reconfigure();
        ++world_.wipes_ended;
      } else if (dice < 310) {
        world_.managed.get()->sweep([](const CacheEntry& e) { return e.key().empty(); }, 40);
      } else {
        check(dice < 700 ? number_ : static_cast<int>(random_() % kThreads));
      }
      if (held_.size() > 20) held_.clear();
      ++operations_;
    }
  }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

 private:
  int anyNumber() { return static_cast<int>(random_() % kKeysPerThread); }
  Model& modelOf(int owner, int number) {
    return world_.keys[static_cast<std::size_t>(owner)][static_cast<std::size_t>(number)];
  }

  void store() {
    const auto number = anyNumber();
    const auto key = keyText(number_, number);
    auto& model = modelOf(number_, number);
    const auto wipes_ended = world_.wipes_ended.load();
    const auto cache = world_.managed.get();
    model.newest = ++version_;
    auto made = CacheEntry::make(keyOf(key));
    auto text = std::make_shared<std::string>(valueText(key, version_));
    const auto node = Node::ofText(*text);
    const auto size = text->size();
    made->value = Document(std::move(text), node, size);
    made->stamp.as_of = version_;
    made->cost_us = static_cast<std::uint32_t>(random_() % 10'000);
    made->lifetime = {0, kForever, kForever, kForever};
    ASSERT_TRUE(cache->put(keyOf(key), EntryPtr(std::move(made)), kNoDeadline).ok);
    model.oldest = version_;
    model.stored_after = wipes_ended;
  }
  void remove() {
    const auto number = anyNumber();
    auto& model = modelOf(number_, number);
    ++model.erases;
    model.stored_after = Model::kUncertain;
    world_.managed.get()->erase(keyOf(keyText(number_, number)), kNoDeadline);
    model.oldest = version_ + 1;
  }
  /// A look-up may find what its owner stores or has stored last, nothing that was replaced or
  /// erased before the look-up began.
  void check(int owner) {
    const auto number = anyNumber();
    const auto key = keyText(owner, number);
    const auto& model = modelOf(owner, number);
    const auto oldest = model.oldest.load();
    const auto erases = model.erases.load();
    const auto stored_after = model.stored_after.load();
    const auto cache = world_.managed.get();
    auto found = cache->get(keyOf(key), kNoDeadline);
    if (found.status == Status::hit) {
      const auto version = found.entry->stamp.as_of;
      ASSERT_GE(version, oldest) << key << " was replaced or erased";
      ASSERT_LE(version, model.newest.load()) << key << " was not stored yet";
      ASSERT_EQ(found.entry->key(), key);
      ASSERT_EQ(found.entry->value.document().root().text(), valueText(key, version));
    } else if (!world_.evicts && stored_after != Model::kUncertain && erases == model.erases) {
      ASSERT_GT(world_.wipes_begun.load(), stored_after) << key << " was lost";
    }
    keep(std::move(found.entry));
  }
  /// References that are held while much else happens, and looked at again.
  void keep(EntryRef entry) {
    if (!entry || random_() % 4 != 0) return;
    if (random_() % 8 == 0) entry.makeDurable();
    held_.push_back(std::move(entry));
    const auto& old = held_[random_() % held_.size()];
    ASSERT_EQ(old->value.document().root().text(),
              valueText(std::string(old->key()), old->stamp.as_of));
  }

  World& world_;
  const int number_;
  std::minstd_rand random_;
  std::uint64_t version_ = 0;
  std::vector<EntryRef> held_;
  std::uint64_t operations_ = 0;
};

void raceAgainstModel(const std::map<std::string, Settings::Value>& changes, bool evicts) {
  const SystemClock clock;
  ThreadPool pool(clock, {.threads = 1, .queue = 100, .name = "sweep"});
  testing::TestHost host(clock, pool);
  auto all = changes;
  all.emplace("cleanup_interval", std::int64_t{1});
  Managed managed(host, ramSettings(all));
  Actor::World world{managed, evicts};
  std::atomic<std::uint64_t> operations{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&world, &operations, t] {
        Actor actor(world, t);
        actor.run();
        operations += actor.operations();
      });
    }
    std::this_thread::sleep_for(duration());
    world.stop = true;
  }
  pool.stop();
  EXPECT_GT(operations.load(), 1000U);
}

TEST(RamRace, EveryAnswerAgreesWithTheModel) {
  raceAgainstModel({}, false);
}

TEST(RamRace, EveryAnswerAgreesWithTheModelWhileEntriesAreEvicted) {
  raceAgainstModel({{"max_size", std::int64_t{100'000}}, {"shards", std::int64_t{4}}}, true);
}

TEST(RamRace, EveryAnswerAgreesWithTheModelWithSieve) {
  raceAgainstModel({{"max_entries", std::int64_t{200}}, {"policy", std::string("sieve")}}, true);
}

// The index grows from nothing to its full size again and again while others read.
TEST(RamRace, ReadersNeverMissWhatStaysWhileTheIndexGrows) {
  const SystemClock clock;
  ThreadPool pool(clock, {.threads = 1, .queue = 100, .name = "sweep"});
  testing::TestHost host(clock, pool);
  const auto end = std::chrono::steady_clock::now() + duration();
  while (std::chrono::steady_clock::now() < end) {
    RAMCache cache(host, ramSettings({{"shards", std::int64_t{1}}}));
    const auto put = [&](const std::string& key) {
      auto made = CacheEntry::make(keyOf(key));
      made->lifetime = {0, kForever, kForever, kForever};
      cache.put(keyOf(key), EntryPtr(std::move(made)), kNoDeadline);
    };
    put("stays");
    std::atomic<bool> stop{false};
    std::atomic<int> lost{0};
    std::vector<std::jthread> readers;
    for (int t = 0; t < 2; ++t) {
      readers.emplace_back([&] {
        while (!stop) lost += cache.get(keyOf("stays"), kNoDeadline).status != Status::hit;
      });
    }
    for (int i = 0; i < 5'000; ++i) put("key " + std::to_string(i));
    stop = true;
    readers.clear();
    ASSERT_EQ(lost, 0);
  }
}

}  // namespace
}  // namespace larder::ram
