#include "larder/http/http_date.h"

#include <algorithm>
#include <array>

#include "chars.h"

namespace larder::http {
namespace {

constexpr std::int64_t kDaySeconds = 86400;
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct Civil {
  std::int64_t year;
  int month;  // 1 to 12
  int day;    // 1 to 31
};

constexpr bool isLeap(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr int daysInMonth(std::int64_t year, int month) {
  constexpr std::array<int, 12> kLengths = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && isLeap(year) ? 29 : kLengths[static_cast<std::size_t>(month - 1)];
}

// Years are counted from March on, so that the leap day is the last of its year. Months from March
// have 31 30 31 30 31 days, over and over: (153 * m + 2) / 5 days lie before month m. A cycle of
// 400 years has 146,097 days. Day 0 is 0000-03-01, which is 719,468 days before 1970-01-01.
constexpr std::int64_t kCycleDays = 146097;
constexpr std::int64_t kEpochDay = 719468;

constexpr std::int64_t yearStart(std::int64_t year) {
  return year * 365 + year / 4 - year / 100 + year / 400;
}

// Both for years from 0 on, which begin up to 60 days before day 0: one cycle is added and taken
// off.
constexpr std::int64_t daysFromCivil(const Civil& date) {
  const std::int64_t year = date.year + 400 - (date.month <= 2 ? 1 : 0);
  const int month = (date.month + 9) % 12;
  return yearStart(year) + (153 * month + 2) / 5 + date.day - 1 - kCycleDays - kEpochDay;
}

constexpr Civil civilFromDays(std::int64_t days) {
  const std::int64_t day = days + kEpochDay + kCycleDays;
  // A guess that is never too small and at most one too large.
  std::int64_t year = (day * 400 + 591) / kCycleDays;
  if (yearStart(year) > day) --year;
  const int rest = static_cast<int>(day - yearStart(year));
  const int month = (5 * rest + 2) / 153;
  Civil date{};
  date.day = rest - (153 * month + 2) / 5 + 1;
  date.month = month < 10 ? month + 3 : month - 9;
  date.year = year - 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

static_assert(daysFromCivil({1970, 1, 1}) == 0);
static_assert(civilFromDays(0).year == 1970 && civilFromDays(0).month == 1);

constexpr std::int64_t kEarliest = daysFromCivil({0, 1, 1}) * kDaySeconds;
constexpr std::int64_t kLatest = (daysFromCivil({9999, 12, 31}) + 1) * kDaySeconds - 1;

void writeDigits(char* out, int count, std::int64_t number) {
  for (char* p = out + count; p != out; number /= 10) *--p = static_cast<char>('0' + number % 10);
}

// Reads a date piece by piece; once a piece is not there, all that follows fails.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool atEnd() const { return ok_ && rest_.empty(); }

  void literal(std::string_view expected) {
    if (!accept(expected)) ok_ = false;
  }

  bool accept(std::string_view expected) {
    if (!ok_ || !rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  int number(std::size_t digits) {
    int value = 0;
    if (rest_.size() < digits) ok_ = false;
    for (std::size_t i = 0; ok_ && i < digits; ++i) {
      if (!detail::isDigit(rest_[i])) ok_ = false;
      value = value * 10 + (rest_[i] - '0');
    }
    if (ok_) rest_.remove_prefix(digits);
    return value;
  }

  int month() {
    for (int m = 0; m < 12; ++m) {
      if (accept(kMonths.substr(static_cast<std::size_t>(m) * 3, 3))) return m + 1;
    }
    ok_ = false;
    return 0;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Parts {
  Civil date{};
  int hour = 0;
  int minute = 0;
  int second = 0;
};

void readTime(Reader& in, Parts& parts) {
  parts.hour = in.number(2);
  in.literal(":");
  parts.minute = in.number(2);
  in.literal(":");
  parts.second = in.number(2);
}

// After "Sun, ": 06 Nov 1994 08:49:37 GMT
void readImfFixdate(Reader& in, Parts& parts) {
  parts.date.day = in.number(2);
  in.literal(" ");
  parts.date.month = in.month();
  in.literal(" ");
  parts.date.year = in.number(4);
  in.literal(" ");
  readTime(in, parts);
  in.literal(" GMT");
}

// After "Sunday, ": 06-Nov-94 08:49:37 GMT (RFC 850)
void readRfc850(Reader& in, Parts& parts, std::int64_t now) {
  parts.date.day = in.number(2);
  in.literal("-");
  parts.date.month = in.month();
  in.literal("-");
  const int two_digits = in.number(2);
  in.literal(" ");
  readTime(in, parts);
  in.literal(" GMT");
  const std::int64_t this_year =
      civilFromDays(std::clamp(now, kEarliest, kLatest) / kDaySeconds).year;
  parts.date.year = this_year - this_year % 100 + two_digits;
  if (parts.date.year > this_year + 50) parts.date.year -= 100;
  if (parts.date.year < this_year - 49) parts.date.year += 100;
}

// After "Sun ": Nov  6 08:49:37 1994 (asctime)
void readAsctime(Reader& in, Parts& parts) {
  parts.date.month = in.month();
  in.literal(" ");
  parts.date.day = in.accept(" ") ? in.number(1) : in.number(2);
  in.literal(" ");
  readTime(in, parts);
  in.literal(" ");
  parts.date.year = in.number(4);
}

}  // namespace

void formatHttpDate(std::int64_t seconds, char* out) noexcept {
  seconds = std::clamp(seconds, kEarliest, kLatest);
  std::int64_t days = seconds / kDaySeconds;
  std::int64_t rest = seconds % kDaySeconds;
  if (rest < 0) {
    rest += kDaySeconds;
    --days;
  }
  const Civil date = civilFromDays(days);
  // 1970-01-01 was a Thursday.
  const std::size_t weekday = static_cast<std::size_t>(((days + 3) % 7 + 7) % 7);
  constexpr std::string_view kShape = "Day, 00 Mon 0000 00:00:00 GMT";
  static_assert(kShape.size() == kHttpDateSize);
  std::copy(kShape.begin(), kShape.end(), out);
  std::copy_n(kDays[weekday].begin(), 3, out);
  writeDigits(out + 5, 2, date.day);
  std::copy_n(kMonths.begin() + static_cast<std::ptrdiff_t>(date.month - 1) * 3, 3, out + 8);
  writeDigits(out + 12, 4, date.year);
  writeDigits(out + 17, 2, rest / 3600);
  writeDigits(out + 20, 2, rest / 60 % 60);
  writeDigits(out + 23, 2, rest % 60);
}

std::string formatHttpDate(std::int64_t seconds) {
  std::string text(kHttpDateSize, '\0');
  formatHttpDate(seconds, text.data());
  return text;
}

std::optional<std::int64_t> parseHttpDate(std::string_view text, std::int64_t now) noexcept {
  Reader in(text);
  Parts parts;
  bool day_found = false;
  for (const std::string_view day : kDays) {
    if (in.accept(day)) {
      in.literal(", ");
      readRfc850(in, parts, now);
    } else if (in.accept(day.substr(0, 3))) {
      if (in.accept(", ")) {
        readImfFixdate(in, parts);
      } else {
        in.literal(" ");
        readAsctime(in, parts);
      }
    } else {
      continue;
    }
    day_found = true;
    break;
  }
  if (!day_found || !in.atEnd()) return std::nullopt;
  const Civil& date = parts.date;
  // Second 60 is a leap second: read as the one before it.
  if (date.day < 1 || date.day > daysInMonth(date.year, date.month) || parts.hour > 23 ||
      parts.minute > 59 || parts.second > 60) {
    return std::nullopt;
  }
  return daysFromCivil(date) * kDaySeconds + parts.hour * 3600L + parts.minute * 60L +
         std::min(parts.second, 59);
}

}  // namespace larder::http
