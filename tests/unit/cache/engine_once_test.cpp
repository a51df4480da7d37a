// How often a render runs, how long it may take, and who waits for it.
#include <gtest/gtest.h>

#include <thread>

#include "engine_fixture.h"
#include "larder/cache/lease.h"
#include "larder/cache/scope.h"

namespace larder::testing {
namespace {

/// Leases of a store that all processes see; time is the test's.
class MapLeases final : public LeaseStore {
 public:
  explicit MapLeases(const Clock& clock) : clock_(clock) {}
  Stored lease(const CacheKey& key, std::string_view token, Millis ttl,
               Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    ++asked;
    if (broken) return {false, Reason::unreachable};
    auto& held = held_[key.digest];
    if (clock_.monotonic() < held.until) return {false, Reason::exists};
    held = {std::string(token), clock_.monotonic() + ttl};
    return {true, Reason::none};
  }
  Stored endLease(const CacheKey& key, std::string_view token, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    auto& held = held_[key.digest];
    if (held.token == token) held = {};
    return {true, Reason::none};
  }
  /// By a process that will never come back.
  void takeForGood(const Digest& key, Millis ttl) {
    const std::lock_guard lock(mutex_);
    held_[key] = {"crashed", clock_.monotonic() + ttl};
  }
  [[nodiscard]] bool isHeld(const Digest& key) {
    const std::lock_guard lock(mutex_);
    return clock_.monotonic() < held_[key].until;
  }
  bool broken = false;
  int asked = 0;

 private:
  struct Held {
    std::string token;
    Millis until = 0;
  };
  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<Digest, Held, DigestHash> held_;
};

class OutageTest : public ::testing::Test, protected EngineWorld {};

TEST_F(OutageTest, WhatTheStoreCannotTakeIsServedForAMomentAndJudgedLikeAnyEntry) {
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text(std::to_string(version));
                }};
  cache->broken = true;
  body(view);
  body(view);
  EXPECT_EQ(view.runs, 1);
  version = 2;
  change("obj:/a");
  EXPECT_EQ(body(view), "2");
  clock.advance(2'000);
  body(view);
  EXPECT_EQ(view.runs, 3) << "it is no cache";
}

TEST_F(OutageTest, WhatIsKeptForAMomentIsBoundedInBytesAndGoesWhenItIsOver) {
  Stopgap stopgap;
  const auto keep = [&](const std::string& path, std::size_t bytes) {
    KeyBuilder key;
    key.begin("test", path, "page", 1);
    auto entry = CacheEntry::make(key.key(), {});
    Page page;
    page.body.assign(bytes, 'x');
    entry->value = page;
    stopgap.keep(EntryPtr(std::move(entry)), clock.monotonic());
  };
  const auto kept = [&](const std::string& path) {
    KeyBuilder key;
    key.begin("test", path, "page", 1);
    return static_cast<bool>(stopgap.find(key.key(), clock.monotonic()));
  };
  constexpr std::size_t kMegabyte = 1 << 20;
  keep("/a", 10 * kMegabyte);
  keep("/b", 10 * kMegabyte);
  EXPECT_TRUE(kept("/a"));
  EXPECT_FALSE(kept("/b")) << "both are more than is kept";
  keep("/a", 5 * kMegabyte);
  keep("/b", 10 * kMegabyte);
  EXPECT_TRUE(kept("/a"));
  EXPECT_TRUE(kept("/b"));
  clock.advance(2'000);
  EXPECT_FALSE(kept("/b"));
  keep("/c", 15 * kMegabyte);
  EXPECT_TRUE(kept("/c")) << "what is over takes no room";
}

TEST_F(OutageTest, ARefusedValueIsNotKept) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  cache->broken = true;
  cache->how = Reason::too_large;
  body(view);
  body(view);
  EXPECT_EQ(view.runs, 2);
}

/// One thread: whoever waits moves the clock.
class LeaseTest : public ::testing::Test, protected EngineWorld {
 protected:
  LeaseTest() : EngineWorld(ManualExecutor::Waiting::drives) {}
  Digest keyOf(const TestView& view, const std::string& path = "/a") {
    KeyBuilder key;
    key.begin("test", path, view.name, 1);
    return key.key().digest;
  }
  MapLeases leases{clock};
  CacheManager shared{{"/", "shared", "Map", true}, Policy{}, cache, Waits::always, &leases};
  Engine other{ledger, snapshots, clock, executor, {}, {}};
};

TEST_F(LeaseTest, LedgerL24_ARenderHoldsTheLeaseAndGivesItBack) {
  TestView view{"page", {}};
  view.code = [&](auto&, auto&, auto&) {
    EXPECT_TRUE(leases.isHeld(keyOf(view)));
    return text("x");
  };
  askOf(engine, shared, view);
  EXPECT_FALSE(leases.isHeld(keyOf(view)));
  EXPECT_EQ(view.runs, 1);
}

TEST_F(LeaseTest, Semantics31_WhileAnotherProcessRendersItsResultIsAwaitedAndServed) {
  TestView view{"page", {}};
  Answer seen;
  view.code = [&](auto&, auto&, auto&) { return text("x"); };
  leases.takeForGood(keyOf(view), 10'000);
  // The other process stores it, as it does before it gives the lease back.
  executor.postAt(clock.monotonic() + 500, [&] {
    CacheManager without{{"/", "shared", "Map", true}, Policy{}, cache, Waits::always};
    askOf(other, without, view);
  });
  seen = askOf(engine, shared, view);
  EXPECT_EQ(view.runs, 1);
  EXPECT_EQ(seen.outcome, Outcome::coalesced);
  EXPECT_EQ(view.counters.total(Outcome::lease_waits), 1U);
}

TEST_F(LeaseTest, Semantics31_ACrashedLeaderHandsOverAfterTheLeaseTime) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  leases.takeForGood(keyOf(view), 3'000);
  const auto before = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::miss_cold);
  EXPECT_GE(clock.monotonic() - before, 3'000);
  EXPECT_LT(clock.monotonic() - before, 3'300);
}

TEST_F(LeaseTest, Semantics31_AtTheDeadlineAFollowerRendersByItself) {
  policy.render_timeout = 1'000;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  leases.takeForGood(keyOf(view), 1'000'000);
  const auto before = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::miss_cold);
  EXPECT_EQ(clock.monotonic() - before, 1'000);
}

TEST_F(LeaseTest, Semantics31_AtTheDeadlineAFollowerServesWhatIsStale) {
  policy.render_timeout = 1'000;
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  askOf(engine, shared, view);
  clock.advance(5'000);
  leases.takeForGood(keyOf(view), 1'000'000);
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::hit_stale);
  EXPECT_EQ(view.runs, 1);
}

TEST_F(LeaseTest, ALeaseIsNotAwaitedLongerThanTheSoftTimeoutWhenThereIsSomethingStale) {
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  policy.soft_timeout = 100;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  askOf(engine, shared, view);
  clock.advance(5'000);
  leases.takeForGood(keyOf(view), 1'000'000);
  const auto before = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::hit_stale);
  EXPECT_EQ(clock.monotonic() - before, 100);
  EXPECT_EQ(view.counters.total(Outcome::soft_timeouts), 1U);
  // Nor does the time for a render of one's own begin anew after it.
  leases.takeForGood(keyOf(view), 80);
  executor.post([&] { clock.advance(500); });  // the background is busy
  const auto again = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::hit_stale);
  EXPECT_LE(clock.monotonic() - again, 80 + 500);
  EXPECT_EQ(view.runs, 1);
  executor.runAll();
  EXPECT_EQ(view.runs, 2);
}

TEST_F(LeaseTest, LedgerL19_AtTheDeadlineOfALeaseWaitNothingHardInvalidIsServed) {
  policy.render_timeout = 1'000;
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text(std::to_string(version));
                }};
  askOf(engine, shared, view);
  clock.advance(5'000);
  leases.takeForGood(keyOf(view), 1'000'000);
  version = 2;
  executor.postAt(clock.monotonic() + 500, [&] { change("obj:/a"); });
  EXPECT_EQ(askOf(engine, shared, view).entry->value.page()->body, "2");
}

TEST_F(LeaseTest, LedgerL24_AFollowerThatFindsAnInvalidResultLeadsAtOnce) {
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text(std::to_string(version));
                }};
  change("site:");
  leases.takeForGood(keyOf(view), 1'000'000);
  executor.postAt(clock.monotonic() + 500, [&] {
    CacheManager without{{"/", "shared", "Map", true}, Policy{}, cache, Waits::always};
    askOf(other, without, view);
    version = 2;
    change("obj:/a");
  });
  const auto before = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, view).entry->value.page()->body, "2");
  EXPECT_LT(clock.monotonic() - before, 1'000);
}

TEST_F(LeaseTest, ANestedCallDoesNotWaitForAnotherProcess) {
  TestView inner{"inner", [](auto&, auto&, auto&) { return text("i"); }};
  TestView outer{"outer", {}};
  outer.code = [&](CallContext& c, Recorder& r, auto&) {
    TestCall call(inner, "/a", {}, policy, &shared);
    return text(std::string(engine.call(call, c, &r).entry->value.page()->body));
  };
  leases.takeForGood(keyOf(inner), 1'000'000);
  const auto before = clock.monotonic();
  EXPECT_EQ(askOf(engine, shared, outer).entry->value.page()->body, "i");
  EXPECT_EQ(clock.monotonic(), before);
}

TEST_F(LeaseTest, AStoreThatGivesNoLeasesCostsOnlyWork) {
  leases.broken = true;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::miss_cold);
}

TEST_F(LeaseTest, AManagerWithoutLeasesIsNeverAskedForOne) {
  policy.lease = 0;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  askOf(engine, shared, view);
  policy.lease = 10'000;
  CacheManager without{{"/", "shared", "Map", true}, Policy{}, cache, Waits::always};
  askOf(engine, without, view, {}, "/b");
  EXPECT_EQ(leases.asked, 0);
}

TEST_F(LeaseTest, LedgerL24_ALatePutDoesNotReplaceTheResultOfALaterSnapshot) {
  int version = 1;
  TestView view{"page", {}};
  view.code = [&](auto&, Recorder& r, auto&) {
    r.object("/a");
    const int seen = version;
    if (seen == 1) {
      version = 2;
      change("obj:/a");
      CacheManager without{{"/", "shared", "Map", true}, Policy{}, cache, Waits::always};
      askOf(other, without, view);
    }
    return text(std::to_string(seen));
  };
  askOf(engine, shared, view);
  EXPECT_EQ(view.counters.total(Outcome::refused_late), 1U);
  EXPECT_EQ(askOf(engine, shared, view).outcome, Outcome::hit);
}

// Rule 27.
TEST_F(LeaseTest, Semantics27_APageOfManyPartsWaitsForAHungStoreOnce) {
  cache->broken = true;
  cache->how = Reason::timeout;
  TestView inner{"inner", [](auto&, auto&, auto&) { return text("i"); }};
  TestView outer{"outer", [&](CallContext& c, Recorder& r, auto&) {
                   for (int i = 0; i < 25; ++i) {
                     TestCall call(inner, "/" + std::to_string(i), {}, policy, &shared);
                     EXPECT_TRUE(engine.call(call, c, &r).entry);
                   }
                   return text("o");
                 }};
  EXPECT_EQ(askOf(engine, shared, outer).outcome, Outcome::miss_error);
  EXPECT_EQ(cache->gets + cache->puts, 1U);
  EXPECT_EQ(leases.asked, 0);
  EXPECT_EQ(inner.counters.total(Outcome::miss_error), 25U);
}

class TimeTest : public ::testing::Test, protected EngineWorld {
 protected:
  TimeTest() : EngineWorld(ManualExecutor::Waiting::drives) {}
};

TEST_F(TimeTest, ARenderThatTakesTooLongIsAnErrorAndItsResultIsNotUsed) {
  policy.render_timeout = 1'000;
  bool slow = true;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  if (slow) clock.advance(1'000);
                  return text("x");
                }};
  EXPECT_THROW(ask(view), RenderTimeout);
  EXPECT_EQ(cache->size(), 0U);
  EXPECT_EQ(view.counters.total(Outcome::render_timeouts), 1U);
  slow = false;
  EXPECT_EQ(body(view), "x");
}

TEST_F(TimeTest, WhatAViewAsksForEndsItWhenItsTimeIsOver) {
  policy.render_timeout = 1'000;
  bool went_on = false;
  TestView view{"page", [&](CallContext& c, auto&, auto&) {
                  clock.advance(1'000);
                  c.checkTime(clock);
                  went_on = true;
                  return text("x");
                }};
  EXPECT_THROW(ask(view), RenderTimeout);
  EXPECT_FALSE(went_on);
}

TEST_F(TimeTest, Semantics09_StaleIfErrorServesAlsoWhenTheRenderTimesOut) {
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  policy.render_timeout = 1'000;
  bool slow = false;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  if (slow) clock.advance(1'000);
                  return text("x");
                }};
  body(view);
  clock.advance(2'000);
  slow = true;
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
}

TEST_F(TimeTest, PastTheSoftTimeoutAStaleResultIsServedAndTheRenderGoesOn) {
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  policy.soft_timeout = 100;
  int version = 1;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(version)); }};
  body(view);
  clock.advance(2'000);
  version = 2;
  // The background is busy for longer than the visitor wants to wait.
  std::vector<Executor::Task> held;
  struct Busy final : Executor {
    explicit Busy(Executor& real, std::vector<Task>& tasks) : real_(real), tasks_(tasks) {}
    bool post(Task task) noexcept override {
      tasks_.push_back(std::move(task));
      return true;
    }
    bool postAt(Millis when, Task task) noexcept override {
      return real_.postAt(when, std::move(task));
    }
    std::unique_ptr<Event> makeEvent() override { return real_.makeEvent(); }
    Executor& real_;
    std::vector<Task>& tasks_;
  } busy(executor, held);
  Engine slow{ledger, snapshots, clock, busy, {}, {}};
  const auto answer = askOf(slow, manager, view);
  EXPECT_EQ(answer.outcome, Outcome::hit_stale);
  EXPECT_EQ(answer.entry->value.page()->body, "1");
  EXPECT_EQ(view.counters.total(Outcome::soft_timeouts), 1U);
  ASSERT_EQ(held.size(), 1U);
  held[0]();
  EXPECT_EQ(askOf(slow, manager, view).outcome, Outcome::hit);
  EXPECT_EQ(view.counters.lookups(), 3U);
}

TEST_F(TimeTest, BeforeTheSoftTimeoutTheNewResultIsServed) {
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  policy.soft_timeout = 100;
  int version = 1;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(version)); }};
  body(view);
  clock.advance(2'000);
  version = 2;
  EXPECT_EQ(body(view), "2");
  EXPECT_EQ(view.runs, 2);
}

TEST_F(TimeTest, LedgerL19_PastTheSoftTimeoutNothingHardInvalidIsServed) {
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  policy.soft_timeout = 100;
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text(std::to_string(version));
                }};
  body(view);
  clock.advance(2'000);
  executor.post([&] {
    version = 2;
    change("obj:/a");
    clock.advance(500);
  });
  EXPECT_EQ(body(view), "2");
}

class GateTest : public ::testing::Test, protected EngineWorld {
 protected:
  GateTest()
      : EngineWorld(ManualExecutor::Waiting::blocks, {.max_renders = 2, .render_wait = 1'000}) {}
};

TEST_F(GateTest, ARenderWaitsForItsTurnAndIsRefusedWhenItDoesNotCome) {
  policy.max_renders = 1;
  std::atomic<bool> go{false};
  TestView view{"page", [&](auto&, auto&, auto&) {
                  while (!go) std::this_thread::yield();
                  return text("x");
                }};
  std::thread first([&] { EXPECT_EQ(body(view, {}, "/a"), "x"); });
  while (view.runs == 0) std::this_thread::yield();
  std::thread second([&] { EXPECT_THROW(body(view, {}, "/b"), CallRefused); });
  clock.awaitWaiters(1);
  clock.advance(1'000);
  second.join();
  EXPECT_EQ(view.counters.total(Outcome::refused_busy), 1U);
  std::thread third([&] { EXPECT_EQ(body(view, {}, "/c"), "x"); });
  clock.awaitWaiters(1);
  go = true;
  first.join();
  third.join();
  EXPECT_EQ(view.runs, 2);
}

// A reload while somebody waits.
TEST_F(GateTest, ALimitThatIsRaisedOrLoweredHoldsForAllWhoComeAfter) {
  RenderGate gate;
  std::atomic<int> entered{0};
  std::atomic<int> may_leave{0};
  std::atomic<int> left{0};
  const auto render = [&](std::size_t limit) {
    return std::thread([&, limit] {
      {
        const RenderGate::Place place(&gate, limit, executor, kForever);
        const int mine = ++entered;
        while (may_leave < mine) std::this_thread::yield();
      }
      ++left;
    });
  };
  const auto await = [](const std::atomic<int>& counter, int count) {
    while (counter < count) std::this_thread::yield();
  };
  std::vector<std::thread> renders;
  renders.push_back(render(1));
  await(entered, 1);
  for (const std::size_t limit : {1, 3, 3}) {
    renders.push_back(render(limit));
    clock.awaitWaiters(renders.size() - 1);
  }
  may_leave = 1;  // the next one comes, and behind him there is room for three
  await(entered, 4);
  renders.push_back(render(1));
  clock.awaitWaiters(1);
  may_leave = 3;  // one of them is left, which is as many as may be
  await(left, 3);
  EXPECT_EQ(entered, 4);
  may_leave = 5;
  for (auto& one : renders) one.join();
  EXPECT_EQ(entered, 5);
}

TEST_F(GateTest, InsteadOfARefusalWhatIsStaleIsServed) {
  policy.max_renders = 1;
  policy.max_age = 1'000;
  policy.stale_if_error = 60'000;
  std::atomic<bool> hold{false};
  TestView view{"page", [&](auto&, auto&, auto&) {
                  while (hold) std::this_thread::yield();
                  return text("x");
                }};
  body(view, {}, "/b");
  clock.advance(2'000);
  hold = true;
  std::thread first([&] { body(view, {}, "/a"); });
  while (view.runs == 1) std::this_thread::yield();
  std::thread second([&] { EXPECT_EQ(ask(view, {}, "/b").outcome, Outcome::hit_stale); });
  clock.awaitWaiters(1);
  clock.advance(1'000);
  second.join();
  hold = false;
  first.join();
}

TEST_F(GateTest, PartsOfAPageNeedNoPlaceOfTheirOwn) {
  policy.max_renders = 1;
  TestView inner{"inner", [](auto&, auto&, auto&) { return text("i"); }};
  TestView outer{"outer", [&](CallContext& c, Recorder& r, auto&) {
                   return text(part(inner, c, r) + part(inner, c, r, "/b"));
                 }};
  EXPECT_EQ(body(outer), "ii");
}

TEST_F(GateTest, ACycleOverTwoRequestsIsReportedWithItsPath) {
  TestView one{"one", {}};
  TestView two{"two", {}};
  one.code = [&](CallContext& c, Recorder& r, auto&) {
    while (two.runs == 0) std::this_thread::yield();
    return text(part(two, c, r));
  };
  two.code = [&](CallContext& c, Recorder& r, auto&) {
    while (one.runs == 0) std::this_thread::yield();
    return text(part(one, c, r));
  };
  std::atomic<int> reported{0};
  const auto client = [&](TestView& view) {
    try {
      body(view);
    } catch (const CallCycle& e) {
      reported += e.path.find(" -> ") != std::string::npos ? 1 : 0;
    }
  };
  std::thread a([&] { client(one); });
  std::thread b([&] { client(two); });
  a.join();
  b.join();
  EXPECT_EQ(reported, 2);
}

TEST_F(GateTest, ACallThatNestsTooDeepIsReportedAsWhatItIs) {
  TestView view{"page", {}};
  view.code = [&](CallContext& c, Recorder& r, auto&) {
    return text(part(view, c, r, "/" + std::to_string(view.runs)));
  };
  try {
    body(view);
    FAIL();
  } catch (const CallCycle& e) {
    EXPECT_EQ(e.problem, "views call each other more than 64 deep");
  }
  EXPECT_EQ(view.runs, 64);
}

TEST_F(GateTest, AThousandClientsOfOneColdKeyRenderOnce) {
  constexpr std::size_t kClients = 1'000;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  clock.awaitWaiters(kClients - 1);
                  return text("x");
                }};
  std::vector<std::thread> clients;
  std::atomic<std::size_t> right{0};
  for (std::size_t i = 0; i < kClients; ++i)
    clients.emplace_back([&] { right += body(view) == "x" ? 1U : 0U; });
  for (auto& client : clients) client.join();
  EXPECT_EQ(view.runs, 1);
  EXPECT_EQ(right, kClients);
  EXPECT_EQ(view.counters.total(Outcome::coalesced), kClients - 1);
}

TEST_F(GateTest, LedgerL16_NobodyWaitsForWhatMayNotBeStored) {
  std::atomic<bool> go{false};
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.refuse("of one visitor");
                  while (view.runs == 2 && !go) std::this_thread::yield();
                  return text("x");
                }};
  body(view);
  std::thread slow([&] { EXPECT_EQ(body(view), "x"); });
  while (view.runs < 2) std::this_thread::yield();
  EXPECT_EQ(body(view), "x") << "while the other one renders";
  go = true;
  slow.join();
  EXPECT_EQ(view.runs, 3);
}

}  // namespace
}  // namespace larder::testing
