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
  void learn(const Node& node) noexcept {
    weight_ += (static_cast<double>(node.weight) - weight_) * step();
    if (node.entry->cost_us != 0)
      density_ += (static_cast<double>(densityOf(node)) - density_) * step();
    ++learnt_;
  }
  /// Uses that keep it as long as one use keeps an entry of usual size: 1 to 3.
  [[nodiscard]] std::uint8_t price(const Node& node) const noexcept {
    const auto weight = static_cast<double>(node.weight);
    return static_cast<std::uint8_t>(1 + (weight > 2 * weight_) + (weight > 8 * weight_));
  }
  /// How often it may be spared without having been used, 0 to 3: one for each factor of four that
  /// it cost more per byte than usual.
  [[nodiscard]] std::uint8_t credit(const Node& node) const noexcept {
    if (node.entry->cost_us == 0) return 0;
    const double above = static_cast<double>(densityOf(node)) - density_;
    return static_cast<std::uint8_t>(std::clamp(above / 2, 0.0, 3.0));
  }

 private:
  /// About the binary logarithm of microseconds per byte.
  static int densityOf(const Node& node) noexcept {
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
