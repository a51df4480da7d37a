// Ghost: remembers which keys were evicted last, without their entries: a key that comes back soon
// was evicted too early.
//
// Sets of four cells of 32 bits: a fingerprint of 16 bits and when it was noted. It may take one
// key in some thousands for another, which costs a slightly worse guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace larder::ram {

class Ghost {
 public:
  static constexpr std::size_t kUnknown = ~std::size_t{0};

  /// Remembers about the last `keys` that were noted; forgets all when the size has to grow.
  /// Throws std::bad_alloc.
  void prepare(std::size_t keys);
  void note(std::uint32_t hash) noexcept;
  /// How many keys have been noted since this one, about; kUnknown if it is not remembered. Forgets
  /// it.
  std::size_t recall(std::uint32_t hash) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return cells_.size() * sizeof(Cell); }

 private:
  using Cell = std::uint32_t;
  static constexpr std::size_t kWays = 4;
  /// Ticks of the age that a cell keeps, for as many keys as there is room for.
  static constexpr std::uint64_t kTicks = 512;

  std::span<Cell> setOf(std::uint32_t hash) noexcept {
    return {&cells_[(hash & mask_) * kWays], kWays};
  }
  static std::uint32_t printOf(std::uint32_t hash) noexcept { return hash | 0xFFFFU; }
  /// In ticks.
  [[nodiscard]] std::uint32_t age(Cell cell) const noexcept {
    return (static_cast<std::uint32_t>(noted_ / per_tick_) - cell) & 0xFFFFU;
  }

  std::vector<Cell> cells_;
  std::size_t mask_ = 0;
  std::uint64_t per_tick_ = 1;
  std::uint64_t noted_ = 0;
};

}  // namespace larder::ram
