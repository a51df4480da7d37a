// Trust: what the audit found of a view, and whether its results may still be served from a cache.
#pragma once

#include <atomic>
#include <cstdint>

namespace larder {

/// Thread-safe. Belongs to one configuration of a view: a reload begins anew.
class Trust {
 public:
  /// Fewer mismatches than this say nothing about a share.
  static constexpr std::uint64_t kLeastMismatches = 3;

  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  /// One audit; true when with it more than `limit` (a share, 1: never) differed for the first
  /// time.
  bool audited(bool same, double limit) noexcept {
    const auto audits = audits_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (same) return false;
    const auto mismatches = mismatches_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool too_many = mismatches >= kLeastMismatches && limit < 1 &&
                          static_cast<double>(mismatches) > limit * static_cast<double>(audits);
    return too_many && !lost_.exchange(true, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> audits_{0};
  std::atomic<std::uint64_t> mismatches_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace larder
