// Faults planted on purpose: each switches one rule of the ledger off, so that the simulator can
// prove that it finds the lack of it. Only a test build that defines LARDER_PLANTED_FAULTS has
// them; anywhere else planted() is the constant false, and no code is left of what asks it.
#pragma once

namespace larder {

enum class Fault {
  none,
  l1_upsert_in_a_trigger,       ///< triggers replace the scope's row of the log
  l1_not_twice_in_the_log,      ///< triggers append no scope that is in the log already
  l3_commits_without_triggers,  ///< commits that left nothing in the log are not looked for
  l7_child_of_another_moment,   ///< a child is judged by now, not by its parent's snapshot
  l7_map_behind_snapshot,       ///< a snapshot is used before the map has caught up with it
  l9_no_eras,                   ///< a lost history's entries are valid
  l10_no_look_at_others,        ///< commits of other processes are not looked for
  l15_key_before_render,        ///< stored under what the view was known to read before
  l16_followers_values,         ///< followers do not compare what the leader read
  l16_followers_arrival,        ///< followers take renders of before they came
  l19_changed_is_stale,         ///< a hard change counts as staleness
};

#ifdef LARDER_PLANTED_FAULTS
/// Set by the test before anything runs.
extern Fault planted_fault;
[[nodiscard]] static inline bool planted(Fault fault) noexcept {
  return planted_fault == fault;
}
#else
[[nodiscard]] static constexpr bool planted(Fault) noexcept {
  return false;
}
#endif

}  // namespace larder
