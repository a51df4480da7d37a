#include "larder/http/http_date.h"

#include <gtest/gtest.h>

#include <string>

namespace larder::http {
namespace {

constexpr std::int64_t kNow = 1'780'000'000;  // 2026

struct Moment {
  std::int64_t seconds;
  std::string text;
};

class HttpDate : public testing::TestWithParam<Moment> {};

TEST_P(HttpDate, IsWrittenAndReadBack) {
  EXPECT_EQ(formatHttpDate(GetParam().seconds), GetParam().text);
  EXPECT_EQ(parseHttpDate(GetParam().text, kNow), GetParam().seconds);
}

INSTANTIATE_TEST_SUITE_P(All, HttpDate,
                         testing::Values(Moment{0, "Thu, 01 Jan 1970 00:00:00 GMT"},
                                         Moment{784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
                                         Moment{-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
                                         Moment{951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
                                         Moment{951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
                                         Moment{4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
                                         Moment{4107456000, "Sun, 28 Feb 2100 00:00:00 GMT"},
                                         Moment{2147483648, "Tue, 19 Jan 2038 03:14:08 GMT"},
                                         Moment{253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
                                         Moment{-62167219200, "Sat, 01 Jan 0000 00:00:00 GMT"}));

TEST(HttpDate, EveryDayFollowsTheDayBefore) {
  // Walks the calendar by its own rule through four centuries and compares each day.
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::string_view kWeek = "MonTueWedThuFriSatSun";
  const auto two = [](int n) { return std::string(n < 10 ? "0" : "") + std::to_string(n); };
  std::int64_t day = -170 * 365 - 41;  // 1800-01-01, a Wednesday
  std::size_t weekday = 2;
  for (int year = 1800; year < 2201; ++year) {
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (int month = 0; month < 12; ++month) {
      const int lengths[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
      for (int d = 1; d <= lengths[month]; ++d, ++day, weekday = (weekday + 1) % 7) {
        const std::string expected =
            std::string(kWeek.substr(weekday * 3, 3)) + ", " + two(d) + " " +
            std::string(kMonths.substr(static_cast<std::size_t>(month) * 3, 3)) + " " +
            std::to_string(year) + " 12:00:00 GMT";
        const std::int64_t noon = day * 86400 + 43200;
        ASSERT_EQ(formatHttpDate(noon), expected);
        ASSERT_EQ(parseHttpDate(expected, kNow), noon);
      }
    }
  }
}

TEST(HttpDate, TimesOutsideFourDigitYearsAreClamped) {
  EXPECT_EQ(formatHttpDate(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(formatHttpDate(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
}

class ObsoleteDate : public testing::TestWithParam<Moment> {};

TEST_P(ObsoleteDate, IsRead) {
  EXPECT_EQ(parseHttpDate(GetParam().text, kNow), GetParam().seconds);
}

INSTANTIATE_TEST_SUITE_P(All, ObsoleteDate,
                         testing::Values(Moment{784111777, "Sunday, 06-Nov-94 08:49:37 GMT"},
                                         Moment{784111777, "Sun Nov  6 08:49:37 1994"},
                                         Moment{784975777, "Wed Nov 16 08:49:37 1994"},
                                         Moment{3155760000, "Saturday, 01-Jan-70 00:00:00 GMT"},
                                         Moment{915148799, "Thu, 31 Dec 1998 23:59:60 GMT"},
                                         Moment{784111777, "Mon, 06 Nov 1994 08:49:37 GMT"}));

TEST(HttpDate, TwoDigitYearsLieAtMostFiftyYearsAhead) {
  constexpr std::int64_t kIn1998 = 900'000'000;
  EXPECT_EQ(parseHttpDate("Saturday, 01-Jan-05 00:00:00 GMT", kIn1998), 1104537600);
  EXPECT_EQ(parseHttpDate("Friday, 01-Jan-99 00:00:00 GMT", kIn1998), 915148800);
}

class NoDate : public testing::TestWithParam<std::string> {};

TEST_P(NoDate, IsRefused) {
  EXPECT_EQ(parseHttpDate(GetParam(), kNow), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    All, NoDate,
    testing::Values("", "Sun", "Sun, ", "0", "784111777", "Sun, 06 Nov 1994 08:49:37",
                    "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
                    " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
                    "Sun, 06 nov 1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
                    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
                    "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
                    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
                    "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 19941 08:49:37 GMT",
                    "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994"));

}  // namespace
}  // namespace larder::http
