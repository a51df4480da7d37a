// A near cache over one further away: what each is asked, and that validity stays the ledger's.
#include "tiered_manager.h"

#include <gtest/gtest.h>

#include "../cache/engine_fixture.h"
#include "larder/cache/scope.h"
#include "larder/testing/test_host.h"

namespace larder::tiered {
namespace {

using testing::MapCache;

/// Can be swept and tells its health.
class Level final : public MapCache {
 public:
  Stored erase(const CacheKey& key, Deadline deadline) noexcept override {
    if (broken) return {false, Reason::unreachable};
    return MapCache::erase(key, deadline);
  }
  Stored clear(Deadline deadline) noexcept override {
    return clears ? MapCache::clear(deadline) : Stored{false, Reason::unsupported};
  }
  bool sweep(const Expendable& expendable, std::size_t) noexcept override {
    eraseIf(expendable);
    return false;
  }
  [[nodiscard]] Stats stats() const noexcept override { return {{"gets", gets}}; }
  [[nodiscard]] Health health() const noexcept override { return {!broken, broken ? "down" : ""}; }

  bool clears = true;
};

Settings settingsOf(const std::string& l1, const std::string& l2) {
  Settings settings;
  settings.set("l1", l1);
  settings.set("l2", l2);
  return settings;
}

class TieredManagerTest : public ::testing::Test, protected testing::EngineWorld {
 protected:
  TieredManagerTest() {
    host.addManager("near", near);
    host.addManager("far", far);
    tiered = std::make_shared<TieredManager>(host, settingsOf("near", "far"));
  }
  static CacheKey key(std::string_view name) { return {name, digestOf(name), 0}; }
  [[nodiscard]] Deadline soon() const { return clock.monotonic() + 100; }
  EntryPtr entry(std::string_view name, std::uint64_t as_of = 1) {
    auto made = CacheEntry::make(key(name));
    made->stamp.as_of = as_of;
    made->lifetime = {clock.monotonic(), clock.monotonic() + 1000, 0, 0};
    return EntryPtr(std::move(made));
  }
  bool holds(Level& level, std::string_view name) {
    return level.peek(key(name)).status == Status::hit;
  }
  std::uint64_t stat(const std::string& name) {
    for (const auto& [known, number] : tiered->stats())
      if (known == name) return number;
    ADD_FAILURE() << "there is no statistic " << name;
    return 0;
  }

  std::shared_ptr<Level> near = std::make_shared<Level>();
  std::shared_ptr<Level> far = std::make_shared<Level>();
  testing::TestHost host{clock, executor};
  std::shared_ptr<TieredManager> tiered;
};

TEST_F(TieredManagerTest, AHitOfTheNearOneAsksNobodyElse) {
  tiered->put(key("a"), entry("a"), soon());
  const Lookup lookup = tiered->get(key("a"), soon());
  EXPECT_EQ(lookup.status, Status::hit);
  EXPECT_TRUE(lookup.near);
  EXPECT_EQ(far->gets, 0U);
}

TEST_F(TieredManagerTest, AHitOfTheFarOneIsKeptNearWithTheSameEnd) {
  const EntryPtr stored = entry("a");
  far->put(key("a"), stored, soon());
  const Lookup lookup = tiered->get(key("a"), soon());
  EXPECT_EQ(lookup.entry.get(), stored.get());
  EXPECT_FALSE(lookup.near);
  const Lookup kept = near->get(key("a"), soon());
  ASSERT_EQ(kept.status, Status::hit);
  EXPECT_EQ(kept.entry->lifetime.end(), stored->lifetime.end());
  EXPECT_EQ(stat("promoted"), 1U);
  tiered->get(key("a"), soon());
  EXPECT_EQ(far->gets, 1U);
}

TEST_F(TieredManagerTest, AFarOneThatCannotBeAskedDoesNotHideNearHits) {
  tiered->put(key("a"), entry("a"), soon());
  far->broken = true;
  EXPECT_EQ(tiered->get(key("a"), soon()).status, Status::hit);
  EXPECT_EQ(tiered->get(key("b"), soon()).status, Status::error) << "an error is no miss";
  EXPECT_EQ(stat("l2_errors"), 1U);
  EXPECT_TRUE(tiered->put(key("b"), entry("b"), soon()).ok) << "the near one has it";
  EXPECT_EQ(tiered->get(key("b"), soon()).status, Status::hit);
  EXPECT_FALSE(tiered->erase(key("b"), soon()).ok) << "it may still be there";
  EXPECT_EQ(tiered->health().detail, "l2: down");
}

TEST_F(TieredManagerTest, ANearOneThatCannotBeAskedDoesNotHideFarHits) {
  far->put(key("a"), entry("a"), soon());
  near->broken = true;
  EXPECT_EQ(tiered->get(key("a"), soon()).status, Status::hit);
  EXPECT_EQ(tiered->get(key("b"), soon()).status, Status::miss);
  EXPECT_TRUE(tiered->put(key("b"), entry("b"), soon()).ok);
  far->broken = true;
  EXPECT_EQ(tiered->put(key("b"), entry("b"), soon()).reason, Reason::unreachable);
  EXPECT_EQ(tiered->health().detail, "l1: down; l2: down");
}

TEST_F(TieredManagerTest, WithoutTimeOnlyTheNearOneIsAsked) {
  tiered->put(key("a"), entry("a"), soon());
  const Deadline now = clock.monotonic();
  EXPECT_EQ(tiered->get(key("a"), now).status, Status::hit);
  EXPECT_EQ(tiered->get(key("b"), now).status, Status::error);
  const CacheKey keys[] = {key("a"), key("b")};
  Lookup found[2];
  tiered->getMany(keys, found, now);
  EXPECT_EQ(found[0].status, Status::hit);
  EXPECT_EQ(found[1].status, Status::error);
  tiered->getBehind(
      keys, found, [](const CacheEntry&) { return true; }, now);
  EXPECT_EQ(found[0].status, Status::hit) << "better than nothing";
  EXPECT_EQ(found[0].reason, Reason::timeout);
  EXPECT_EQ(far->gets + far->round_trips, 0U);
  EXPECT_EQ(stat("l2_errors"), 0U);
  const Stored stored = tiered->put(key("b"), entry("b"), now);
  EXPECT_TRUE(stored.ok) << "the near one has it";
  EXPECT_EQ(stored.reason, Reason::timeout);
  EXPECT_FALSE(holds(*far, "b"));
}

TEST_F(TieredManagerTest, ManyKeysAreOneRoundTripForWhatTheNearOneLacks) {
  near->put(key("a"), entry("a"), soon());
  far->put(key("b"), entry("b"), soon());
  const CacheKey keys[] = {key("a"), key("b"), key("c")};
  Lookup found[3];
  tiered->getMany(keys, found, soon());
  EXPECT_EQ(found[0].status, Status::hit);
  EXPECT_EQ(found[1].status, Status::hit);
  EXPECT_EQ(found[2].status, Status::miss);
  EXPECT_EQ(far->round_trips, 1U);
  EXPECT_EQ(far->asked_at_once, 2U);
  EXPECT_TRUE(holds(*near, "b"));
  tiered->getMany(std::span(keys).first(2), std::span(found).first(2), soon());
  EXPECT_EQ(far->round_trips, 1U);
}

TEST_F(TieredManagerTest, AnEntryThatIsOverHidesNoBetterOneFurtherAway) {
  const CacheKey keys[] = {key("a")};
  Lookup found;
  const auto behind = [&](std::uint64_t least) {
    tiered->getBehind(
        keys, {&found, 1}, [least](const CacheEntry& e) { return e.stamp.as_of < least; }, soon());
    return found.entry->stamp.as_of;
  };
  tiered->put(key("a"), entry("a", 1), soon());
  EXPECT_EQ(behind(2), 1U) << "the far one has no other";
  EXPECT_EQ(found.reason, Reason::none);
  far->put(key("a"), entry("a", 2), soon());
  EXPECT_EQ(behind(1), 1U) << "it is not over";
  EXPECT_EQ(behind(2), 2U);
  EXPECT_EQ(near->get(key("a"), soon()).entry->stamp.as_of, 2U);
  EXPECT_EQ(stat("replaced"), 1U);
  far->broken = true;
  EXPECT_EQ(behind(3), 2U) << "better than nothing";
  EXPECT_EQ(found.reason, Reason::unreachable);
}

TEST_F(TieredManagerTest, ASweepVisitsTheNearOneAndRemovesFromBoth) {
  tiered->put(key("a"), entry("a"), soon());
  tiered->put(key("b"), entry("b"), soon());
  EXPECT_FALSE(tiered->sweep([](const CacheEntry& e) { return e.key() == "a"; }, 10));
  EXPECT_EQ(tiered->get(key("a"), soon()).status, Status::miss);
  EXPECT_EQ(tiered->get(key("b"), soon()).status, Status::hit);
}

TEST_F(TieredManagerTest, Semantics30_ClearSaysWhenTheFarOneCannot) {
  tiered->put(key("a"), entry("a"), soon());
  far->clears = false;
  EXPECT_EQ(tiered->clear(soon()).reason, Reason::unsupported);
  EXPECT_FALSE(holds(*near, "a"));
  EXPECT_EQ(tiered->get(key("a"), soon()).status, Status::hit);
  far->clears = true;
  EXPECT_TRUE(tiered->clear(soon()).ok);
  EXPECT_EQ(tiered->get(key("a"), soon()).status, Status::miss);
}

TEST_F(TieredManagerTest, PartsThatAreNotThereAreNamed) {
  const auto errorOf = [this](const std::string& l1, const std::string& l2) -> std::string {
    try {
      const TieredManager made(host, settingsOf(l1, l2));
      return "no error";
    } catch (const std::exception& e) {
      return e.what();
    }
  };
  EXPECT_TRUE(errorOf("fsat", "far").starts_with("l1: no other manager 'fsat'"));
  EXPECT_TRUE(errorOf("near", "").starts_with("l2: no other manager ''"));
  EXPECT_TRUE(errorOf("near", "near").starts_with("l2: must be another manager"));
}

/// Two processes: near caches of their own, one far cache, one ledger.
class TwoProcesses : public TieredManagerTest {
 protected:
  TwoProcesses() {
    host.addManager("near", std::make_shared<Level>());
    one = managerOf(tiered);
    other = managerOf(std::make_shared<TieredManager>(host, settingsOf("near", "far")));
  }
  static ManagerPtr managerOf(std::shared_ptr<Cache> cache) {
    return std::make_shared<const CacheManager>(
        CacheManager::Identity{"/", "both", "TieredManager", true}, Policy{}, std::move(cache),
        Waits::given_time);
  }
  Answer askOf(const ManagerPtr& process) {
    return EngineWorld::askOf(process == one ? engine : other_engine, *process, view);
  }
  std::string bodyOf(const ManagerPtr& process) {
    return std::string(askOf(process).entry->value.page()->body);
  }

  ManagerPtr one;
  ManagerPtr other;
  Engine other_engine{ledger, snapshots, clock, executor, {}, {}};
  testing::TestView view{"page", [this](auto&, Recorder& r, auto&) {
                           r.object("/a");
                           return testing::text(std::to_string(view.runs));
                         }};
};

TEST_F(TwoProcesses, Semantics20_AnEntryThatIsOverIsReplacedByTheOneOfAnotherProcess) {
  askOf(one);
  EXPECT_EQ(askOf(other).outcome, Outcome::hit) << "promoted";
  change("obj:/a");
  EXPECT_EQ(askOf(other).outcome, Outcome::miss_changed) << "from whatever level";
  EXPECT_EQ(view.runs, 2);
  const Answer answer = askOf(one);
  EXPECT_EQ(answer.outcome, Outcome::hit);
  EXPECT_EQ(answer.entry->value.page()->body, "2");
  EXPECT_EQ(view.runs, 2);
}

TEST_F(TwoProcesses, AStaleEntryIsReplacedByAFreshOneOfAnotherProcess) {
  policy.max_age = 1'000;
  policy.stale_while_revalidate = 10'000;
  askOf(one);
  clock.advance(1'500);
  EXPECT_EQ(askOf(other).outcome, Outcome::hit_stale);
  executor.runAll();  // the refresh of the other process
  EXPECT_EQ(view.runs, 2);
  EXPECT_EQ(askOf(one).outcome, Outcome::hit);
  EXPECT_EQ(executor.pending(), 0U) << "no refresh is due";
}

TEST_F(TwoProcesses, Semantics20_ALevelThatMissedTheChangeServesNothingOld) {
  askOf(one);
  far->broken = true;
  change("obj:/a");
  EXPECT_EQ(bodyOf(one), "2");
  far->broken = false;  // and still has the first one
  EXPECT_EQ(bodyOf(other), "3");
  EXPECT_EQ(bodyOf(one), "2") << "its own is valid";
}

TEST_F(TwoProcesses, LedgerL24_ALateResultReplacesNoLaterOneFurtherAway) {
  askOf(one);  // what its near level holds is older than both
  change("obj:/a");
  view.code = [&](auto&, Recorder& r, auto&) {
    r.object("/a");
    const int run = view.runs;
    if (run == 2) {
      change("obj:/a");
      askOf(other);
    }
    return testing::text(std::to_string(run));
  };
  EXPECT_EQ(bodyOf(one), "2");
  EXPECT_EQ(view.counters.total(Outcome::refused_late), 1U);
  EXPECT_EQ(bodyOf(one), "3");
  EXPECT_EQ(bodyOf(other), "3");
  EXPECT_EQ(view.runs, 3);
}

/// A page of twenty parts, of which those of even number change by one tag, the others by another.
class PageOfParts : public TwoProcesses {
 protected:
  static constexpr int kParts = 20;
  void show(const ManagerPtr& process) {
    Engine& its = process == one ? engine : other_engine;
    testing::TestView page{"page", [&](CallContext& context, Recorder& recorder, auto&) {
                             for (int i = 0; i < kParts; ++i) {
                               testing::TestCall call(i % 2 == 0 ? even : odd, pathOf(i), {},
                                                      policy, process.get());
                               (void)its.call(call, context, &recorder);
                             }
                             return testing::text("");
                           }};
    testing::TestCall call(page, "/page", {}, policy, nullptr);
    CallContext context(snapshots, clock.monotonic() + 60'000);
    (void)its.call(call, context, nullptr);
  }
  static std::string pathOf(int part) { return "/parts/" + std::to_string(part); }
  [[nodiscard]] int runs() const { return even.runs + odd.runs; }
  [[nodiscard]] std::size_t farAsked() const { return far->gets + far->round_trips + far->puts; }

  testing::TestView even{"even", [](auto&, Recorder& r, auto&) {
                           r.scope("tag:even");
                           return testing::text("part");
                         }};
  testing::TestView odd{"odd", [](auto&, Recorder& r, auto&) {
                          r.scope("tag:odd");
                          return testing::text("part");
                        }};
};

TEST_F(PageOfParts, Semantics32_WhatIsNearTakesNoRoundTripAndTheRestOne) {
  show(one);
  EXPECT_EQ(runs(), kParts);
  far->forgetCounts();
  show(one);
  EXPECT_EQ(farAsked(), 0U);

  near->clear(kForever);
  show(one);
  EXPECT_EQ(far->gets, 0U);
  EXPECT_EQ(far->round_trips, 1U);
  EXPECT_EQ(far->asked_at_once, std::size_t{kParts});

  // Half of it is over here and new there; of the other half some are not here any more.
  change("tag:even");
  show(other);
  near->sweep(
      [](const CacheEntry& e) { return e.key().find("/parts/1") != std::string_view::npos; }, 100);
  far->forgetCounts();
  const int before = runs();
  show(one);
  EXPECT_EQ(far->gets, 0U);
  EXPECT_EQ(far->round_trips, 1U);
  EXPECT_GE(far->asked_at_once, std::size_t{kParts / 2});
  EXPECT_EQ(runs(), before);
  far->forgetCounts();
  show(one);
  EXPECT_EQ(farAsked(), 0U);
}

TEST_F(PageOfParts, Semantics32_WhatWasNearIsStillWantedNextTime) {
  show(one);
  change("tag:even");
  show(one);  // asks for half of it
  near->clear(kForever);
  far->forgetCounts();
  show(one);
  EXPECT_EQ(far->gets, 0U);
  EXPECT_EQ(far->asked_at_once, std::size_t{kParts});
}

TEST_F(PageOfParts, Semantics27_APageWaitsForAHungFarOneOnce) {
  far->how = Reason::timeout;
  far->broken = true;
  show(one);
  EXPECT_EQ(farAsked(), 1U);
  EXPECT_EQ(runs(), kParts);
  far->forgetCounts();
  show(one);
  EXPECT_EQ(farAsked(), 0U) << "the near one has what was made meanwhile";
  EXPECT_EQ(runs(), kParts);

  far->broken = false;
  show(other);
  near->clear(kForever);
  show(one);  // and learns what it wants
  change("tag:odd");
  far->broken = true;
  far->forgetCounts();
  show(one);
  EXPECT_EQ(farAsked(), 1U);
}

}  // namespace
}  // namespace larder::tiered
