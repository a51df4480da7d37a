// Simulation: a site with two processes, now and then a clone of it with a third one, caches that
// fail in every way, and a scheduler that decides by a seed what happens next: requests that are
// paused anywhere, edits by the server and by other programs, invalidations, time, crashes,
// restored backups. An oracle judges every answer.
//
//   Report report = simulate({.seed = 7, .steps = 100'000});
//   if (!report.violation.empty()) puts(report.violation.c_str());
//
// The same seed does the same, so a violation can be looked at again: simulate --seed 7 --steps N.
#pragma once

#include <cstdint>
#include <string>

namespace larder::simulate {

struct Plan {
  std::uint64_t seed = 1;
  std::uint64_t steps = 100'000;
};

struct Report {
  std::uint64_t steps = 0;
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;  ///< judged
  std::uint64_t hits = 0;
  std::uint64_t stale_hits = 0;
  std::uint64_t coalesced = 0;
  std::uint64_t refused = 0;  ///< requests that ended without an answer
  std::uint64_t edits = 0;
  std::uint64_t foreign_edits = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t crashes = 0;
  std::uint64_t restores = 0;
  std::uint64_t clones = 0;
  std::uint64_t faults = 0;  ///< of caches and renders
  std::uint64_t trace = 0;   ///< digest of all that happened
  std::string violation;     ///< empty: none; else what, the last steps, and how to repeat it
};

/// Runs worlds of at most kWorldSteps steps, with the seeds plan.seed, plan.seed + 1, ..., until
/// the steps are used up or a violation is found.
inline constexpr std::uint64_t kWorldSteps = 20'000;
[[nodiscard]] Report simulate(const Plan& plan);

}  // namespace larder::simulate
