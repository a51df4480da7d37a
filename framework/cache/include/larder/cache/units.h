// Durations and sizes as people write them in a configuration: "90s", "1h30m", "64M". A bare number
// is an error that shows how to write it, because nobody should have to guess its unit.
//
//   Result<Millis> age = parseDuration("1h30m");       // 5'400'000
//   if (auto size = parseSize("64"); !size) report(size.error().message);
//
// Pure functions. The errors quote the text; where it stands (file, line, key) is added by whoever
// knows that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "larder/clock.h"
#include "larder/result.h"

namespace larder {

/// Whole numbers with ms, s, m, h, d, the larger unit first and each at most once; or "forever",
/// which is kForever.
Result<Millis> parseDuration(std::string_view text);
/// The shortest text that parseDuration() reads back: "1h30m", "0s", "forever". `duration` >= 0.
[[nodiscard]] std::string formatDuration(Millis duration);

/// A whole number with B, K, M, G or T (powers of 1024); bytes.
Result<std::size_t> parseSize(std::string_view text);
/// With the largest unit that loses nothing: "64M", "1000B".
[[nodiscard]] std::string formatSize(std::size_t bytes);

}  // namespace larder
