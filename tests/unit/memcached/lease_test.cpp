// One render of a cold key over two engines, as two processes have them, on one real memcached.
#include "larder/cache/lease.h"

#include <thread>

#include "../cache/engine_fixture.h"
#include "larder/cache/envelope.h"
#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "manager_support.h"

namespace larder::testing {
namespace {

/// What a process has of its own; the ledger and the server are everybody's.
struct EngineOfAProcess {
  EngineOfAProcess(Ledger& ledger, const MemcachedServer& server)
      : snapshots(ledger),
        store(std::make_shared<memcached::MemcachedManager>(
            host,
            memcachedSettings({server.address()}, {{"timeout", {std::string("5s"), "test"}}}))),
        entries(std::make_shared<EnvelopeCache>(
            store, clock, EnvelopeOptions{.prefix = "test-", .name_space = "site"})),
        manager({"/", "shared", "MemcachedManager", true}, Policy{}, entries, Waits::always,
                entries.get()),
        engine(ledger, snapshots, clock, pool, {}, {}) {}

  std::string body(TestView& view, const Policy& policy) {
    TestCall call(view, "/a", {}, policy, &manager);
    CallContext context(snapshots, clock.monotonic() + 60'000);
    return std::string(engine.call(call, context, nullptr).entry->value.page()->body);
  }

  SystemClock clock;
  ThreadPool pool{clock, {}};
  TestHost host{clock, pool};
  LedgerSnapshots snapshots;
  std::shared_ptr<ByteCache> store;
  std::shared_ptr<EnvelopeCache> entries;
  CacheManager manager;
  Engine engine;
};

class OneRenderOverProcesses : public ::testing::Test {
 protected:
  static MemcachedServer launch() {
    auto server = MemcachedServer::start();
    if (!server) throw std::runtime_error(server.error().message);
    return std::move(*server);
  }
  MemcachedServer server_ = launch();
  MemoryLedger ledger_;
  EngineOfAProcess one_{ledger_, server_};
  EngineOfAProcess two_{ledger_, server_};
  Policy policy_;
};

TEST_F(OneRenderOverProcesses, Semantics31_AThousandClientsOfAColdKeyRenderOnce) {
  constexpr int kClients = 1'000;
  std::atomic<int> here{0};
  TestView view{"page", [&](auto&, auto&, auto&) {
                  while (here < kClients) std::this_thread::yield();
                  return text("x");
                }};
  std::atomic<int> right{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      ++here;
      right += (i % 2 == 0 ? one_ : two_).body(view, policy_) == "x" ? 1 : 0;
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(view.runs, 1);
  EXPECT_EQ(right, kClients);
  EXPECT_EQ(view.counters.lookups(), std::uint64_t{kClients});
}

TEST_F(OneRenderOverProcesses, Semantics31_AFailingLeaderHandsOverAtOnce) {
  TestView view{"page", [&](auto&, auto&, auto&) -> Value {
                  if (view.runs > 1) return text("x");
                  while (view.counters.total(Outcome::lease_waits) == 0) std::this_thread::yield();
                  throw std::runtime_error("the first one fails");
                }};
  std::thread leader([&] { EXPECT_THROW(one_.body(view, policy_), std::runtime_error); });
  while (view.runs == 0) std::this_thread::yield();
  EXPECT_EQ(two_.body(view, policy_), "x");
  leader.join();
  EXPECT_EQ(view.runs, 2);
}

TEST_F(OneRenderOverProcesses, LedgerL24_WhatAnInvalidationOvertookIsRenderedAgain) {
  std::atomic<int> version{1};
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  const int seen = version;
                  if (seen == 1) {
                    version = 2;
                    const Change change{"obj:/a"};
                    EXPECT_TRUE(ledger_.append({&change, 1}));
                    while (view.counters.total(Outcome::lease_waits) == 0)
                      std::this_thread::yield();
                  }
                  return text(std::to_string(seen));
                }};
  std::thread leader([&] { EXPECT_EQ(one_.body(view, policy_), "1"); });
  while (version == 1) std::this_thread::yield();
  EXPECT_EQ(two_.body(view, policy_), "2");
  leader.join();
}

}  // namespace
}  // namespace larder::testing
