// Counters of one view of one object, and the table of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "larder/cache/statistics.h"

namespace larder {

/// Coarser than Counters, so that many objects can have them. Lock-free to count.
class ObjectCounters {
 public:
  enum class Kind : std::uint8_t {
    hits,
    stale,
    misses,
    coalesced,
    bypassed,
    renders,
    refused,
    saved_us,
    count_
  };
  static constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::count_);

  void add(Outcome outcome) noexcept {
    if (const auto kind = kindOf(outcome); kind != Kind::count_) add(kind, 1);
  }
  void add(Kind kind, std::uint64_t n) noexcept {
    stripes_[threadStripe() % kStripes].values[static_cast<std::size_t>(kind)].fetch_add(
        n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t total(Kind kind) const noexcept;
  /// hits, stale, misses, coalesced and bypassed.
  [[nodiscard]] std::uint64_t lookups() const noexcept;
  /// Hits of the period that runs and of the one before.
  [[nodiscard]] std::uint64_t recentHits() const noexcept {
    return total(Kind::hits) - hits_before_.load(std::memory_order_relaxed);
  }
  /// One thread at a time.
  void beginPeriod() noexcept {
    hits_before_.store(std::exchange(hits_then_, total(Kind::hits)), std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] static constexpr Kind kindOf(Outcome outcome) noexcept;
  static constexpr std::size_t kStripes = 4;
  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, kKinds> values{};
  };
  std::array<Stripe, kStripes> stripes_{};
  std::uint64_t hits_then_ = 0;                ///< when the period that runs began
  std::atomic<std::uint64_t> hits_before_{0};  ///< when the one before began
};

constexpr ObjectCounters::Kind ObjectCounters::kindOf(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::hit:
      return Kind::hits;
    case Outcome::hit_stale:
      return Kind::stale;
    case Outcome::coalesced:
      return Kind::coalesced;
    case Outcome::bypass:
      return Kind::bypassed;
    case Outcome::renders:
      return Kind::renders;
    default:
      if (outcome < Outcome::coalesced) return Kind::misses;
      if (outcome >= Outcome::refused_render && outcome <= Outcome::refused_late)
        return Kind::refused;
      return Kind::count_;
  }
}

[[nodiscard]] std::string_view objectKindName(ObjectCounters::Kind kind) noexcept;

/// Thread-safe. Objects past the limit are counted together, under the path "".
class ObjectStatistics {
 public:
  static constexpr std::size_t kMost = 10'000;

  /// Valid as long as this object.
  [[nodiscard]] ObjectCounters& of(std::string_view path, std::string_view view);
  void forEach(const std::function<void(std::string_view path, std::string_view view,
                                        const ObjectCounters& counters)>& visit) const;
  /// For what recentHits() counts.
  void beginPeriod() noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<ObjectCounters>> objects_;
};

}  // namespace larder
