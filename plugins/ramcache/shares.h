// Shares: how much of a shard each partition of the keys takes, and how much it should. The engine
// maps views to partitions, so this keeps one view from pushing out the others.
//
// When there is no room, a partition that takes more than the largest share loses its entries
// before others do, and one that takes less than the smallest share loses none. Space which nobody
// else wants is used, whatever the shares.
#pragma once

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
    bytes_.find(partition)->second += bytes;
    total_ += bytes;
    if (isOver(partition)) last_over_ = partition;
  }
  [[nodiscard]] bool isOver(std::uint32_t partition) const noexcept {
    return largest_ < 1 && part(partition) > largest_;
  }
  [[nodiscard]] bool isUnder(std::uint32_t partition) const noexcept {
    return smallest_ > 0 && part(partition) < smallest_;
  }
  [[nodiscard]] bool isAnyOver() const noexcept { return isOver(last_over_); }
  void clear() noexcept {
    bytes_.clear();
    total_ = 0;
  }

 private:
  [[nodiscard]] double part(std::uint32_t partition) const noexcept {
    const auto it = bytes_.find(partition);
    return it == bytes_.end() || total_ == 0
               ? 0
               : static_cast<double>(it->second) / static_cast<double>(total_);
  }
  double smallest_;
  double largest_;
  std::size_t total_ = 0;
  std::uint32_t last_over_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> bytes_;
};

}  // namespace larder::ram
