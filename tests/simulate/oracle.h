// Oracle: what a site may answer. It is told every acknowledged change, and judges every answer by
// what it says of itself: the versions of what it was made of, and when.
//
// Time is counted in acknowledged changes: a request that begins at moment M may be served nothing
// that a change acknowledged at or before M has made invalid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "larder/cache/scope.h"

namespace larder::simulate {

/// Counts acknowledged changes of all sites.
using Moment = std::uint64_t;
inline constexpr Moment kNever = std::numeric_limits<Moment>::max();

/// A version of one item: every write in a simulation has a number of its own; 0: the item is
/// absent.
using Version = std::uint64_t;

/// Since when something must not be served any more: at all, or as fresh.
struct Ended {
  Moment hard = kNever;
  Moment soft = kNever;
};

/// In the beginning all items are absent.
class Oracle {
 public:
  static constexpr std::size_t kItems = 16;

  /// The state that a backup keeps.
  struct State {
    std::array<Version, kItems> current{};
    std::unordered_map<std::string, Ended> scopes;
  };

  [[nodiscard]] Version current(std::size_t item) const noexcept { return state_.current[item]; }
  /// The item has a new version; 0 removes it.
  void change(std::size_t item, Version version, Moment now, Hardness hardness = Hardness::hard);
  /// Everything that depends on the scope was invalidated.
  void invalidate(std::string_view scope, Moment now, Hardness hardness);
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// History went back to `state`.
  void restore(const State& state, Moment now);

  /// Since when the version may not be served any more. {0, 0} for one that was never current.
  [[nodiscard]] Ended ended(std::size_t item, Version version) const noexcept;
  /// The last invalidations of the scope; {0, 0} for none.
  [[nodiscard]] Ended invalidated(const std::string& scope) const noexcept;

 private:
  struct Known {
    Ended ended{0, 0};  ///< as long as it has never been current
    std::size_t item = kItems;
  };
  Ended& end(std::size_t item, Version version);

  State state_;
  std::vector<Known> versions_;           // by version
  std::array<Ended, kItems> absences_{};  // of version 0, by item
  std::array<std::vector<Version>, kItems> softly_ended_;
};

}  // namespace larder::simulate
