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
  render_timeouts,  ///< took longer than render_timeout: not used
  soft_timeouts,    ///< went on in the background while something stale was served
  stores,
  refused_render,  ///< the render said so: private state, clock, random, stale part
  refused_policy,  ///< status, Set-Cookie, max_age 0
  refused_input,   ///< mode declared: read what is not declared
  refused_variants,
  refused_cache,  ///< too large, full, store error
  refused_late,   ///< the cache holds the result of a later snapshot
  refused_busy,   ///< no render: too many were under way for too long
  refreshes,
  lease_waits,  ///< another process was rendering the same
  audits,
  audit_mismatches,
  observed_hits,  ///< mode observe: would have been served from the cache
  count_,
};

[[nodiscard]] std::string_view outcomeName(Outcome outcome) noexcept;

/// A small number that differs between threads, as far as it can.
[[nodiscard]] std::size_t threadStripe() noexcept;

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
  /// Mode observe: what would have been saved.
  void addObserved(std::uint64_t microseconds) noexcept {
    stripes_[stripe()].observed_us.fetch_add(microseconds, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t total(Outcome outcome) const noexcept;
  [[nodiscard]] std::uint64_t savedMicroseconds() const noexcept;
  [[nodiscard]] std::uint64_t observedMicroseconds() const noexcept;
  /// Look-ups: the sum of the first group.
  [[nodiscard]] std::uint64_t lookups() const noexcept;

 private:
  static constexpr std::size_t kStripes = 8;
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Outcome::count_)> values{};
    std::atomic<std::uint64_t> saved_us{0};
    std::atomic<std::uint64_t> observed_us{0};
  };
  static std::size_t stripe() noexcept { return threadStripe() % kStripes; }
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace larder
