// What the engine tells about itself: mode "observe", audits, statistics, explanations.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine_fixture.h"
#include "larder/cache/compare.h"
#include "larder/cache/scope.h"

namespace larder::testing {
namespace {

class WatchTest : public ::testing::Test, protected EngineWorld {
 protected:
  Inspection inspect(TestView& view,
                     const std::map<std::string, std::string, std::less<>>& values = {},
                     const std::string& path = "/a") {
    MapInputs inputs;
    inputs.values = values;
    const TestCall call(view, path, std::move(inputs), policy, &manager);
    return engine.inspect(call, clock.monotonic());
  }
};

TEST_F(WatchTest, ObservingServesNothingFromTheCacheAndCountsWhatItWould) {
  policy.mode = KeyMode::observe;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.input("param:q");
                  clock.advance(20);
                  return text("x");
                }};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(view).outcome, Outcome::bypass);
  EXPECT_EQ(view.runs, 5);
  EXPECT_EQ(view.counters.total(Outcome::observed_hits), 4U);
  EXPECT_EQ(view.counters.observedMicroseconds(), 80'000U);
  EXPECT_EQ(view.counters.savedMicroseconds(), 0U);
  EXPECT_EQ(view.counters.lookups(), 5U);
}

TEST_F(WatchTest, ObservingCountsAndShowsWhatWouldHaveBeenWrong) {
  policy.mode = KeyMode::observe;
  int hidden = 0;
  TestView view{"page", [&](auto&, auto&, auto&) { return text("n=" + std::to_string(++hidden)); }};
  ask(view);
  ask(view);
  EXPECT_EQ(view.counters.total(Outcome::audit_mismatches), 1U);
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("stored 'n=1', rendered 'n=2'"), std::string::npos) << log[0];
}

TEST_F(WatchTest, ObservedResultsExpireAsCachedOnesDo) {
  policy.mode = KeyMode::observe;
  policy.max_age = 1'000;
  TestView view{"page", [](auto&, auto&, auto&) { return text("x"); }};
  ask(view);
  clock.advance(600);
  ask(view);
  clock.advance(600);
  ask(view);
  EXPECT_EQ(view.counters.total(Outcome::observed_hits), 1U);
}

TEST_F(WatchTest, AnAuditDoesNotSeeWhatAMaskCovers) {
  policy.audit = 1;
  policy.audit_mask = {"<time>*</time>"};
  int times = 0;
  TestView view{"page", [&](auto&, auto&, auto&) {
                  return text("a <time>" + std::to_string(++times) + "</time> b");
                }};
  ask(view);
  ask(view);
  executor.runAll();
  EXPECT_EQ(view.counters.total(Outcome::audits), 1U);
  EXPECT_EQ(view.counters.total(Outcome::audit_mismatches), 0U);
}

TEST_F(WatchTest, PastTheLimitOfMismatchesAViewIsNotCached) {
  policy.audit = 1;
  policy.audit_limit = 0.5;
  int hidden = 0;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(++hidden)); }};
  for (int i = 0; i < 4; ++i) {
    ask(view);
    executor.runAll();
  }
  EXPECT_TRUE(view.trust.lost());
  EXPECT_EQ(ask(view).outcome, Outcome::bypass);
  ASSERT_FALSE(log.empty());
  EXPECT_NE(log.back().find("audit_mask"), std::string::npos) << log.back();
}

TEST_F(WatchTest, APageIsNotStoredWithAPartThatLostItsTrust) {
  TestView part{"part", [](auto&, auto&, auto&) { return text("x"); }};
  TestView page{"page", [&](CallContext& c, Recorder& r, auto&) {
                  TestCall call(part, "/a", {}, policy, &manager);
                  return engine.call(call, c, &r).entry->value;
                }};
  for (int i = 0; i < 3; ++i) (void)part.trust.audited(false, 0.1);
  ASSERT_TRUE(part.trust.lost());
  ask(page);
  EXPECT_EQ(page.counters.total(Outcome::refused_render), 1U);
}

TEST_F(WatchTest, ALimitOfOneNeverStopsTheCaching) {
  policy.audit = 1;
  policy.audit_limit = 1;
  int hidden = 0;
  TestView view{"page", [&](auto&, auto&, auto&) { return text(std::to_string(++hidden)); }};
  for (int i = 0; i < 10; ++i) {
    ask(view);
    executor.runAll();
  }
  EXPECT_EQ(ask(view).outcome, Outcome::hit);
}

TEST(Compare, TellsWhereResultsDiffer) {
  const auto page = [](int status, std::string body) {
    Page p;
    p.status = status;
    p.body = std::move(body);
    return Value(p);
  };
  const std::vector<std::string> masks = {"<b>*</b>"};
  EXPECT_EQ(differenceOf(page(200, "a"), page(200, "a"), {}), "");
  EXPECT_EQ(differenceOf(page(200, "a"), page(404, "a"), {}), "status: stored 200, rendered 404");
  EXPECT_EQ(differenceOf(page(200, "a\nbc"), page(200, "a\nbd"), {}),
            "line 2: stored 'a bc', rendered 'a bd'");
  EXPECT_EQ(differenceOf(page(200, "<b>1</b><b>2</b>"), page(200, "<b>3</b><b></b>"), masks), "");
  EXPECT_NE(differenceOf(page(200, "<b>1</b>x"), page(200, "<b>1</b>y"), masks), "");
  EXPECT_NE(differenceOf(page(200, "<b>1"), page(200, "<b>2"), masks), "") << "an open end";
  EXPECT_NE(differenceOf(Document::from(Tree(1)), Document::from(Tree(2)), {}), "");
}

TEST(Compare, RefusesMasksThatSayNothing) {
  for (const char* mask : {"", "*", "a*", "*b", "a*b*c", "ab"})
    EXPECT_FALSE(checkMask(mask)) << mask;
  EXPECT_TRUE(checkMask("a*b"));
}

// Exact under load: whatever happens to a call, it is counted once.
TEST_F(WatchTest, TheSumOfOutcomesIsTheNumberOfLookupsUnderLoad) {
  policy.max_age = 5;
  policy.stale_if_error = 5;
  policy.soft_timeout = 1;
  TestView view{"page", [&](auto&, Recorder& r, const MapInputs& in) -> Value {
                  r.input("param:q");
                  r.object("/a");
                  const auto q = in.values.find("param:q")->second;
                  if (q == "3") throw std::runtime_error("broken");
                  if (q == "4") r.refuse("not to be stored");
                  return text(q);
                }};
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  std::atomic<bool> done{false};
  std::thread background([&] {
    while (!done) {
      executor.runAll();
      clock.advance(1);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kEach; ++i) {
        if (random() % 50 == 0) change("obj:/a");
        try {
          ask(view, {{"param:q", std::to_string(random() % 5)}});
        } catch (const std::runtime_error&) {
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  done = true;
  background.join();
  EXPECT_EQ(view.counters.lookups(), std::uint64_t{kThreads} * kEach);
  EXPECT_EQ(view.object.lookups(), std::uint64_t{kThreads} * kEach);
  EXPECT_EQ(manager.counters().lookups(), std::uint64_t{kThreads} * kEach);
  std::uint64_t ends = view.counters.total(Outcome::render_errors);
  for (auto i = static_cast<std::size_t>(Outcome::stores);
       i <= static_cast<std::size_t>(Outcome::refused_late); ++i)
    ends += view.counters.total(static_cast<Outcome>(i));
  EXPECT_EQ(ends, view.counters.total(Outcome::renders)) << "each render has one end";
}

TEST_F(WatchTest, TimeSavedIsCountedByManagerViewAndObject) {
  TestView view{"page", [&](auto&, auto&, auto&) {
                  clock.advance(30);
                  return text("x");
                }};
  ask(view);
  ask(view);
  EXPECT_EQ(view.counters.savedMicroseconds(), 30'000U);
  EXPECT_EQ(manager.counters().savedMicroseconds(), 30'000U);
  EXPECT_EQ(view.object.total(ObjectCounters::Kind::saved_us), 30'000U);
}

TEST(ObjectStatistics, BoundsTheObjectsItTellsApart) {
  ObjectStatistics statistics;
  for (std::size_t i = 0; i < ObjectStatistics::kMost + 10; ++i)
    statistics.of("/" + std::to_string(i), "page").add(Outcome::hit);
  std::size_t objects = 0;
  std::uint64_t hits = 0;
  std::uint64_t others = 0;
  statistics.forEach([&](std::string_view path, std::string_view, const ObjectCounters& counters) {
    ++objects;
    hits += counters.total(ObjectCounters::Kind::hits);
    if (path.empty()) others = counters.lookups();
  });
  EXPECT_EQ(objects, ObjectStatistics::kMost + 1);
  EXPECT_EQ(hits, ObjectStatistics::kMost + 10);
  EXPECT_EQ(others, 10U);
}

TEST_F(WatchTest, ExplainShowsTheEntryAndCountsNothing) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.object("/a");
                  r.input("param:q");
                  return text("x");
                }};
  ask(view, {{"param:q", "1"}});
  const auto lookups = view.counters.lookups();
  const auto shown = inspect(view, {{"param:q", "1"}});
  ASSERT_TRUE(shown.entry);
  EXPECT_EQ(shown.use, "fresh");
  EXPECT_EQ(shown.verdict, "valid");
  EXPECT_EQ(shown.known, InputNames{"param:q"});
  EXPECT_NE(describeKey(shown.key).find("param:q=\"1\""), std::string::npos);
  EXPECT_FALSE(inspect(view, {{"param:q", "2"}}).entry);
  EXPECT_EQ(view.counters.lookups(), lookups);
  EXPECT_EQ(view.runs, 1);
}

TEST_F(WatchTest, ExplainNamesTheChangeThatEndedAnEntry) {
  TestView view{"page", [](auto&, Recorder& r, auto&) {
                  r.object("/a/b");
                  return text("x");
                }};
  ask(view, {}, "/a/b");
  change("subtree:/a");
  const auto shown = inspect(view, {}, "/a/b");
  EXPECT_EQ(shown.verdict, "changed");
  EXPECT_EQ(shown.use, "none");
  ASSERT_TRUE(shown.change);
  EXPECT_EQ(shown.change->scope, "subtree:/a");
  ask(view, {}, "/a/b");
  const auto after = inspect(view, {}, "/a/b");
  ASSERT_TRUE(after.last_miss);
  EXPECT_EQ(after.last_miss->miss, Outcome::miss_changed);
  EXPECT_EQ(after.last_miss->changed, "subtree:/a");
  ASSERT_TRUE(after.last_miss_change);
  EXPECT_EQ(after.last_miss_change->scope, "subtree:/a");
}

TEST_F(WatchTest, ExplainTellsWhyTheLastMissWasOne) {
  policy.max_age = 1'000;
  policy.max_variants = 2;
  bool refuse = false;
  TestView view{"page", [&](auto&, Recorder& r, auto&) {
                  r.input("param:q");
                  if (refuse) r.refuse("shows a CSRF token");
                  return text("x");
                }};
  const std::map<std::string, std::string, std::less<>> q = {{"param:q", "1"}};
  const auto last = [&](const auto& values) { return inspect(view, values).last_miss.value(); };
  ask(view, q);
  EXPECT_EQ(last(q).miss, Outcome::miss_cold);
  EXPECT_EQ(last(q).stored, Outcome::stores);
  EXPECT_FALSE(last(q).evicted);

  cache->clear(0);
  ask(view, q);
  EXPECT_TRUE(last(q).evicted);

  clock.advance(1'000);
  ask(view, q);
  EXPECT_EQ(last(q).miss, Outcome::miss_expired);

  clock.advance(1'000);
  refuse = true;
  ask(view, q);
  EXPECT_EQ(last(q).stored, Outcome::refused_render);
  EXPECT_EQ(last(q).detail, "shows a CSRF token");
  refuse = false;

  ask(view, {{"param:q", "another"}});
  EXPECT_EQ(last(std::map<std::string, std::string, std::less<>>{{"param:q", "another"}}).stored,
            Outcome::refused_variants);

  cache->broken = true;
  cache->how = Reason::too_large;
  ask(view, q);
  EXPECT_EQ(last(q).miss, Outcome::miss_error);
  EXPECT_EQ(last(q).stored, Outcome::refused_cache);
  EXPECT_EQ(last(q).detail, reasonName(Reason::too_large));
}

}  // namespace
}  // namespace larder::testing
