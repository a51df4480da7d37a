#include "ghost.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace larder::ram {

namespace {
constexpr std::uint32_t kNever = ~std::uint32_t{0};  // older than any age
}

// Sets of four fill unevenly: with room for a third more, so many keys were pushed out before their
// time that it cost 0.3 points of hit ratio.
void Ghost::prepare(std::size_t keys) {
  const auto sets = std::bit_ceil(std::max<std::size_t>(keys * 2 / kWays, 4));
  if (sets * kWays <= cells_.size()) return;
  std::vector<Cell>(sets * kWays, 0).swap(cells_);
  mask_ = sets - 1;
  per_tick_ = std::max<std::uint64_t>(sets * kWays / kTicks, 1);
}

void Ghost::note(std::uint32_t hash) noexcept {
  if (cells_.empty()) return;
  ++noted_;
  const auto oldest = std::ranges::max_element(
      setOf(hash), {}, [this](Cell cell) { return cell ? age(cell) : kNever; });
  const auto tick = static_cast<std::uint32_t>(noted_ / per_tick_) & 0xFFFFU;
  *oldest = (printOf(hash) & 0xFFFF0000U) | tick;
}

std::size_t Ghost::recall(std::uint32_t hash) noexcept {
  if (cells_.empty()) return kUnknown;
  const auto set = setOf(hash);
  const auto found = std::ranges::find_if(
      set, [&](Cell cell) { return cell != 0 && (cell | 0xFFFFU) == printOf(hash); });
  if (found == set.end()) return kUnknown;
  const auto noted_since = age(std::exchange(*found, 0)) * per_tick_;
  return static_cast<std::size_t>(noted_since);
}

}  // namespace larder::ram
