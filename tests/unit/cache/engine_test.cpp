#include "larder/cache/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine_fixture.h"
#include "larder/cache/scope.h"

namespace larder::testing {
namespace {

class EngineTest : public ::testing::Test, protected EngineWorld {};

TEST_F(EngineTest, SecondCallIsServedFromTheCache) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  body(view);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  EXPECT_EQ(view.runs, 1);
}

TEST_F(EngineTest, Semantics14_KeyHoldsTheRevision) {
  KeyBuilder a;
  KeyBuilder b;
  a.begin("s", "/a", "v", 1);
  b.begin("s", "/a", "v", 2);
  EXPECT_NE(a.bytes(), b.bytes());
}

TEST_F(EngineTest, Semantics20_AnInvalidationIsOverWhenItReturns) {
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text(std::to_string(version));
                }};
  body(view);
  version = 2;
  change("obj:/a");
  EXPECT_EQ(body(view), "2");
}

TEST_F(EngineTest, Semantics19_SubtreeCoversWhatIsBelowAndNothingElse) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.object("/a/b");
                  return text("x");
                }};
  TestView other{"page", [](auto&, Recorder& r, auto&) {
                   r.object("/ab");
                   return text("y");
                 }};
  body(view, {}, "/a/b");
  body(other, {}, "/ab");
  change("subtree:/a");
  body(view, {}, "/a/b");
  body(other, {}, "/ab");
  EXPECT_EQ(view.runs, 2);
  EXPECT_EQ(other.runs, 1);
}

TEST_F(EngineTest, Semantics20_ARenderThatBeganBeforeAnEditIsStoredButNeverServed) {
  int version = 1;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  const auto seen = version;
                  if (version == 1) {
                    version = 2;
                    change("obj:/a");  // the edit commits while the render goes on
                  }
                  return text(std::to_string(seen));
                }};
  EXPECT_EQ(body(view), "1");
  EXPECT_EQ(body(view), "2");
}

TEST_F(EngineTest, LedgerL04_ACachedAbsenceFallsWhenTheObjectIsCreated) {
  bool exists = false;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a/new");
                  return text(exists ? "here" : "absent");
                }};
  body(view);
  exists = true;
  change("new:/a/new");
  EXPECT_EQ(body(view), "here");
}

TEST_F(EngineTest, LedgerL05_AnEntryWithoutScopesFallsWithItsManagerViewAndSite) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  for (const auto& scope :
       {managerScope("/", "fast"), viewScope("page", "/a"), std::string(kSiteScope)}) {
    body(view);
    const int before = view.runs;
    change(scope);
    body(view);
    EXPECT_EQ(view.runs, before + 1) << scope;
  }
}

TEST_F(EngineTest, LedgerL15_AUsersPageNeverReachesAnotherThoughTheInputWasUnknown) {
  TestView view{"page", [](auto&, Recorder& r, const MapInputs& in) {
                  r.input("user");
                  const auto it = in.values.find("user");
                  return text(it == in.values.end() ? "nobody" : it->second);
                }};
  EXPECT_EQ(body(view, {{"user", "anna"}}), "anna");
  EXPECT_EQ(body(view, {{"user", "ben"}}), "ben");
  EXPECT_EQ(body(view), "nobody");
  EXPECT_EQ(body(view, {{"user", "anna"}}), "anna");
  EXPECT_EQ(view.runs, 3);
}

TEST_F(EngineTest, LedgerL15_AnInputReadOnlyByOthersDoesNotMixTheirResults) {
  // The first render reads only "param:kind"; with kind=full it reads the user too.
  TestView view{"page", [](auto&, Recorder& r, const MapInputs& in) {
                  r.input("param:kind");
                  if (in.values.contains("param:kind")) {
                    r.input("user");
                    return text("full " + in.values.find("user")->second);
                  }
                  return text("short");
                }};
  body(view, {{"user", "anna"}});
  EXPECT_EQ(body(view, {{"user", "anna"}, {"param:kind", "full"}}), "full anna");
  EXPECT_EQ(body(view, {{"user", "ben"}, {"param:kind", "full"}}), "full ben");
}

TEST_F(EngineTest, UnreadInputsDoNotSplitEntries) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.input("param:q");
                  return text("x");
                }};
  body(view, {{"param:q", "1"}});
  body(view, {{"param:q", "1"}, {"param:utm_source", "mail"}});
  EXPECT_EQ(view.runs, 1);
}

TEST_F(EngineTest, DeclaredModeDoesNotStoreWhatReadAnotherInput) {
  policy.mode = KeyMode::declared;
  policy.request_vars = {"param:q"};
  TestView view{"page",
                [](auto&, Recorder& r, auto&) {
                  r.input("header:x-host");
                  return text("x");
                },
                InputNames{"param:q"}};
  body(view);
  EXPECT_EQ(view.counters.total(Outcome::refused_input), 1U);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("header:x-host"), std::string::npos);
}

TEST_F(EngineTest, Semantics08_ZeroMaxAgeDoesNotStore) {
  policy.max_age = 0;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  body(view);
  EXPECT_EQ(cache->size(), 0U);
}

TEST_F(EngineTest, Semantics08_AShorterMaxAgeHoldsForWhatIsStoredAlready) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  body(view);
  clock.advance(60'000);
  policy.max_age = 61'000;
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  policy.max_age = 60'000;
  EXPECT_EQ(ask(view).outcome, Outcome::miss_expired);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  policy.max_age = 0;
  policy.stale_if_error = 60'000;
  EXPECT_FALSE(ask(view).stored);
}

TEST_F(EngineTest, Semantics10_AShorterTimeForNotFoundHoldsForWhatIsStoredAlready) {
  policy.max_age_not_found = 600'000;
  policy.max_age = 1'000;
  TestView view{"page", [](auto&, auto&, auto&) {
                  Page page;
                  page.status = 404;
                  return page;
                }};
  (void)ask(view);
  clock.advance(60'000);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  policy.max_age_not_found = 60'000;
  EXPECT_EQ(ask(view).outcome, Outcome::miss_expired);
}

TEST_F(EngineTest, Semantics09_ShorterTimesForStaleHoldForWhatIsStoredAlready) {
  policy.max_age = 1'000;
  policy.stale_while_revalidate = policy.stale_if_error = 60'000;
  bool broken = false;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  if (broken) throw std::runtime_error("no database");
                  return text("x");
                }};
  body(view);
  clock.advance(2'000);
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
  policy.stale_while_revalidate = 500;
  broken = true;
  EXPECT_EQ(body(view), "x");
  policy.stale_if_error = 500;
  EXPECT_THROW(ask(view), std::runtime_error);
}

TEST_F(EngineTest, Semantics08_APageIsFreshNoLongerThanAPartWhoseTimeWasShortened) {
  TestView part_view{"part", [](auto&, auto&, auto&) { return text("x"); }};
  body(part_view);
  clock.advance(1'000);
  policy.max_age = 5'000;
  TestView page{"page",
                [&](CallContext& c, Recorder& r, auto&) { return text(part(part_view, c, r)); }};
  policy.max_age_not_found = 0;  // the part's kind is looked at
  EXPECT_EQ(ask(page).entry->lifetime.fresh_until, clock.monotonic() + 4'000);
}

TEST_F(EngineTest, Semantics08_WhatAViewLimitsToLessThanNothingIsNotStored) {
  policy.stale_while_revalidate = 60'000;
  policy.stale_if_error = 60'000;
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.limitMaxAge(-1);
                  return text("x");
                }};
  EXPECT_FALSE(ask(view).stored);
  EXPECT_EQ(cache->puts, 0);
}

TEST_F(EngineTest, Semantics09_AStaleEntryIsServedWhileOneRefreshRuns) {
  policy.max_age = 1000;
  policy.stale_while_revalidate = 500;
  int version = 1;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(version)); }};
  body(view);
  version = 2;
  clock.advance(1200);
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
  EXPECT_EQ(body(view), "1");
  EXPECT_EQ(executor.runAll(), 1U);
  EXPECT_EQ(body(view), "2");
}

TEST_F(EngineTest, Semantics09_StaleIfErrorServesOnlyWhenTheRenderFails) {
  policy.max_age = 1000;
  policy.stale_if_error = 5000;
  bool broken = false;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  if (broken) throw std::runtime_error("no database");
                  return text("x");
                }};
  body(view);
  clock.advance(2000);
  broken = true;
  EXPECT_EQ(body(view), "x");
  clock.advance(5000);
  EXPECT_THROW(ask(view), std::runtime_error);
}

TEST_F(EngineTest, LedgerL19_AHardInvalidEntryIsNotServedWhenTheRenderFails) {
  policy.stale_if_error = 5000;
  bool broken = false;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  if (broken) throw std::runtime_error("no database");
                  return text("x");
                }};
  body(view);
  broken = true;
  change("obj:/a");
  EXPECT_THROW(ask(view), std::runtime_error);
}

TEST_F(EngineTest, Semantics21_SoftInvalidationServesStaleHardDoesNot) {
  policy.stale_while_revalidate = 5000;
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.scope(tagScope("news"));
                  return text("x");
                }};
  body(view);
  change(tagScope("news"), Hardness::soft);
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
  change(tagScope("news"), Hardness::hard);
  EXPECT_EQ(ask(view).outcome, Outcome::miss_changed);
}

TEST_F(EngineTest, Semantics21_WithoutATimeToServeStaleASoftInvalidationIsAMiss) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.scope(tagScope("news"));
                  return text("x");
                }};
  body(view);
  change(tagScope("news"), Hardness::soft);
  EXPECT_EQ(ask(view).outcome, Outcome::miss_changed);
}

TEST_F(EngineTest, LedgerL09_EntriesOfAnEraThatIsNoLongerKnownAreInvalid) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  const auto entry = ask(view).entry.share();
  MemoryLedger other;
  EXPECT_EQ(other.judge(*entry), Verdict::history);
}

TEST_F(EngineTest, Semantics13_SetCookieIsNotStored) {
  TestView view{"page", [](auto&, auto&, auto&) -> Value {
                  Page page;
                  page.setHeader("Set-Cookie", "a=b");
                  return page;
                }};
  ask(view);
  EXPECT_EQ(cache->size(), 0U);
}

TEST_F(EngineTest, Semantics10_ErrorsAreNotStoredNotFoundHasItsOwnTime) {
  policy.max_age_not_found = 10;
  int status = 500;
  TestView view{"page", [&](auto&, auto&, auto&) -> Value {
                  Page page;
                  page.status = status;
                  page.body = "x";
                  return page;
                }};
  ask(view);
  EXPECT_EQ(cache->size(), 0U);
  status = 404;
  ask(view);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  clock.advance(10);
  EXPECT_EQ(ask(view).outcome, Outcome::miss_expired);
}

TEST_F(EngineTest, Semantics16_EmptyValuesAreValues) {
  for (const Tree& value : {Tree(), Tree(false), Tree(0), Tree(""), Tree::list()}) {
    TestView view{"v" + std::to_string(value.value().index()),
                  [&](auto&, auto&, auto&) -> Value { return Document::from(value); }};
    ask(view);
    const auto again = ask(view);
    EXPECT_EQ(view.runs, 1);
    EXPECT_EQ(again.entry->value.document(), Document::from(value));
  }
}

TEST_F(EngineTest, LedgerL17_ClockWithoutABoundIsNotStoredWithOneItIs) {
  bool bounded = false;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.input("now");
                  if (bounded) r.limitMaxAge(1000);
                  return text("x");
                }};
  ask(view);
  EXPECT_EQ(cache->size(), 0U);
  bounded = true;
  ask(view);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
}

TEST_F(EngineTest, Semantics09_ARefreshThatStoresNothingIsTriedAgain) {
  policy.max_age = 100;
  policy.stale_while_revalidate = 60'000;
  bool storable = true;
  TestView view{"page", [&](auto&, Recorder& recorder, auto&) {
                  if (!storable) recorder.refuse("not now");
                  return text("x");
                }};
  ask(view);
  clock.advance(200);
  storable = false;
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
  executor.runAll();
  EXPECT_EQ(view.runs, 2);
  clock.advance(5'000);  // a result that may not be stored is not waited for, for some seconds
  storable = true;
  EXPECT_EQ(ask(view).outcome, Outcome::hit_stale);
  executor.runAll();
  EXPECT_EQ(view.runs, 3);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
}

TEST_F(EngineTest, LedgerL17_ADateFilterCapsTheEntryAtTheNextBoundary) {
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.limitUntil(clock.wall() + 500);
                  return text("x");
                }};
  ask(view);
  clock.advance(499);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  clock.advance(1);
  EXPECT_EQ(ask(view).outcome, Outcome::miss_expired);
}

TEST_F(EngineTest, Semantics12_AWallClockJumpDoesNotTouchEntriesOfThisProcess) {
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  ask(view);
  clock.jumpWall(3'600'000);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
  clock.jumpWall(-7'200'000);
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
}

TEST_F(EngineTest, MaxVariantsStoresNoMoreButGoesOnServing) {
  policy.max_variants = 3;
  TestView view{"page", [](auto&, Recorder& r, const MapInputs& in) {
                  r.input("param:q");
                  return text(in.values.find("param:q")->second);
                }};
  for (int i = 0; i < 10; ++i) ask(view, {{"param:q", std::to_string(i)}});
  EXPECT_EQ(cache->size(), 3U);
  EXPECT_EQ(ask(view, {{"param:q", "1"}}).outcome, Outcome::hit);
  EXPECT_EQ(view.counters.total(Outcome::refused_variants), 7U);
}

TEST_F(EngineTest, ABrokenCacheIsAnErrorNotAMissAndThePageIsServed) {
  cache->broken = true;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  EXPECT_EQ(ask(view).outcome, Outcome::miss_error);
  EXPECT_EQ(body(view), "x");
}

TEST_F(EngineTest, TheSumOfOutcomesIsTheNumberOfLookups) {
  policy.max_age = 1000;
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  return text("x");
                }};
  for (int i = 0; i < 5; ++i) ask(view);
  change("obj:/a");
  ask(view);
  clock.advance(1000);
  ask(view);
  EXPECT_EQ(view.counters.lookups(), 7U);
  EXPECT_EQ(view.counters.total(Outcome::hit), 4U);
}

TEST_F(EngineTest, AuditReportsAResultThatDependsOnSomethingUnrecorded) {
  policy.audit = 1;
  int hidden = 1;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(hidden)); }};
  ask(view);
  hidden = 2;
  ask(view);
  executor.runAll();
  EXPECT_EQ(view.counters.total(Outcome::audit_mismatches), 1U);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("'page' of /a"), std::string::npos);
}

TEST_F(EngineTest, ManyClientsOfOneColdKeyRenderOnce) {
  std::atomic<int> inside{0};
  TestView view{"page", [&](auto&, auto&, auto&) {
                  clock.awaitWaiters(15);
                  ++inside;
                  return text("x");
                }};
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] { right += body(view) == "x" ? 1 : 0; });
  }
  for (auto& c : clients) c.join();
  EXPECT_EQ(view.runs, 1);
  EXPECT_EQ(right, 16);
  EXPECT_EQ(view.counters.lookups(), 16U);
}

TEST_F(EngineTest, LedgerL16_AFollowerThatCameAfterTheInvalidationDoesNotTakeTheOlderRender) {
  std::atomic<int> version{1};
  std::atomic<bool> acknowledged{false};
  TestView view{
      "page", [&](auto&, Recorder& r, auto&) {
        r.object("/a");
        const int seen = version;
        if (seen == 1) {
          version = 2;
          change("obj:/a");
          acknowledged = true;
          clock.awaitWaiters(1);  // the follower has come, after the change was acknowledged
        }
        return text(std::to_string(seen));
      }};
  std::thread leader([&] { EXPECT_EQ(body(view), "1"); });
  while (!acknowledged) std::this_thread::yield();
  EXPECT_EQ(body(view), "2");
  leader.join();
}

TEST_F(EngineTest, LedgerL16_AFollowerWithOtherInputsRendersForItself) {
  TestView view{"page", [&](auto&, Recorder& r, const MapInputs& in) {
                  const auto user = in.values.find("user")->second;
                  if (user == "anna") clock.awaitWaiters(1);
                  r.input("user");
                  return text(user);
                }};
  std::thread leader([&] { EXPECT_EQ(body(view, {{"user", "anna"}}), "anna"); });
  while (view.runs == 0) std::this_thread::yield();
  EXPECT_EQ(body(view, {{"user", "ben"}}), "ben");
  leader.join();
}

TEST_F(EngineTest, AFailingLeaderDoesNotHangOrFailItsFollowers) {
  std::atomic<int> attempts{0};
  TestView view{"page", [&](auto&, auto&, auto&) {
                  if (attempts++ == 0) {
                    clock.awaitWaiters(3);
                    throw std::runtime_error("first one fails");
                  }
                  return text("x");
                }};
  std::atomic<int> served{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      try {
        served += body(view) == "x" ? 1 : 0;
      } catch (const std::runtime_error&) {
        ++failed;
      }
    });
  }
  for (auto& c : clients) c.join();
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(served, 3);
}

TEST_F(EngineTest, Semantics13_WhatSaysNoStoreIsNotStored) {
  TestView view{"page", [](auto&, auto&, auto&) -> Value {
                  Page page;
                  page.setHeader("Cache-Control", "private, no-store");
                  return page;
                }};
  ask(view);
  EXPECT_EQ(cache->size(), 0U);
}

TEST_F(EngineTest, Semantics13_AFailedRenderIsNotStored) {
  TestView view{"page", [](auto&, auto&, auto&) -> Value { throw std::runtime_error("no"); }};
  EXPECT_THROW(ask(view), std::runtime_error);
  EXPECT_EQ(cache->size(), 0U);
}

TEST_F(EngineTest, LedgerL18_EnumeratingIsOneInputThatCoversAllOfItsKind) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.input("params");
                  r.input("param:q");
                  return text("x");
                }};
  ask(view);
  EXPECT_EQ(view.inputs.known(), InputNames{"params"});
}

}  // namespace
}  // namespace larder::testing
