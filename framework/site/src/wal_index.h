// The write-ahead log of a SQLite file as all its processes see it: WalIndex, its head in shared
// memory, and the commits that lie in it.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace larder::site {

/// The header of the wal-index: two copies of 48 bytes, of which SQLite writes the second first.
/// https://www.sqlite.org/walformat.html#the_wal_index_header
class WalIndex {
 public:
  explicit WalIndex(const std::uint32_t* words) noexcept : words_(words) {}
  /// Of this connection's file, once it has been read; null if it has none that is understood.
  [[nodiscard]] static const std::uint32_t* map(sqlite3* connection) noexcept;

  /// Commits, counted by SQLite.
  [[nodiscard]] std::uint32_t changes() const noexcept { return word(2); }
  /// Frames of the log that are in use.
  [[nodiscard]] std::uint32_t frames() const noexcept { return word(4); }
  /// Changes whenever the log is begun anew.
  [[nodiscard]] std::uint64_t salt() const noexcept { return pair(8); }
  /// Checksum of the copy 0 or 1.
  [[nodiscard]] std::uint64_t sum(std::size_t copy) const noexcept {
    return pair(copy * kCopy + 10);
  }

 private:
  static constexpr std::size_t kCopy = 12;
  [[nodiscard]] std::uint32_t word(std::size_t i) const noexcept {
    return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(words_[i]))
        .load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t pair(std::size_t i) const noexcept {
    return std::uint64_t{word(i)} << 32U | word(i + 1);
  }
  const std::uint32_t* words_;
};

struct WalCommits {
  std::uint32_t count = 0;
  bool all_wrote = true;  ///< each of them wrote the page that was asked for
};

/// The commits in the frames after `first` up to `last` of the log that has this salt. Nothing when
/// they cannot be read, or belong to another log by now.
[[nodiscard]] std::optional<WalCommits> readWalCommits(sqlite3* connection, std::uint32_t page_size,
                                                       std::uint64_t salt, std::uint32_t first,
                                                       std::uint32_t last, std::uint32_t page);

}  // namespace larder::site
