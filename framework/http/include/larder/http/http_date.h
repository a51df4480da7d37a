// HTTP dates (RFC 9110, 5.6.7) by integer arithmetic: no calendar library, no time zone, no locale.
//
//   char text[kHttpDateSize];
//   formatHttpDate(784111777, text);                       // "Sun, 06 Nov 1994 08:49:37 GMT"
//   parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT", now);  // 784111777
//
// Seconds since 1970-01-01 UTC, in the proleptic Gregorian calendar, years 0 to 9999. Pure
// functions, safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace larder::http {

inline constexpr std::size_t kHttpDateSize = 29;

/// Writes kHttpDateSize characters, without a NUL. Times outside the years 0 to 9999 are written as
/// the nearest that is inside.
void formatHttpDate(std::int64_t seconds, char* out) noexcept;
[[nodiscard]] std::string formatHttpDate(std::int64_t seconds);

/// Reads the current form and both obsolete ones. The day of the week must be a day's name, but
/// need not be the right one. A two-digit year that would lie more than 50 years after `now`
/// (seconds) is one of the century before.
[[nodiscard]] std::optional<std::int64_t> parseHttpDate(std::string_view text,
                                                        std::int64_t now) noexcept;

}  // namespace larder::http
