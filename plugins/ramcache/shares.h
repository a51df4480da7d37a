// Shares: how much of a shard each partition of the keys takes, and how much it should. The engine
// maps views to partitions, so this keeps one view from pushing out the others.
//
// When there is no room, a partition that takes more than the largest share loses its entries
// before others do, and one that takes less than the smallest share loses none. Space which nobody
// else wants is used, whatever the shares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace larder::ram {

class Shares {
 public:
  /// Parts of the whole, 0 to 1; 0 and 1 set no limit.
  Shares(double smallest, double largest) noexcept : smallest_(smallest), largest_(largest) {}

  [[nodiscard]] bool limit() const noexcept { return smallest_ > 0 || largest_ < 1; }
  /// So that add() needs no memory. Throws std::bad_alloc.
  void prepare(std::uint32_t partition) {
    if (limit()) bytes_.try_emplace(partition);
  }
  /// `bytes` may stand for a negative number.
  void add(std::uint32_t partition, std::size_t bytes) noexcept {
    if (!limit()) return;
    std::size_t& own = bytes_.find(partition)->second;
    const std::size_t before = own;
    own += bytes;
    total_ += bytes;
    if (own > most_) {
      most_ = own;
    } else if (before == most_) {  // few partitions share a shard: one for each view
      most_ = 0;
      for (const auto& [_, taken] : bytes_) most_ = std::max(most_, taken);
    }
  }
  [[nodiscard]] bool isOver(std::uint32_t partition) const noexcept {
    return largest_ < 1 && part(bytesOf(partition)) > largest_;
  }
  [[nodiscard]] bool isUnder(std::uint32_t partition) const noexcept {
    return smallest_ > 0 && part(bytesOf(partition)) < smallest_;
  }
  [[nodiscard]] bool isAnyOver() const noexcept { return largest_ < 1 && part(most_) > largest_; }
  void clear() noexcept {
    bytes_.clear();
    total_ = most_ = 0;
  }

 private:
  [[nodiscard]] std::size_t bytesOf(std::uint32_t partition) const noexcept {
    const auto it = bytes_.find(partition);
    return it == bytes_.end() ? 0 : it->second;
  }
  [[nodiscard]] double part(std::size_t bytes) const noexcept {
    return total_ == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total_);
  }
  double smallest_;
  double largest_;
  std::size_t total_ = 0;
  std::size_t most_ = 0;  ///< of one partition
  std::unordered_map<std::uint32_t, std::size_t> bytes_;
};

}  // namespace larder::ram
