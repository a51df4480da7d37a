#include "larder/cache/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace larder {
namespace {

using ::testing::HasSubstr;

std::string durationError(std::string_view text) {
  const auto result = parseDuration(text);
  return result ? "accepted as " + std::to_string(*result) : result.error().message;
}

std::string sizeError(std::string_view text) {
  const auto result = parseSize(text);
  return result ? "accepted as " + std::to_string(*result) : result.error().message;
}

class ReadsDuration : public ::testing::TestWithParam<std::pair<const char*, Millis>> {};
TEST_P(ReadsDuration, AsMilliseconds) {
  const auto result = parseDuration(GetParam().first);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(Units, ReadsDuration,
                         ::testing::Values(std::pair{"90s", 90'000}, std::pair{"10m", 600'000},
                                           std::pair{"1h30m", 5'400'000}, std::pair{"250ms", 250},
                                           std::pair{"0s", 0}, std::pair{"1m500ms", 60'500},
                                           std::pair{"31d", 2'678'400'000},
                                           std::pair{"1d2h3m4s5ms", 93'784'005},
                                           std::pair{"forever", kForever}));

class RefusesDuration : public ::testing::TestWithParam<const char*> {};
TEST_P(RefusesDuration, AndShowsHowToWriteIt) {
  EXPECT_THAT(durationError(GetParam()), HasSubstr("\"1h30m\""));
}
INSTANTIATE_TEST_SUITE_P(Units, RefusesDuration,
                         ::testing::Values("", "s", "90", "-5s", "1.5h", "1 h", " 90s", "90s ",
                                           "90S", "30m1h", "1s1s", "1h30", "10y", "Forever", "+5s",
                                           "1e3s", "5s\n", "\xc2\xb5s"));

TEST(Duration, Semantics08_ABareNumberHasNoUnit) {
  EXPECT_THAT(durationError("90"), HasSubstr("\"90\" has no unit"));
}

TEST(Duration, Semantics08_NegativeIsAnError) {
  EXPECT_THAT(durationError("-5s"), HasSubstr("\"-5s\" is negative"));
}

TEST(Duration, TooLongPointsToForever) {
  EXPECT_THAT(durationError("99999999999999999999d"), HasSubstr("write \"forever\""));
}

TEST(Duration, TheLongestCountableIsNotForever) {
  EXPECT_EQ(*parseDuration("9223372036854775806ms"), kForever - 1);
  EXPECT_THAT(durationError("9223372036854775807ms"), HasSubstr("write \"forever\""));
}

TEST(Duration, FormatReadsBack) {
  for (const Millis value : {Millis{0}, Millis{1}, Millis{999}, Millis{60'500}, Millis{5'400'000},
                             Millis{93'784'005}, kForever - 1, kForever})
    EXPECT_EQ(*parseDuration(formatDuration(value)), value) << formatDuration(value);
}

TEST(Duration, FormatIsShort) {
  EXPECT_EQ(formatDuration(5'400'000), "1h30m");
  EXPECT_EQ(formatDuration(0), "0s");
  EXPECT_EQ(formatDuration(kForever), "forever");
}

class ReadsSize : public ::testing::TestWithParam<std::pair<const char*, std::size_t>> {};
TEST_P(ReadsSize, AsBytes) {
  const auto result = parseSize(GetParam().first);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, GetParam().second);
}
INSTANTIATE_TEST_SUITE_P(Units, ReadsSize,
                         ::testing::Values(std::pair{"64M", 67'108'864UL},
                                           std::pair{"1G", 1'073'741'824UL},
                                           std::pair{"4096B", 4096UL}, std::pair{"16K", 16'384UL},
                                           std::pair{"2T", 2'199'023'255'552UL},
                                           std::pair{"0B", 0UL}));

class RefusesSize : public ::testing::TestWithParam<const char*> {};
TEST_P(RefusesSize, AndShowsHowToWriteIt) {
  EXPECT_THAT(sizeError(GetParam()), HasSubstr("\"64M\""));
}
INSTANTIATE_TEST_SUITE_P(Units, RefusesSize,
                         ::testing::Values("", "M", "64", "-1M", "1.5G", "64MB", "64 M", "64m",
                                           "1G512M", "9999999999999T", "99999999999999999999B"));

TEST(Size, ABareNumberHasNoUnit) {
  EXPECT_THAT(sizeError("64"), HasSubstr("\"64\" has no unit"));
}

TEST(Size, FormatReadsBack) {
  for (const std::size_t value : {0UL, 1UL, 1000UL, 1024UL, 67'108'864UL, 67'108'865UL, 1UL << 40})
    EXPECT_EQ(*parseSize(formatSize(value)), value) << formatSize(value);
}

TEST(Size, FormatLosesNothing) {
  EXPECT_EQ(formatSize(67'108'864), "64M");
  EXPECT_EQ(formatSize(1000), "1000B");
}

}  // namespace
}  // namespace larder
