// Many threads, real time, real servers that hang, die and return.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "manager_support.h"

namespace larder::testing {
namespace {

using memcached::MemcachedManager;
using Real = std::chrono::steady_clock;

constexpr Deadline kSoon = kForever;
constexpr Millis kMinute = 60'000;

double msSince(Real::time_point start) {
  return std::chrono::duration<double, std::milli>(Real::now() - start).count();
}

std::size_t filesIn(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}
std::size_t openFiles() {
  return filesIn("/proc/self/fd");
}
std::size_t threads() {
  return filesIn("/proc/self/task");
}

class MemcachedThreads : public ::testing::Test {
 protected:
  std::shared_ptr<MemcachedManager> open(std::vector<std::string> servers, RawSettings more = {}) {
    return std::make_shared<MemcachedManager>(
        host_, memcachedSettings(std::move(servers), std::move(more)));
  }
  static MemcachedServer launch() {
    auto server = MemcachedServer::start();
    if (!server) throw std::runtime_error(server.error().message);
    return std::move(*server);
  }
  /// Real time until a get is no error any more, ms.
  static double recovery(MemcachedManager& cache) {
    const auto start = Real::now();
    while (cache.get("key", kSoon).status == Status::error && msSince(start) < 20'000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return msSince(start);
  }
  static std::size_t scale(const char* variable, std::size_t fallback) {
    const char* asked = std::getenv(variable);
    return asked ? std::strtoul(asked, nullptr, 10) : fallback;
  }

  SystemClock clock_;
  ThreadPool pool_{clock_, {.threads = 2, .name = "probes"}};
  TestHost host_{clock_, pool_};
};

TEST_F(MemcachedThreads, FaultA32_AHungServerHoldsNobodyLongerThanOneTimeout) {
  MemcachedServer server = launch();
  const auto cache = open({server.address()});
  ASSERT_TRUE(cache->put("key", "value", kMinute, kSoon).ok);
  server.pause();

  constexpr int kClients = 64;
  std::vector<double> first(kClients);
  std::vector<double> longest_later(kClients);
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      auto start = Real::now();
      EXPECT_EQ(cache->get("key", kSoon).status, Status::error);
      first[i] = msSince(start);
      // By now somebody else has had a time-out as well, or has one soon.
      while (cache->get("key", kSoon).reason != Reason::breaker) {
      }
      for (int n = 0; n < 100; ++n) {
        start = Real::now();
        EXPECT_EQ(cache->get("key", kSoon).reason, Reason::breaker);
        longest_later[i] = std::max(longest_later[i], msSince(start));
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_LT(*std::max_element(first.begin(), first.end()), 2000);
  std::sort(longest_later.begin(), longest_later.end());
  EXPECT_LT(longest_later[kClients / 2], 500);

  server.resume();
  EXPECT_LT(recovery(*cache), 5000);
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), "value");
}

TEST_F(MemcachedThreads, FaultA32_AnOpenBreakerCostsNextToNothing) {
  MemcachedServer server = launch();
  server.pause();
  const auto cache = open({server.address()});
  cache->get("key", kSoon);
  cache->get("key", kSoon);
  std::vector<double> rounds;
  for (int round = 0; round < 9; ++round) {
    const auto start = Real::now();
    for (int i = 0; i < 1000; ++i) cache->get("key", kSoon);
    rounds.push_back(msSince(start));  // ms for 1000 is us for one
  }
  std::sort(rounds.begin(), rounds.end());
  EXPECT_LT(rounds[4], 50);
  server.resume();
}

TEST_F(MemcachedThreads, FaultA32_FlapsLeaveNoSocketsAndNoThreadsBehind) {
  MemcachedServer server = launch();
  const auto cache = open({server.address()}, {{"timeout", {std::string("10ms"), "the test"}},
                                               {"first_probe", {std::string("5ms"), "the test"}},
                                               {"max_probe", {std::string("20ms"), "the test"}}});
  ASSERT_LT(recovery(*cache), 20'000);
  const std::size_t files_before = openFiles();
  const std::size_t threads_before = threads();
  for (std::size_t flap = 0; flap < scale("LARDER_FLAPS", 40); ++flap) {
    server.pause();
    while (cache->get("key", kSoon).reason != Reason::breaker) {
    }
    server.resume();
    ASSERT_LT(recovery(*cache), 5000);
  }
  EXPECT_LE(openFiles(), files_before + 2);
  EXPECT_EQ(threads(), threads_before);
}

TEST_F(MemcachedThreads, FaultA32_AServerThatIsKilledAndRestartedIsUsedAgain) {
  MemcachedServer server = launch();
  const auto cache = open({server.address()}, {{"timeout", {std::string("10s"), "the test"}}});
  cache->put("key", "value", kMinute, kSoon);
  server.kill();
  EXPECT_EQ(cache->get("key", kSoon).status, Status::error);
  EXPECT_EQ(cache->get("key", kSoon).status, Status::error);
  ASSERT_TRUE(server.restart());
  EXPECT_LT(recovery(*cache), 5000);
  EXPECT_TRUE(cache->put("key", "again", kMinute, kSoon).ok);
  EXPECT_EQ(valueOf(cache->get("key", kSoon)), "again");
}

// Every value tells its key; settings change meanwhile, which gives a new manager.
TEST_F(MemcachedThreads, FaultA33_NoThreadGetsAnothersValue) {
  MemcachedServer servers[] = {launch(), launch(), launch(), launch()};
  const std::vector<std::string> addresses = {servers[0].address(), servers[1].address(),
                                              servers[2].address(), servers[3].address()};
  const auto make = [&](int variant) {
    return open(addresses, {{"timeout", {std::string("5s"), "the test"}},
                            {"connect_timeout", {std::string("5s"), "the test"}},
                            {"max_connections", {std::int64_t{4 + variant % 60}, "the test"}}});
  };
  constexpr int kKeys = 200;
  const auto valueFor = [](int key) {
    return "value of " + std::to_string(key) +
           std::string(static_cast<std::size_t>(key * 97 % 9000), '.');
  };
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back("key-" + std::to_string(i));
  std::mutex mutex;
  auto current = make(0);
  const auto use = [&] {
    const std::lock_guard lock(mutex);
    return current;
  };
  for (int i = 0; i < kKeys; i += 2) {
    ASSERT_TRUE(use()->put(keys[i], valueFor(i), kMinute, kSoon).ok);
  }

  const std::size_t gets = scale("LARDER_GETS", 400);
  std::atomic<std::size_t> wrong{0};
  std::atomic<std::size_t> hits{0};
  std::atomic<int> running{64};
  std::vector<std::thread> clients;
  for (int client = 0; client < 64; ++client) {
    clients.emplace_back([&, client] {
      for (std::size_t n = 0; n < gets; ++n) {
        const auto cache = use();
        const int i = static_cast<int>(n * 7 + static_cast<std::size_t>(client) * 31) % kKeys;
        std::string_view names[4];
        ByteLookup found[4];
        const std::size_t count = n % 3 == 0 ? 4 : 1;
        for (std::size_t k = 0; k < count; ++k) names[k] = keys[(i + k) % kKeys];
        if (count == 1) {
          found[0] = cache->get(names[0], kSoon);
        } else {
          cache->getMany(names, found, kSoon);
        }
        for (std::size_t k = 0; k < count; ++k) {
          const int key = static_cast<int>((i + k) % kKeys);
          const bool right =
              key % 2 == 0 ? valueOf(found[k]) == valueFor(key) : found[k].status == Status::miss;
          if (!right) ++wrong;
          if (found[k].status == Status::hit) ++hits;
        }
      }
      --running;
    });
  }
  for (int variant = 1; running > 0; ++variant) {
    auto next = make(variant);
    {
      const std::lock_guard lock(mutex);
      current.swap(next);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(hits, 0u);
}

}  // namespace
}  // namespace larder::testing
