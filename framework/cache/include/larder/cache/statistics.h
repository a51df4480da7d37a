// Counters of cached calls, by outcome and reason. Lock-free to count, exact when added up: the sum
// of the outcomes is the number of look-ups.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larder {

/// Every look-up ends in exactly one of the first group; the rest is counted beside it.
enum class Outcome : std::uint8_t {
  hit,
  hit_stale,
  miss_cold,
  miss_expired,
  miss_changed,  ///< a scope changed
  miss_history,  ///< another era or schema
  miss_other_key,
  miss_damaged,
  miss_error,  ///< the cache could not be asked
  coalesced,   ///< served by another request's render
  bypass,      ///< policy said: not cached
  // Beside the look-ups.
  renders,
  render_errors,
  stores,
  refused_render,  ///< the render said so: private state, clock, random, stale part
  refused_policy,  ///< status, Set-Cookie, max_age 0
  refused_input,   ///< mode declared: read what is not declared
  refused_variants,
  refused_cache,  ///< too large, full, store error
  refreshes,
  audits,
  audit_mismatches,
  count_,
};

[[nodiscard]] std::string_view outcomeName(Outcome outcome) noexcept;

/// Striped over a few cache lines by thread, so that counting a hit shares nothing between two busy
/// threads.
class Counters {
 public:
  void add(Outcome outcome, std::uint64_t n = 1) noexcept {
    stripes_[stripe()].values[static_cast<std::size_t>(outcome)].fetch_add(
        n, std::memory_order_relaxed);
  }
  void addSaved(std::uint64_t microseconds) noexcept {
    stripes_[stripe()].saved_us.fetch_add(microseconds, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t total(Outcome outcome) const noexcept;
  [[nodiscard]] std::uint64_t savedMicroseconds() const noexcept;
  /// Look-ups: the sum of the first group.
  [[nodiscard]] std::uint64_t lookups() const noexcept;

 private:
  static constexpr std::size_t kStripes = 8;
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Outcome::count_)> values{};
    std::atomic<std::uint64_t> saved_us{0};
  };
  static std::size_t stripe() noexcept;
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace larder
