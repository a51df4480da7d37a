#include "larder/cache/statistics.h"

namespace larder {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Outcome::count_)> kNames = {
    "hit",           "hit_stale",        "miss_cold",      "miss_expired",    "miss_changed",
    "miss_history",  "miss_other_key",   "miss_damaged",   "miss_error",      "coalesced",
    "bypass",        "renders",          "render_errors",  "render_timeouts", "soft_timeouts",
    "stores",        "refused_render",   "refused_policy", "refused_input",   "refused_variants",
    "refused_cache", "refused_late",     "refused_busy",   "refreshes",       "lease_waits",
    "audits",        "audit_mismatches", "observed_hits"};

}  // namespace

std::string_view outcomeName(Outcome outcome) noexcept {
  return kNames[static_cast<std::size_t>(outcome)];
}

std::size_t threadStripe() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

std::uint64_t Counters::total(Outcome outcome) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& s : stripes_)
    sum += s.values[static_cast<std::size_t>(outcome)].load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t Counters::savedMicroseconds() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& s : stripes_) sum += s.saved_us.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t Counters::observedMicroseconds() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& s : stripes_) sum += s.observed_us.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t Counters::lookups() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Outcome::bypass); ++i)
    sum += total(static_cast<Outcome>(i));
  return sum;
}

}  // namespace larder
