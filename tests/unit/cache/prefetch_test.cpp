// One round trip a page: the request's memo and the learned manifest (semantics 32, L25).
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine_fixture.h"
#include "larder/cache/prefetch.h"

namespace larder::testing {
namespace {

class PrefetchTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 62;

  Value askMember(int number, CallContext& context, Recorder& recorder, const MapInputs& inputs) {
    TestCall call(member_, "/members/" + std::to_string(number), inputs, policy_, &shared_);
    return world_.engine.call(call, context, &recorder).entry->value;
  }
  std::string view(TestView& view, const std::string& path = "/page",
                   const MapInputs& inputs = {}) {
    TestCall call(view, path, inputs, policy_, page_manager_);
    CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
    return std::string(world_.engine.call(call, context, nullptr).entry->value.page()->body);
  }
  std::string all(CallContext& context, Recorder& recorder, const MapInputs& inputs) {
    std::string body;
    for (int i = 0; i < members_; ++i)
      body.append(askMember(i, context, recorder, inputs).page()->body).append("\n");
    return body;
  }

  EngineWorld world_;
  std::shared_ptr<MapCache> far_ = std::make_shared<MapCache>();
  Policy policy_;
  CacheManager shared_{{"/", "shared", "Far", false}, policy_, far_, Waits::always};
  const CacheManager* page_manager_ = nullptr;  ///< pages are not cached, unless a test says so
  int members_ = kMembers;
  std::string content_ = "first";
  TestView member_{"member", [this](CallContext&, Recorder& recorder, const MapInputs&) {
                     recorder.scope("tag:members");
                     return text("member " + content_);
                   }};
  TestView page_{"page", [this](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                   return text(all(context, recorder, inputs));
                 }};
};

TEST_F(PrefetchTest, Semantics32_WhatAPageUsedLastTimeComesInOneRoundTrip) {
  const auto first = view(page_);
  EXPECT_EQ(far_->gets, 62U);
  far_->forgetCounts();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(view(page_), first);
  EXPECT_EQ(far_->round_trips, 10U);
  EXPECT_EQ(far_->gets, 0U);
  EXPECT_EQ(member_.runs, 62);
}

TEST_F(PrefetchTest, Semantics32_SeveralRequestsAreLookedUpInOneRoundTrip) {
  const auto stored = [this](const std::string& path) {
    TestCall call(member_, path, {}, policy_, &shared_);
    CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
    (void)world_.engine.call(call, context, nullptr);
  };
  stored("/a");
  stored("/b");
  far_->forgetCounts();
  std::deque<TestCall> calls;
  std::array<RequestMemo, 4> memos;
  std::vector<Engine::Look> looks;
  for (const char* path : {"/a", "/b", "/a", "/missing"}) {
    const MapInputs none;
    auto& call = calls.emplace_back(member_, path, none, policy_, &shared_);
    looks.push_back({.call = &call, .memo = &memos[looks.size()], .answer = {}});
  }
  world_.engine.tryHits(looks, world_.clock.monotonic() + 1000);
  EXPECT_EQ(far_->round_trips, 1U);
  EXPECT_EQ(far_->asked_at_once, 3U);  // "/a" once for both
  for (int i : {0, 1, 2}) ASSERT_TRUE(looks[static_cast<std::size_t>(i)].answer) << i;
  EXPECT_EQ(looks[0].answer->entry.get(), looks[2].answer->entry.get());
  EXPECT_FALSE(looks[3].answer);
  // The request that goes on with what was looked up does not ask again.
  CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
  context.startWith(std::move(memos[3]));
  const auto made = world_.engine.call(calls[3], context, nullptr);
  EXPECT_EQ(made.outcome, Outcome::miss_cold);
  EXPECT_EQ(far_->gets, 0U);
}

TEST_F(PrefetchTest, Semantics20_WhatIsLookedUpTogetherIsJudgedByTheLedger) {
  TestCall call(member_, "/a", {}, policy_, &shared_);
  {
    CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
    (void)world_.engine.call(call, context, nullptr);
  }
  world_.change("tag:members");
  RequestMemo memo;
  std::array<Engine::Look, 1> looks{{{.call = &call, .memo = &memo, .answer = {}}}};
  world_.engine.tryHits(looks, world_.clock.monotonic() + 1000);
  EXPECT_FALSE(looks[0].answer);
  CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
  context.startWith(std::move(memo));
  EXPECT_EQ(world_.engine.call(call, context, nullptr).outcome, Outcome::miss_changed);
}

TEST_F(PrefetchTest, Semantics32_SwitchedOffEachUseIsAQuestion) {
  policy_.prefetch = false;
  view(page_);
  far_->forgetCounts();
  for (int i = 0; i < 10; ++i) view(page_);
  EXPECT_EQ(far_->round_trips, 0U);
  EXPECT_EQ(far_->gets, 620U);
}

TEST_F(PrefetchTest, Semantics32_ARequestAsksOnceForEachKey) {
  TestView twice{"twice", [this](CallContext& context, Recorder& recorder, const MapInputs& in) {
                   for (int i = 0; i < 5; ++i) askMember(7, context, recorder, in);
                   return text("");
                 }};
  view(twice);
  EXPECT_EQ(far_->gets, 1U);
  EXPECT_EQ(member_.runs, 1);
  view(twice);
  EXPECT_EQ(far_->gets + far_->round_trips, 2U);
}

TEST_F(PrefetchTest, Semantics32_KeysAreLearnedWithTheInputsThatWereFoundOut) {
  TestView coloured{"coloured",
                    [this](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                      recorder.input("param:colour");
                      return text(all(context, recorder, inputs));
                    }};
  member_.code = [](CallContext&, Recorder& recorder, const MapInputs& inputs) {
    recorder.input("param:colour");
    return text(inputs.values.at("param:colour"));
  };
  MapInputs red;
  red.values["param:colour"] = "red";
  MapInputs blue;
  blue.values["param:colour"] = "blue";
  const auto in_red = view(coloured, "/page", red);
  far_->forgetCounts();
  EXPECT_EQ(view(coloured, "/page", red), in_red);
  EXPECT_EQ(far_->gets + far_->round_trips, 1U);
  EXPECT_NE(view(coloured, "/page", blue), in_red);
}

TEST_F(PrefetchTest, Semantics32_WhatIsNoLongerThereIsRenderedWithoutAskingAgain) {
  const auto first = view(page_);
  far_->clear(kForever);
  far_->forgetCounts();
  EXPECT_EQ(view(page_), first);
  EXPECT_EQ(far_->round_trips, 1U);
  EXPECT_LE(far_->gets, 2U);  // two of 62 keys may share the counter that says: look again
  EXPECT_EQ(member_.runs, 124);
}

TEST_F(PrefetchTest, Semantics32_ACachedPageIsPrefetchedForWhenItIsRendered) {
  page_manager_ = &shared_;
  view(page_);
  far_->forgetCounts();
  view(page_);
  EXPECT_EQ(far_->gets, 1U);  // the page itself
  EXPECT_EQ(far_->round_trips, 0U);
  world_.change("view:page@/page");
  far_->forgetCounts();
  view(page_);
  EXPECT_EQ(far_->gets, 1U);
  EXPECT_EQ(far_->round_trips, 1U);
}

TEST_F(PrefetchTest, Semantics32_AnOutageIsNotLearned) {
  const auto first = view(page_);
  far_->broken = true;
  EXPECT_EQ(view(page_), first);
  far_->broken = false;
  far_->forgetCounts();
  EXPECT_EQ(view(page_), first);
  EXPECT_EQ(far_->round_trips, 1U);
  EXPECT_EQ(far_->gets, 0U);
}

TEST_F(PrefetchTest, Semantics32_OnlyWhatWasUsedLastTimeIsFetched) {
  view(page_);
  members_ = 3;
  view(page_);
  view(page_);
  EXPECT_EQ(far_->asked_at_once, 3U);
}

TEST_F(PrefetchTest, LedgerL25_APrefetchedValueIsJudgedWhenItIsUsed) {
  const auto first = view(page_);
  content_ = "second";
  world_.change("tag:members");
  EXPECT_NE(view(page_), first);

  // Changed between the prefetch and the use.
  TestView slow{"slow", [this](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                  if (content_ == "third") world_.change("tag:members");
                  return text(all(context, recorder, inputs));
                }};
  view(slow);
  far_->forgetCounts();
  content_ = "third";
  const auto last = view(slow);
  EXPECT_EQ(far_->round_trips, 1U);
  EXPECT_EQ(last.find("second"), std::string::npos);
}

TEST_F(PrefetchTest, LedgerL25_APrefetchRecordsNothing) {
  TestView other{"other", [](auto&, auto&, auto&) { return text("o"); }};
  view(page_);
  const auto lookups = member_.counters.lookups();
  page_.code = [&](CallContext& context, Recorder& recorder, const MapInputs&) {
    TestCall call(other, "/other", {}, policy_, &shared_);
    return world_.engine.call(call, context, &recorder).entry->value;
  };
  TestCall call(page_, "/page", {}, policy_, nullptr);
  CallContext context(world_.snapshots, world_.clock.monotonic() + 60'000);
  far_->forgetCounts();
  const auto answer = world_.engine.call(call, context, nullptr);
  EXPECT_EQ(far_->asked_at_once, 62U);
  const auto scopes = answer.entry->scopeNames();
  EXPECT_EQ(std::ranges::count(scopes, "tag:members"), 0);
  EXPECT_EQ(member_.counters.lookups(), lookups);
}

TEST_F(PrefetchTest, ACacheInThisProcessIsAskedEachTime) {
  const CacheManager near{{"/", "near", "Far", false}, policy_, far_, Waits::never};
  TestView page{"near", [&](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                  TestCall call(member_, "/members/1", inputs, policy_, &near);
                  for (int i = 0; i < 3; ++i) (void)world_.engine.call(call, context, &recorder);
                  return text("");
                }};
  view(page);
  view(page);
  EXPECT_EQ(far_->gets, 6U);
  EXPECT_EQ(far_->round_trips, 0U);
}

TEST_F(PrefetchTest, ARequestRemembersSomeMegabytesAndNoMore) {
  member_.code = [](CallContext&, Recorder&, const MapInputs&) {
    return text(std::string(4 << 20, 'x'));
  };
  members_ = 20;
  page_.code = [this](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < members_; ++i) askMember(i, context, recorder, inputs);
    }
    return text("");
  };
  view(page_);
  EXPECT_EQ(far_->gets, 20U + 13U);  // seven are remembered
}

TEST_F(PrefetchTest, ManifestsAreBoundedInTheirBytes) {
  const FlightTable flights(world_.executor);
  Manifests manifests(flights);
  const auto cache = std::static_pointer_cast<Cache>(far_);
  const auto memoOf = [&](const std::string& page) {
    RequestMemo memo;
    for (int i = 0; i < 2; ++i) {
      KeyBuilder key;
      key.begin("site", page + std::string(200'000, 'x'), std::to_string(i), 1);
      memo.keep(cache, EntryRef(EntryPtr(CacheEntry::make(key.key()))), 0);
    }
    return memo;
  };
  for (int i = 0; i < 100; ++i) manifests.learn({1, static_cast<std::uint64_t>(i)}, memoOf("/a"));
  std::size_t kept = 0;
  for (int i = 0; i < 100; ++i) {
    RequestMemo memo;
    EXPECT_TRUE(manifests.prefetch({1, static_cast<std::uint64_t>(i)}, memo, {}, kForever));
    kept += memo.items().empty() ? 0 : 1;
  }
  EXPECT_EQ(kept, 41U);  // of 400 KB each, in 16 MB
}

}  // namespace
}  // namespace larder::testing
