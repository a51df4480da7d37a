#include "larder/cache/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "larder/cache/learned_inputs.h"
#include "larder/cache/recorder.h"
#include "larder/cache/scope.h"

namespace larder {
namespace {

std::vector<ScopeId> expanded(std::string_view change) {
  std::vector<ScopeId> ids;
  expandChange(change, ids);
  return ids;
}

bool invalidates(std::string_view change, const std::string& scope) {
  const auto ids = expanded(change);
  return std::find(ids.begin(), ids.end(), scopeId(scope)) != ids.end();
}

TEST(Scope, LedgerL04_CreatingAnObjectBumpsItsParentsListAndItsSubtree) {
  EXPECT_TRUE(invalidates("new:/a/b", objectScope("/a/b")));
  EXPECT_TRUE(invalidates("new:/a/b", subtreeScope("/a/b")));
  EXPECT_TRUE(invalidates("new:/a/b", childrenScope("/a")));
  EXPECT_FALSE(invalidates("new:/a/b", childrenScope("/a/b")));
}

TEST(Scope, LedgerL12_EveryEditBumpsUnderOfEachAncestor) {
  for (const auto* path : {"/", "/a", "/a/b"}) {
    EXPECT_TRUE(invalidates("obj:/a/b", underScope(path))) << path;
  }
  EXPECT_FALSE(invalidates("obj:/a/b", underScope("/ab")));
}

TEST(Scope, LedgerL02_ARowBumpsItsTableAndATableItsRows) {
  EXPECT_TRUE(invalidates("row:comment:5", tableScope("comment")));
  EXPECT_TRUE(invalidates("table:comment", bulkScope("comment")));
  EXPECT_FALSE(invalidates("row:comment:5", bulkScope("comment")));
}

TEST(Scope, Semantics19_TheRootIsAParentOfTopLevelPaths) {
  EXPECT_EQ(parentPath("/a"), "/");
  EXPECT_EQ(parentPath("/"), "");
  EXPECT_TRUE(invalidates("del:/a", childrenScope("/")));
}

TEST(Scope, LedgerL12_CoarseningNeverForgetsADependency) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> scopes{"tag:x"};
    std::vector<std::string> changes;
    for (int i = 0; i < 150; ++i) {
      std::string path;
      for (auto depth = random() % 4 + 1; depth > 0; --depth)
        path += "/" + std::to_string(random() % 5);
      scopes.push_back(objectScope(path));
      changes.push_back(objectScope(path));
      if (random() % 3 == 0) {
        scopes.push_back(childrenScope(path));
        changes.push_back("new:" + path + "/x");
      }
      if (random() % 3 == 0) {
        scopes.push_back(rowScope("t" + std::to_string(random() % 3),
                                  static_cast<std::int64_t>(random() % 100)));
        changes.push_back(scopes.back());
      }
    }
    const auto coarse = coarsen(scopes, 20);
    EXPECT_LE(coarse.size(), 20U);
    for (const auto& change : changes) {
      EXPECT_TRUE(std::any_of(coarse.begin(), coarse.end(), [&](const auto& s) {
        return invalidates(change, s);
      })) << change;
    }
  }
}

TEST(ChangeMap, LedgerL12_WhatIsForgottenOnlyLooksNewer) {
  ChangeMap map(100);
  std::unordered_map<ScopeId, std::uint64_t> truth;
  std::mt19937_64 random(1);
  for (std::uint64_t seq = 1; seq <= 20'000; ++seq) {
    const ScopeId scope = random() % 3'000 + 1;
    const ChangeMap::Item item{scope, seq, Hardness::hard};
    map.apply({&item, 1});
    truth[scope] = seq;
  }
  for (const auto& [scope, seq] : truth) EXPECT_GE(map.changed(scope).hard, seq);
}

TEST(ChangeMap, LedgerL12_AHardChangeThatWasForgottenIsNotTakenForASoftOne) {
  ChangeMap map(1);
  const auto apply = [&](ScopeId scope, std::uint64_t seq, Hardness hardness) {
    const ChangeMap::Item item{scope, seq, hardness};
    map.apply({&item, 1});
  };
  apply(1, 50, Hardness::hard);
  for (ScopeId other = 2; other <= 6; ++other) apply(other, 50 + other, Hardness::soft);
  apply(1, 100, Hardness::soft);
  EXPECT_GE(map.changed(1).hard, 50U);
}

TEST(ChangeMap, LedgerL12_AnOlderChangeThanTheFloorDoesNotHideIt) {
  ChangeMap map(1);
  map.raiseFloor(0, 1, 100);
  const ChangeMap::Item item{1, 50, Hardness::hard};
  map.apply({&item, 1});
  EXPECT_GE(map.changed(1).hard, 100U);
}

TEST(ChangeMap, AScopeThatIsHeldIsExact) {
  ChangeMap map;
  const ChangeMap::Item items[] = {{42, 7, Hardness::hard}, {43, 9, Hardness::soft}};
  map.apply(items);
  EXPECT_EQ(map.changed(42).hard, 7U);
  EXPECT_EQ(map.changed(43).hard, 0U);
  EXPECT_EQ(map.changed(43).soft, 9U);
  EXPECT_EQ(map.changed(44).hard, 0U);
}

TEST(ChangeMap, LedgerL12_APersistedFloorCountsForHeldScopesToo) {
  ChangeMap map;
  const ChangeMap::Item item{42, 7, Hardness::hard};
  map.apply({&item, 1});
  map.raiseFloor(42 % 4096, 4096, 8);
  EXPECT_EQ(map.changed(42).hard, 8U);
  EXPECT_EQ(map.changed(43).hard, 0U);
}

TEST(Recorder, LedgerL04_AnObjectChecksTheSubtreeOfEachAncestor) {
  Recorder recorder;
  recorder.object("/a/b");
  const std::vector<std::string> expected{"obj:/a/b", "subtree:/a/b", "subtree:/a", "subtree:/"};
  EXPECT_EQ(recorder.scopes(), expected);
}

TEST(Recorder, AChildsArgumentsAreNoInputsOfItsParent) {
  Recorder child;
  child.input("arg:0");
  child.input("param:q");
  Recorder parent;
  parent.merge(child);
  EXPECT_EQ(parent.inputs(), std::vector<std::string>{"param:q"});
}

TEST(Recorder, LedgerL04_WhatAPageIsMadeOfAddsWhatItReadAndNothingTwice) {
  Recorder recorder;
  std::vector<std::string> expected;
  for (int page = 0; page < 40; ++page) {
    std::vector<std::string> scopes = {"site:"};
    for (int i = 0; i < 5; ++i) scopes.push_back("obj:/" + std::to_string(3 * page + i));
    const auto part = CacheEntry::make({"key", {}, 0}, {.scopes = scopes});
    recorder.merge(*part, kForever);
    for (const auto& name : scopes) {
      if (std::ranges::find(expected, name) == expected.end()) expected.push_back(name);
    }
  }
  EXPECT_EQ(recorder.scopes(), expected);
}

TEST(Ledger, LedgerL07_ThatAnEntryIsValidNowIsNoAnswerForAnEarlierSnapshot) {
  MemoryLedger ledger(100);
  const Change change{"obj:/a"};
  const auto seq = ledger.append({&change, 1});
  ASSERT_TRUE(seq);
  const std::vector<std::string> scopes = {change.scope};
  const auto entry = CacheEntry::make({"key", {}, 0}, {.scopes = scopes});
  entry->stamp = ledger.known();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ledger.judge(*entry), Verdict::valid);
    EXPECT_EQ(ledger.judge(*entry, *seq), Verdict::valid);
    EXPECT_EQ(ledger.judge(*entry, *seq - 1), Verdict::changed);
  }
  ASSERT_TRUE(ledger.append({&change, 1}));
  EXPECT_EQ(ledger.judge(*entry), Verdict::changed);
}

TEST(LearnedInputs, LedgerL18_PastThirtyTwoNamesTheKindIsReadAsAWhole) {
  InputNames many;
  for (int i = 100; i < 140; ++i) many.push_back("param:p" + std::to_string(i));
  many.insert(many.begin(), "cookie:a");
  EXPECT_EQ(joinInputs(many, {}), (InputNames{"cookie:a", "params"}));
}

}  // namespace
}  // namespace larder
