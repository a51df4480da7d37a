// RecentChanges: the last rows of the ledger's log, for people who ask why a result is no longer
// valid. Not used to judge anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "larder/cache/scope.h"
#include "larder/clock.h"

namespace larder {

struct RecentChange {
  std::uint64_t seq = 0;
  std::string scope;  ///< as logged: "obj:/a", "new:/a", "subtree:/a"
  Hardness hardness = Hardness::hard;
  Millis wall = 0;          ///< when this process learned of it; 0: before it started
  bool by_content = false;  ///< a change of content, not an invalidation that somebody asked for
};

/// Thread-safe.
class RecentChanges {
 public:
  static constexpr std::size_t kKept = 1024;

  void add(RecentChange change) {
    const std::lock_guard lock(mutex_);
    changes_[next_++ % kKept] = std::move(change);
  }
  /// The last one with this seq that is still known.
  [[nodiscard]] std::optional<RecentChange> find(std::uint64_t seq) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t back = 1; back <= kKept && back <= next_; ++back) {
      const RecentChange& change = changes_[(next_ - back) % kKept];
      if (change.seq == seq) return change;
    }
    return std::nullopt;
  }

  /// Of those that are still known; nothing: there was none.
  [[nodiscard]] std::optional<RecentChange> oldest() const {
    const std::lock_guard lock(mutex_);
    if (next_ == 0) return std::nullopt;
    return changes_[next_ > kKept ? next_ % kKept : 0];
  }

 private:
  mutable std::mutex mutex_;
  std::array<RecentChange, kKept> changes_;
  std::size_t next_ = 0;
};

}  // namespace larder
