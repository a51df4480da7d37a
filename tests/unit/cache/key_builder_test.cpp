#include "larder/cache/key_builder.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace larder {
namespace {

std::string keyOf(std::string_view path,
                  const std::vector<std::pair<std::string, std::vector<std::string>>>& inputs) {
  KeyBuilder key;
  key.begin("site", path, "view", 1);
  for (const auto& [name, values] : inputs) {
    if (values.empty()) {
      key.absent(name);
    } else {
      key.input(name, values.size());
      for (const auto& v : values) key.text(v);
    }
  }
  return std::string(key.bytes());
}

TEST(KeyBuilder, Semantics01_ShiftedBoundariesAreDifferentKeys) {
  EXPECT_NE(keyOf("/", {{"a", {"b"}}, {"b", {"cd"}}}), keyOf("/", {{"a", {"bc"}}, {"b", {"d"}}}));
  EXPECT_NE(keyOf("/ab", {}), keyOf("/a", {}));
}

TEST(KeyBuilder, Semantics01_AbsentEmptyAndLiteralDiffer) {
  const std::string keys[] = {keyOf("/", {{"x", {}}}), keyOf("/", {{"x", {""}}}),
                              keyOf("/", {{"x", {"None"}}}), keyOf("/", {{"x", {"", ""}}})};
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) EXPECT_NE(keys[i], keys[j]);
  }
}

TEST(KeyBuilder, LedgerL14_DefinitionsOfOneNameAreApartAndShown) {
  const auto keyOfDefinition = [](std::string_view definition) {
    KeyBuilder key;
    key.begin("site", "/items/6", "show", 1, definition);
    key.input("param:q", 1);
    key.text("x");
    return std::string(key.bytes());
  };
  const auto typed = keyOfDefinition("type document");
  EXPECT_NE(typed, keyOfDefinition("route /items/{id}"));
  EXPECT_NE(typed, keyOfDefinition(""));
  EXPECT_TRUE(keyHasInput(typed, "param:q"));
  EXPECT_EQ(describeKey(typed),
            "site=site, path=/items/6, view=show, definition=type document, param:q=\"x\"");
  EXPECT_EQ(keyParts(keyOfDefinition("")).size(), 4U);
}

TEST(KeyBuilder, Semantics02_RepeatedParametersKeepTheirOrder) {
  EXPECT_NE(keyOf("/", {{"a", {"1", "2"}}}), keyOf("/", {{"a", {"2", "1"}}}));
  EXPECT_NE(keyOf("/", {{"a", {"1", "2"}}}), keyOf("/", {{"a", {"2"}}}));
}

TEST(KeyBuilder, Semantics01_TypesDiffer) {
  const Tree values[] = {1, "1", true, 1.0, nullptr, Tree::list({1}), Tree::map()};
  std::map<std::string, int> seen;
  for (const auto& v : values) {
    KeyBuilder key;
    key.begin("s", "/", "v", 0);
    key.input("arg:0", 1);
    const auto document = Document::from(v);
    key.node(document.root());
    ++seen[std::string(key.bytes())];
  }
  EXPECT_EQ(seen.size(), std::size(values));
}

TEST(KeyBuilder, FaultA16_DifferentRequestsNeverShareAKey) {
  std::mt19937 random(3);
  const std::string alphabet[] = {":",    "/",   "|", "=", "&", ",", std::string(1, '\0'),
                                  "\x1f", "%3A", "a", "b", ""};
  std::map<std::string, std::string> by_key;
  for (int i = 0; i < 100'000; ++i) {
    std::vector<std::pair<std::string, std::vector<std::string>>> inputs;
    std::string truth;
    const char* names[] = {"param:a", "param:b"};
    for (const auto* name : names) {
      std::vector<std::string> values;
      for (auto n = random() % 3; n > 0; --n) {
        std::string v;
        for (auto k = random() % 3; k > 0; --k) v += alphabet[random() % std::size(alphabet)];
        truth += std::string(name) + "<" + std::to_string(v.size()) + ">" + v;
        values.push_back(std::move(v));
      }
      truth += ";";
      inputs.emplace_back(name, std::move(values));
    }
    const auto [it, fresh] = by_key.emplace(keyOf("/p", inputs), truth);
    ASSERT_EQ(it->second, truth) << fresh;
  }
}

TEST(KeyBuilder, LongKeysNeedNoLimit) {
  const auto key = keyOf("/" + std::string(2'000, 'x'), {{"param:q", {std::string(70'000, 'y')}}});
  EXPECT_GT(key.size(), 72'000U);
  EXPECT_TRUE(keyHasInput(key, "param:q"));
}

TEST(KeyBuilder, LedgerL15_AKeyTellsWhichInputsItNames) {
  const auto key = keyOf("/", {{"cookie:c", {}}, {"params", {"a", "1"}}});
  EXPECT_TRUE(keyHasInput(key, "cookie:c"));
  EXPECT_TRUE(keyHasInput(key, "param:z"));
  EXPECT_FALSE(keyHasInput(key, "user"));
  EXPECT_FALSE(keyHasInput("garbage", "user"));
}

TEST(KeyBuilder, DescribesAKeyForPeople) {
  EXPECT_EQ(describeKey(keyOf("/a", {{"param:q", {"x"}}, {"user", {}}})),
            "site=site, path=/a, view=view, param:q=\"x\", user absent");
  EXPECT_EQ(describeKey("garbage"), "");
}

}  // namespace
}  // namespace larder
