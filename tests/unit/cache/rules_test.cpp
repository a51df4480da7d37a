#include "larder/cache/rules.h"

#include <gtest/gtest.h>

namespace larder {
namespace {

PolicySetting maxAge(Millis value, std::string origin = "conf.toml:1") {
  return {"max_age", std::int64_t{value}, std::move(origin)};
}

struct PatternCase {
  const char* pattern;
  const char* path;
  bool matches;
};

class PatternMatches : public ::testing::TestWithParam<PatternCase> {};

TEST_P(PatternMatches, AsTheTableSays) {
  EXPECT_EQ(patternMatches(GetParam().pattern, GetParam().path), GetParam().matches)
      << GetParam().pattern << " on " << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PatternMatches,
    ::testing::Values(
        PatternCase{"/", "/", true}, PatternCase{"/", "/a", false}, PatternCase{"/**", "/", true},
        PatternCase{"/**", "/a/b/c", true}, PatternCase{"/a", "/a", true},
        PatternCase{"/a", "/a/b", false}, PatternCase{"/a/**", "/a", true},
        PatternCase{"/a/**", "/a/b", true}, PatternCase{"/a/**", "/ab", false},
        PatternCase{"/a/*", "/a", false}, PatternCase{"/a/*", "/a/b", true},
        PatternCase{"/a/*", "/a/b/c", false}, PatternCase{"/*/c", "/a/c", true},
        PatternCase{"/**/c", "/c", true}, PatternCase{"/**/c", "/a/b/c", true},
        PatternCase{"/**/c", "/a/c/b", false}, PatternCase{"/**/b/**/d", "/a/b/c/b/d", true},
        PatternCase{"/**/b/**/d", "/a/d/b/c", false}, PatternCase{"/a/p*", "/a/page", true},
        PatternCase{"/a/*.html", "/a/x.html", true}, PatternCase{"/a/*.html", "/a/x.htm", false},
        PatternCase{"/a/x*y*z", "/a/x1y2yz", true}, PatternCase{"/a/x*y*z", "/a/x1z", false}));

TEST(RuleSet, WithoutRulesNothingIsSaid) {
  const RuleSet rules;
  const Resolved& resolved = rules.resolve("/a", "page");
  EXPECT_TRUE(resolved.manager.empty());
  EXPECT_TRUE(resolved.settings.empty());
}

TEST(RuleSet, MoreLiteralPathWinsOverLaterRule) {
  const RuleSet rules(
      {{.pattern = "/a/b", .manager = "near"}, {.pattern = "/a/**", .manager = "far"}});
  EXPECT_EQ(rules.resolve("/a/b", "page").manager, "near");
}

TEST(RuleSet, MoreLiteralPathWinsOverNamedView) {
  const RuleSet rules({{.pattern = "/a/b", .manager = "near"},
                       {.pattern = "/a/**", .view = "page", .manager = "far"}});
  EXPECT_EQ(rules.resolve("/a/b", "page").manager, "near");
}

TEST(RuleSet, NamedViewWinsOverLaterRule) {
  const RuleSet rules({{.pattern = "/a/**", .view = "page", .manager = "named"},
                       {.pattern = "/a/**", .manager = "all"}});
  EXPECT_EQ(rules.resolve("/a/b", "page").manager, "named");
  EXPECT_EQ(rules.resolve("/a/b", "edit").manager, "all");
}

TEST(RuleSet, LaterRuleWinsAmongEquals) {
  const RuleSet rules(
      {{.pattern = "/a/**", .manager = "first"}, {.pattern = "/a/**", .manager = "second"}});
  EXPECT_EQ(rules.resolve("/a/b", "page").manager, "second");
}

TEST(RuleSet, ExactPathWinsOverItsSubtree) {
  const RuleSet rules(
      {{.pattern = "/a", .manager = "one"}, {.pattern = "/a/**", .manager = "all"}});
  EXPECT_EQ(rules.resolve("/a", "page").manager, "one");
}

TEST(RuleSet, SingleStarWinsOverDoubleStar) {
  const RuleSet rules(
      {{.pattern = "/a/*", .manager = "children"}, {.pattern = "/a/**", .manager = "all"}});
  EXPECT_EQ(rules.resolve("/a/b", "page").manager, "children");
}

TEST(RuleSet, PartlyLiteralSegmentWinsOverStar) {
  const RuleSet rules(
      {{.pattern = "/a/x*", .manager = "x"}, {.pattern = "/a/*", .manager = "any"}});
  EXPECT_EQ(rules.resolve("/a/xy", "page").manager, "x");
}

TEST(RuleSet, WeakerRulesGiveWhatStrongerOnesLeaveOpen) {
  const RuleSet rules({{.pattern = "/**", .manager = "shared", .settings = {maxAge(1, "f:1")}},
                       {.pattern = "/a/**", .settings = {maxAge(2, "f:2")}}});
  const Resolved& resolved = rules.resolve("/a/b", "page");
  EXPECT_EQ(resolved.manager, "shared");
  ASSERT_EQ(resolved.settings.size(), 1U);
  EXPECT_EQ(resolved.settings[0].origin, "f:2");
}

TEST(RuleSet, NoneDisablesCaching) {
  const RuleSet rules(std::vector<Rule>{{.pattern = "/a/**", .manager = "none"}});
  EXPECT_TRUE(rules.resolve("/a", "page").disabled());
}

TEST(RuleSet, SameRulesYieldTheSameObject) {
  const RuleSet rules(std::vector<Rule>{{.pattern = "/a/**", .manager = "x"}});
  EXPECT_EQ(&rules.resolve("/a/b", "page"), &rules.resolve("/a/c", "list"));
}

TEST(RuleSet, ManyRulesMayMatchAtOnce) {
  std::vector<Rule> many;
  for (int i = 0; i < 40; ++i)
    many.push_back({.pattern = "/**", .manager = "m" + std::to_string(i)});
  const RuleSet rules(std::move(many));
  const Resolved& resolved = rules.resolve("/a", "page");
  EXPECT_EQ(resolved.rules.size(), 40U);
  EXPECT_EQ(resolved.manager, "m39");
}

TEST(Resolved, LaysItsSettingsOverTheManagersPolicy) {
  Policy base;
  base.max_age = 5;
  base.stale_if_error = 7;
  Resolved resolved;
  resolved.settings = {maxAge(9)};
  const Policy policy = resolved.apply(base);
  EXPECT_EQ(policy.max_age, 9);
  EXPECT_EQ(policy.stale_if_error, 7);
}

TEST(PolicySettings, RequestVarsMeanDeclaredKeys) {
  Policy policy;
  ASSERT_TRUE(
      applySetting(policy, "request_vars",
                   std::vector<std::string>{"param:b", "header:Accept-Language", "param:b"}));
  EXPECT_EQ(policy.mode, KeyMode::declared);
  EXPECT_EQ(policy.request_vars, (std::vector<std::string>{"header:accept-language", "param:b"}));
}

TEST(PolicySettings, UnknownInputNamesTheValidOnes) {
  Policy policy;
  const auto result = applySetting(policy, "request_vars", std::vector<std::string>{"parm:b"});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'parm:b' is not an input"), std::string::npos);
}

TEST(PolicySettings, RefuseAShareAboveOne) {
  Policy policy;
  const auto result = applySetting(policy, "jitter", 1.5);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "jitter must be between 0 and 1");
}

TEST(PolicySettings, UnknownModeSuggestsTheNearest) {
  Policy policy;
  const auto result = applySetting(policy, "mode", std::string("declard"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("declared"), std::string::npos);
}

TEST(PolicySettings, ClockInTheKeyNeedsAFiniteMaxAge) {
  Policy policy;
  policy.mode = KeyMode::declared;
  policy.request_vars = {"now"};
  policy.max_age = kForever;
  EXPECT_FALSE(checkPolicy(policy));
}

TEST(PolicySettings, EveryNameOfTheSchemaHasAText) {
  for (const SettingSpec& spec : policySchema())
    EXPECT_FALSE(settingText(Policy{}, spec.name).empty()) << spec.name;
}

TEST(PolicySettings, TextsAreAsTheConfigurationWritesThem) {
  Policy policy;
  policy.max_age = 5'400'000;
  policy.audit = 0.25;
  EXPECT_EQ(settingText(policy, "max_age"), "\"1h30m\"");
  EXPECT_EQ(settingText(policy, "max_age_empty"), "\"1h30m\"");
  EXPECT_EQ(settingText(policy, "audit"), "0.25");
  EXPECT_EQ(settingText(policy, "jitter"), "0.0");
  EXPECT_EQ(settingText(policy, "request_vars"), "[]");
}

TEST(CheckPattern, SaysWhatIsWrong) {
  EXPECT_TRUE(checkPattern("/a/**/b"));
  for (const char* bad : {"a/b", "/a//b", "/a/", "/a/**b", "/a/@@page", "/a/../b"})
    EXPECT_FALSE(checkPattern(bad)) << bad;
}

}  // namespace
}  // namespace larder
