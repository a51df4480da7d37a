// The parts below RAMCache: its index, its memory of evicted keys, its settings.
#include <algorithm>
#include <iterator>
#include <vector>

#include "ghost.h"
#include "ram_cache_fixture.h"
#include "ram_settings.h"
#include "table.h"

namespace larder::ram {
namespace {

class RamTable : public ::testing::Test {
 protected:
  struct Held {
    EntryPtr entry;
    Hash hash;
  };
  Held make(int number, Hash hash) {
    return {EntryPtr(CacheEntry::make(keyOf("key " + std::to_string(number)))), hash};
  }
  void insert(Table& table, const Held& held) {
    nodes_.prepare();
    const auto node = nodes_.take();
    nodes_[node].hash = static_cast<std::uint32_t>(held.hash);
    table.insert(held.hash, held.entry.get(), node);
  }
  static bool has(const Table& table, const Held& held) {
    Table::Position at;
    return table.find(held.hash, held.entry->digest, at);
  }
  static void erase(Table& table, const Held& held) {
    table.erase(table.slotOf(held.hash, held.entry.get()));
  }
  NodePool nodes_;
};

TEST_F(RamTable, KeysThatShareABucketAndATagAreAllFound) {
  Table table(4);
  std::vector<Held> all;
  for (int i = 0; i < 20; ++i) all.push_back(make(i, 2));
  for (const auto& held : all) insert(table, held);
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [&](const Held& h) { return has(table, h); }));
}

TEST_F(RamTable, ErasingFromAFullBucketLeavesWhatFlowedOver) {
  Table table(4);
  std::vector<Held> all;
  for (int i = 0; i < 12; ++i) all.push_back(make(i, 2));
  for (const auto& held : all) insert(table, held);
  for (int i = 0; i < 8; ++i) erase(table, all[static_cast<std::size_t>(i)]);
  EXPECT_TRUE(
      std::all_of(all.begin() + 8, all.end(), [&](const Held& h) { return has(table, h); }));
}

TEST_F(RamTable, SlotOfAnErasedEntryIsUsedAgain) {
  Table table(2);
  for (int i = 0; i < 1'000; ++i) {
    const auto held = make(i, static_cast<Hash>(i));
    insert(table, held);
    ASSERT_TRUE(table.hasRoom());
    erase(table, held);
  }
}

TEST_F(RamTable, LargerTableHoldsTheSame) {
  Table table(2);
  std::vector<Held> all;
  for (int i = 0; table.hasRoom(); ++i) {
    all.push_back(make(i, static_cast<Hash>(i) * 0x9E3779B97F4A7C15U));
    insert(table, all.back());
  }
  Table larger(table.nextBuckets(all.size()));
  larger.insertAll(table, nodes_);
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [&](const Held& h) { return has(larger, h); }));
}

TEST(RamGhost, RecallsWhatWasNotedLately) {
  Ghost ghost;
  ghost.prepare(1'000);
  for (std::uint32_t i = 0; i < 10; ++i) ghost.note(i * 0x9E3779B9U);
  EXPECT_LE(ghost.recall(5 * 0x9E3779B9U), 8U);
}

TEST(RamGhost, RecallsAKeyOnce) {
  Ghost ghost;
  ghost.prepare(100);
  ghost.note(0xABCD1234U);
  EXPECT_NE(ghost.recall(0xABCD1234U), Ghost::kUnknown);
  EXPECT_EQ(ghost.recall(0xABCD1234U), Ghost::kUnknown);
}

TEST(RamGhost, DoesNotKnowWhatWasNeverNoted) {
  Ghost ghost;
  ghost.prepare(100);
  EXPECT_EQ(ghost.recall(0x12345678U), Ghost::kUnknown);
}

TEST(RamGhost, KeepsMostOfAsManyKeysAsItWasPreparedFor) {
  constexpr std::uint32_t kKeys = 10'000;
  Ghost ghost;
  ghost.prepare(kKeys);
  for (std::uint32_t i = 1; i <= kKeys; ++i) ghost.note(i * 0x9E3779B9U);
  std::uint32_t known = 0;
  for (std::uint32_t i = 1; i <= kKeys; ++i)
    known += ghost.recall(i * 0x9E3779B9U) != Ghost::kUnknown;
  EXPECT_GE(known, kKeys * 9 / 10);
}

TEST(RamSettings, ZopesThresholdIsAcceptedForMaxEntries) {
  const auto spec = std::find_if(std::begin(kSettings), std::end(kSettings),
                                 [](const SettingSpec& s) { return s.alias != nullptr; });
  ASSERT_NE(spec, std::end(kSettings));
  EXPECT_STREQ(spec->name, "max_entries");
  EXPECT_STREQ(spec->alias, "threshold");
}

TEST(RamSettings, EachHasAFallbackAndASentence) {
  for (const auto& spec : kSettings) {
    EXPECT_NE(spec.fallback, nullptr) << spec.name;
    EXPECT_GT(std::string_view(spec.help).size(), 10U) << spec.name;
  }
}

}  // namespace
}  // namespace larder::ram
