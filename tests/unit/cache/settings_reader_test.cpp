#include "larder/cache/settings_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr SettingSpec kSchema[] = {
    {"max_size", SettingType::size, "64M", "Bytes."},
    {"max_age", SettingType::duration, "forever", "Fresh for so long.", "lifetime"},
    {"servers", SettingType::texts, R"(["127.0.0.1:11211", "b"])", "Where."},
    {"tcp_nodelay", SettingType::boolean, "true", "Now."},
    {"weight", SettingType::real, "0.5", "How much."},
    {"connections", SettingType::integer, "8", "How many."},
    {"prefix", SettingType::text, "larder:", "Before keys."},
};
constexpr SettingSpec kRequired[] = {{"servers", SettingType::texts, nullptr, "Where."}};

Settings read(const RawSettings& raw) {
  auto result = readSettings(kSchema, raw, "c.toml:1: manager 'm'");
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : Settings();
}

std::string errorOf(const RawSettings& raw, std::span<const SettingSpec> schema = kSchema) {
  const auto result = readSettings(schema, raw, "c.toml:1: manager 'm'");
  return result ? "accepted" : result.error().message;
}

RawSettings one(std::string name, decltype(RawSetting::value) value) {
  return {{std::move(name), {std::move(value), "c.toml:7"}}};
}

TEST(ReadSettings, FallbacksFillWhatIsNotGiven) {
  const Settings s = read({});
  EXPECT_EQ(s.size("max_size"), 67'108'864u);
  EXPECT_EQ(s.duration("max_age"), kForever);
  EXPECT_THAT(s.texts("servers"), ElementsAre("127.0.0.1:11211", "b"));
  EXPECT_TRUE(s.boolean("tcp_nodelay"));
  EXPECT_EQ(s.real("weight"), 0.5);
  EXPECT_EQ(s.integer("connections"), 8);
  EXPECT_EQ(s.text("prefix"), "larder:");
}

TEST(ReadSettings, GivenValuesWin) {
  EXPECT_EQ(read(one("max_size", "1K")).size("max_size"), 1024u);
  EXPECT_EQ(read(one("max_age", "90s")).duration("max_age"), 90'000);
  EXPECT_THAT(read(one("servers", std::vector<std::string>{})).texts("servers"), ElementsAre());
  EXPECT_FALSE(read(one("tcp_nodelay", false)).boolean("tcp_nodelay"));
  EXPECT_EQ(read(one("connections", std::int64_t{3})).integer("connections"), 3);
}

TEST(ReadSettings, AWholeNumberIsARealToo) {
  EXPECT_EQ(read(one("weight", std::int64_t{2})).real("weight"), 2.0);
}

TEST(ReadSettings, AnAliasIsStoredUnderTheName) {
  EXPECT_EQ(read(one("lifetime", "1m")).duration("max_age"), 60'000);
}

TEST(ReadSettings, NameAndAliasTogetherAreAnError) {
  EXPECT_THAT(errorOf({{"lifetime", {std::string("1m"), "c.toml:7"}},
                       {"max_age", {std::string("2m"), "c.toml:8"}}}),
              HasSubstr("c.toml:8: 'max_age' sets 'max_age' a second time"));
}

TEST(ReadSettings, Semantics42_AnUnknownNameGetsTheNearestValidOne) {
  EXPECT_EQ(errorOf(one("max_siz", "1M")),
            "c.toml:7: unknown setting 'max_siz'; did you mean 'max_size'?");
}

TEST(ReadSettings, AnUnknownNameFarFromAllGetsTheList) {
  EXPECT_THAT(errorOf(one("colour", "red")), HasSubstr("valid here: max_size, max_age"));
}

TEST(ReadSettings, APluginWithoutSettingsSaysSo) {
  EXPECT_EQ(errorOf(one("colour", "red"), {}), "c.toml:7: unknown setting 'colour'; it takes none");
}

TEST(ReadSettings, Semantics08_ABareNumberForADurationShowsHowToWriteIt) {
  EXPECT_THAT(
      errorOf(one("max_age", std::int64_t{60})),
      HasSubstr("c.toml:7: 'max_age': \"60\" has no unit: write a whole number and a unit"));
}

TEST(ReadSettings, AnErrorUnderAnAliasNamesTheAlias) {
  EXPECT_THAT(errorOf(one("lifetime", "soon")),
              HasSubstr("'lifetime': \"soon\" is not a duration"));
}

TEST(ReadSettings, AnotherTypeNamesTheExpectedNotation) {
  EXPECT_EQ(errorOf(one("tcp_nodelay", "yes")),
            "c.toml:7: 'tcp_nodelay': \"yes\" is not true or false");
  EXPECT_THAT(errorOf(one("servers", "a:1")),
              HasSubstr("is not a list of texts like [\"a\", \"b\"]"));
  EXPECT_THAT(errorOf(one("connections", 1.5)), HasSubstr("1.5 is not a whole number like 12"));
  EXPECT_THAT(errorOf(one("max_size", true)), HasSubstr("true is not a size like \"64M\""));
  EXPECT_THAT(errorOf(one("prefix", std::int64_t{1})), HasSubstr("1 is not a text"));
  EXPECT_THAT(errorOf(one("weight", std::vector<std::string>{"a", "b"})),
              HasSubstr("[\"a\", \"b\"] is not a number like 0.5"));
}

TEST(ReadSettings, AMissingRequiredSettingNamesItsOwner) {
  EXPECT_EQ(errorOf({}, kRequired),
            "c.toml:1: manager 'm': 'servers' is missing: give it a list of texts like "
            "[\"a\", \"b\"]");
}

TEST(ReadSettings, AWronglyWrittenRequiredSettingIsNotCalledMissing) {
  EXPECT_THAT(errorOf(one("servers", "a:1"), kRequired), Not(HasSubstr("missing")));
}

TEST(ReadSettings, EveryProblemGetsALine) {
  EXPECT_EQ(errorOf({{"max_age", {std::int64_t{1}, "c.toml:7"}}, {"nope", {true, "c.toml:8"}}})
                    .find("\nc.toml:8: unknown setting 'nope'") != std::string::npos,
            true);
}

TEST(ReadSettings, ASettingDeclaredTwiceIsReadByItsFirstDeclaration) {
  constexpr SettingSpec schema[] = {{"prefix", SettingType::text, "own:", "Before keys."},
                                    {"prefix", SettingType::text, "larder:", "Before keys."}};
  EXPECT_EQ(readSettings(schema, {}, "test")->text("prefix"), "own:");
  EXPECT_EQ(readSettings(schema, one("prefix", "x:"), "test")->text("prefix"), "x:");
}

TEST(ReadSettings, AWrongFallbackIsThePluginsFault) {
  constexpr SettingSpec schema[] = {{"n", SettingType::integer, "many", "Number."}};
  EXPECT_THAT(errorOf({}, schema), HasSubstr("the plugin's own default of 'n' is wrong"));
}

}  // namespace
}  // namespace larder
