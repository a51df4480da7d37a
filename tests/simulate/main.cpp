// simulate [--seed N] [--steps M]: runs the simulation and says what happened; status 1 when an
// answer was wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "simulation.h"

int main(int argc, char** argv) {
  larder::simulate::Plan plan;
  for (int i = 1; i < argc; ++i) {
    const bool seed = std::strcmp(argv[i], "--seed") == 0;
    if ((!seed && std::strcmp(argv[i], "--steps") != 0) || i + 1 == argc) {
      std::fprintf(stderr, "usage: %s [--seed N] [--steps M]\n", argv[0]);
      return 2;
    }
    (seed ? plan.seed : plan.steps) = std::strtoull(argv[++i], nullptr, 10);
  }
  const auto started = std::chrono::steady_clock::now();
  const auto r = larder::simulate::simulate(plan);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "seed %llu: %llu steps in %.1f s (%.1f us each), trace %016llx\n"
      "%llu requests, %llu answers judged: %llu hits, %llu stale hits, %llu coalesced; %llu "
      "refused\n"
      "%llu edits, %llu by other programs, %llu invalidations, %llu crashes, %llu backups "
      "restored, %llu clones, %llu faults\n"
      "%s",
      n(plan.seed), n(r.steps), took.count(),
      1e6 * took.count() / static_cast<double>(r.steps > 0 ? r.steps : 1), n(r.trace),
      n(r.requests), n(r.answers), n(r.hits), n(r.stale_hits), n(r.coalesced), n(r.refused),
      n(r.edits), n(r.foreign_edits), n(r.invalidations), n(r.crashes), n(r.restores), n(r.clones),
      n(r.faults), r.violation.empty() ? "0 violations\n" : r.violation.c_str());
  return r.violation.empty() ? 0 : 1;
}
