// Worth: what an entry's size and cost say about keeping it, compared with what comes in lately.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "node_pool.h"

namespace larder::ram {

class Worth {
 public:
  /// Learns from an entry that is stored.
  void learn(const EntryNode& node) noexcept {
    weight_ += (static_cast<double>(node.weight) - weight_) * step();
    if (node.entry->cost_us != 0)
      density_ += (static_cast<double>(densityOf(node)) - density_) * step();
    ++learnt_;
  }
  /// Uses that keep it as long as one use keeps an entry of usual size: 1 to 3.
  [[nodiscard]] std::uint8_t price(const EntryNode& node) const noexcept {
    const auto weight = static_cast<double>(node.weight);
    return static_cast<std::uint8_t>(1 + (weight > 2 * weight_) + (weight > 8 * weight_));
  }
  /// Turns that it gets without being used, 0 to 15: about the square root of how many times more
  /// than usual it cost per byte. In proportion, what was dear and is not asked for again would
  /// stay too long.
  [[nodiscard]] std::uint8_t credit(const EntryNode& node) const noexcept {
    if (node.entry->cost_us == 0) return 0;
    const double above = static_cast<double>(densityOf(node)) - density_;
    const auto root = static_cast<unsigned>(std::clamp(above / 2, 0.0, 4.0));
    return static_cast<std::uint8_t>((1U << root) - 1);
  }

 private:
  /// About the binary logarithm of microseconds per byte.
  static int densityOf(const EntryNode& node) noexcept {
    return std::bit_width(node.entry->cost_us) - std::bit_width(node.weight);
  }
  /// A plain mean at first, then one that forgets.
  [[nodiscard]] double step() const noexcept {
    return 1.0 / static_cast<double>(std::min<std::uint64_t>(learnt_ + 1, 1000));
  }

  double weight_ = 0;
  double density_ = 0;
  std::uint64_t learnt_ = 0;
};

}  // namespace larder::ram
