// Pages that are made of parts: what a part means for the page.
#include "larder/cache/engine.h"

#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "larder/cache/scope.h"

namespace larder::testing {
namespace {

class EnginePartsTest : public ::testing::Test, protected EngineWorld {};

TEST_F(EnginePartsTest, AParentIsFreshNoLongerThanItsChildHoweverTheChildCame) {
  Policy brief;
  brief.max_age = 1000;
  TestView child{"child", [](auto&, auto&, auto&) { return text("c"); }};
  TestView parent{
      "parent", [&](CallContext& c, Recorder& r, auto&) {
        TestCall call(child, "/a", {}, brief, &manager);
        return text("p" + std::string(engine.call(call, c, &r).entry->value.page()->body));
      }};
  body(parent);  // renders the child
  clock.advance(1000);
  EXPECT_EQ(ask(parent).outcome, Outcome::miss_expired);
  body(child);
  clock.advance(600);
  change(viewScope("parent", "/a"));
  body(parent);  // finds the child
  clock.advance(400);
  EXPECT_EQ(ask(parent).outcome, Outcome::miss_expired);
}

TEST_F(EnginePartsTest, LedgerL19_AParentMadeOfAStaleChildIsNotStored) {
  policy.max_age = 1000;
  policy.stale_while_revalidate = 5000;
  TestView child{"child", [](auto&, auto&, auto&) { return text("c"); }};
  TestView parent{
      "parent", [&](CallContext& c, Recorder& r, auto&) {
        TestCall call(child, "/a", {}, policy, &manager);
        return text("p" + std::string(engine.call(call, c, &r).entry->value.page()->body));
      }};
  body(child);
  clock.advance(2000);
  body(parent);
  EXPECT_EQ(parent.counters.total(Outcome::refused_render), 1U);
}

TEST_F(EnginePartsTest, AParentFallsWithWhatItsChildReadAlsoWhenTheChildWasAHit) {
  TestView child{"child", [](auto&, Recorder& r, auto&) {
                   r.scope(tagScope("news"));
                   r.input("param:lang");
                   return text("c");
                 }};
  TestView parent{
      "parent", [&](CallContext& c, Recorder& r, const MapInputs& in) {
        TestCall call(child, "/a", in, policy, &manager);
        return text("p" + std::string(engine.call(call, c, &r).entry->value.page()->body));
      }};
  body(child);
  body(parent);
  change(tagScope("news"));
  body(parent);
  EXPECT_EQ(parent.runs, 2);
  body(parent, {{"param:lang", "de"}});
  EXPECT_EQ(parent.runs, 3);
}

TEST_F(EnginePartsTest, LedgerL07_AChildThatIsNewerThanItsParentsSnapshotIsUsedOnlyIfUnchanged) {
  int version = 1;
  TestView child{"child", [&](auto&, Recorder& r, auto&) {
                   r.scope(tagScope("news"));
                   return text(std::to_string(version));
                 }};
  TestView parent{"parent", [&](CallContext& c, Recorder& r, auto&) {
                    if (version == 1) {
                      // After the parent's snapshot, somebody edits and somebody else renders the
                      // child anew.
                      version = 2;
                      change(tagScope("news"));
                      body(child);
                    }
                    TestCall call(child, "/a", {}, policy, &manager);
                    return text(std::string(engine.call(call, c, &r).entry->value.page()->body));
                  }};
  body(child);
  body(parent);
  EXPECT_EQ(child.runs, 3) << "the parent's child is rendered from the parent's snapshot";
  EXPECT_EQ(body(parent), "2");
}

TEST_F(EnginePartsTest, LedgerL17_APartsMaxAgeDoesNotBoundTheClockOfThePage) {
  TestView part{"part", [&](auto&, auto&, auto&) { return text("part"); }};
  TestView view{"page", [&](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                  recorder.input("now");
                  TestCall call(part, "/part", inputs, policy, &manager);
                  return engine.call(call, context, &recorder).entry->value;
                }};
  ask(view);
  ask(view);
  EXPECT_EQ(view.runs, 2);
  EXPECT_EQ(part.runs, 1);
}

TEST_F(EnginePartsTest, Semantics13_APageWithAPartThatMustNotBeKeptIsNotKept) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"Cache-Control", "No-Store"}, {"set-cookie", "a=b"}}) {
    TestView part{"part " + name, [&](auto&, auto&, auto&) {
                    Page page;
                    page.setHeader(name, value);
                    return Value(std::move(page));
                  }};
    TestView view{"page " + name,
                  [&](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                    TestCall call(part, "/part", inputs, policy, &manager);
                    (void)engine.call(call, context, &recorder);
                    return text("page");
                  }};
    ask(view);
    ask(view);
    EXPECT_EQ(view.runs, 2) << name;
    EXPECT_EQ(cache->size(), 0U) << name;
  }
}

// What a part had read before it failed decides what the page shows instead.
TEST_F(EnginePartsTest, LedgerL15_APageThatGoesOnWithoutAFailedPartIsNotStored) {
  TestView part{"part", [&](auto&, Recorder& recorder, const MapInputs& inputs) -> Value {
                  recorder.input("user");
                  if (!inputs.values.contains("user")) throw std::runtime_error("not for you");
                  return text("for the editor");
                }};
  TestView page{"page", [&](CallContext& context, Recorder& recorder, const MapInputs& inputs) {
                  TestCall call(part, "/a", inputs, policy, &manager);
                  try {
                    (void)engine.call(call, context, &recorder);
                    return text("with part");
                  } catch (...) {
                    EXPECT_TRUE(recorder.isPrivate());
                    return text("without part");
                  }
                }};
  EXPECT_EQ(body(page), "without part");
  EXPECT_EQ(cache->size(), 0U);
  EXPECT_EQ(body(page, {{"user", "7"}}), "with part");
  EXPECT_EQ(body(page), "without part");
}

/// A store that cannot be read at times.
struct BlindLedger final : Ledger {
  BlindLedger() { setEras({{1, 0}}); }
  [[nodiscard]] bool observe() noexcept override { return sees; }
  [[nodiscard]] Result<std::uint64_t> append(std::span<const Change>) override {
    return Error{"read only"};
  }
  bool sees = true;
};

// Somebody may have committed what nobody could note yet.
TEST_F(EnginePartsTest, LedgerL10_WhileNothingCanBeObservedNoPartIsServedFromTheCacheEither) {
  BlindLedger blind;
  LedgerSnapshots its_snapshots(blind);
  Engine its_engine(blind, its_snapshots, clock, executor, {}, {});
  int version = 1;
  TestView part{"part", [&](auto&, auto&, auto&) { return text(std::to_string(version)); }};
  const auto asked = [&](TestView& view, CallContext& context, Recorder* parent) {
    TestCall call(view, "/a", {}, policy, &manager);
    return std::string(its_engine.call(call, context, parent).entry->value.page()->body);
  };
  TestView page{"page", [&](CallContext& context, Recorder& r, auto&) {
                  return text("page of " + asked(part, context, &r));
                }};
  const auto answer = [&](TestView& view) {
    CallContext context(its_snapshots, clock.monotonic() + 60'000);
    return asked(view, context, nullptr);
  };
  EXPECT_EQ(answer(part), "1");
  version = 2;
  blind.sees = false;
  EXPECT_EQ(answer(page), "page of 2");
  {
    CallContext action(its_snapshots, clock.monotonic() + 60'000);
    (void)action.snapshot();
    EXPECT_EQ(asked(part, action, nullptr), "2") << "its snapshot is from before its first call";
  }
  EXPECT_EQ(cache->size(), 1U) << "what could not be observed was stored";
  blind.sees = true;
  EXPECT_EQ(answer(part), "1") << "the stored one is what was bound to be found";
}

TEST_F(EnginePartsTest, ACycleIsReportedWithItsPath) {
  TestView view{"page", {}};
  view.code = [&](CallContext& c, Recorder& r, auto&) {
    TestCall call(view, "/a", {}, policy, &manager);
    return engine.call(call, c, &r).entry->value;
  };
  try {
    ask(view);
    FAIL();
  } catch (const CallCycle& e) {
    EXPECT_EQ(e.path, "/a page -> /a page");
    EXPECT_EQ(e.problem, "views call each other in a circle");
  }
}

}  // namespace
}  // namespace larder::testing
