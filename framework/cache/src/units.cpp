#include "larder/cache/units.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>

namespace larder {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr Unit kDurations[] = {
    {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr Unit kSizes[] = {{"T", std::int64_t{1} << 40},
                           {"G", std::int64_t{1} << 30},
                           {"M", std::int64_t{1} << 20},
                           {"K", std::int64_t{1} << 10},
                           {"B", 1}};
constexpr std::string_view kDurationForm =
    R"(write a whole number and a unit (ms, s, m, h, d), like "90s", "10m", "1h30m" or "250ms"; or "forever")";
constexpr std::string_view kSizeForm =
    R"(write a whole number and a unit (B, K, M, G, T), like "64M", "1G" or "4096B")";

constexpr bool isDigit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool isNumber(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), isDigit);
}

Error malformed(std::string_view text, std::string_view why, std::string_view form) {
  return Error{'"' + std::string(text) + "\" " + std::string(why) + ": " + std::string(form)};
}

/// number * factor added to total, or nothing when that is out of range.
std::optional<std::int64_t> accumulate(std::int64_t total, std::string_view digits,
                                       std::int64_t factor) noexcept {
  std::int64_t number = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, c - '0', &number))
      return std::nullopt;
  }
  if (__builtin_mul_overflow(number, factor, &number) ||
      __builtin_add_overflow(total, number, &total))
    return std::nullopt;
  return total;
}

/// Splits the leading number off `rest`; empty when there is none.
std::string_view takeNumber(std::string_view& rest) noexcept {
  const auto end = std::find_if_not(rest.begin(), rest.end(), isDigit);
  const auto length = static_cast<std::size_t>(end - rest.begin());
  const std::string_view number = rest.substr(0, length);
  rest.remove_prefix(length);
  return number;
}

/// Splits what is not a number off `rest`.
std::string_view takeUnit(std::string_view& rest) noexcept {
  const auto end = std::find_if(rest.begin(), rest.end(), isDigit);
  const auto length = static_cast<std::size_t>(end - rest.begin());
  const std::string_view unit = rest.substr(0, length);
  rest.remove_prefix(length);
  return unit;
}

}  // namespace

Result<Millis> parseDuration(std::string_view text) {
  if (text == "forever") return kForever;
  if (text.starts_with('-')) return malformed(text, "is negative", kDurationForm);
  if (isNumber(text)) return malformed(text, "has no unit", kDurationForm);

  std::int64_t total = 0;
  std::string_view rest = text;
  const Unit* next = std::begin(kDurations);
  do {
    const std::string_view number = takeNumber(rest);
    const std::string_view name = takeUnit(rest);
    const Unit* unit = std::find_if(next, std::end(kDurations),
                                    [&](const Unit& candidate) { return candidate.name == name; });
    if (number.empty() || unit == std::end(kDurations))
      return malformed(text, "is not a duration", kDurationForm);
    const auto sum = accumulate(total, number, unit->factor);
    if (!sum || *sum == kForever)
      return malformed(text, "is longer than can be counted", R"(write "forever")");
    total = *sum;
    next = unit + 1;
  } while (!rest.empty());
  return total;
}

std::string formatDuration(Millis duration) {
  if (duration == kForever) return "forever";
  if (duration <= 0) return "0s";
  std::string text;
  for (const Unit& unit : kDurations) {
    if (duration < unit.factor) continue;
    text += std::to_string(duration / unit.factor);
    text += unit.name;
    duration %= unit.factor;
  }
  return text;
}

Result<std::size_t> parseSize(std::string_view text) {
  if (text.starts_with('-')) return malformed(text, "is negative", kSizeForm);
  if (isNumber(text)) return malformed(text, "has no unit", kSizeForm);

  std::string_view rest = text;
  const std::string_view number = takeNumber(rest);
  const Unit* unit = std::find_if(std::begin(kSizes), std::end(kSizes),
                                  [&](const Unit& candidate) { return candidate.name == rest; });
  if (number.empty() || unit == std::end(kSizes))
    return malformed(text, "is not a size", kSizeForm);
  const auto bytes = accumulate(0, number, unit->factor);
  if (!bytes) return malformed(text, "is larger than can be counted", kSizeForm);
  return static_cast<std::size_t>(*bytes);
}

std::string formatSize(std::size_t bytes) {
  for (const Unit& unit : kSizes) {
    const auto factor = static_cast<std::size_t>(unit.factor);
    if (bytes >= factor && bytes % factor == 0)
      return std::to_string(bytes / factor) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

}  // namespace larder
