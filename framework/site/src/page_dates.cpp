#include "page_dates.h"

#include <algorithm>

#include "larder/cache/normaliser.h"
#include "larder/cache/scope.h"

namespace larder::site {

namespace {

constexpr Millis kSecond = 1'000;

/// What a client asks for again under the same address.
bool isOfAddress(std::string_view input) noexcept {
  return input == "host" || input.starts_with("param");
}

}  // namespace

PageDates::PageDates(const Clock& clock, const Ledger& ledger)
    : clock_(clock), ledger_(ledger), offset_(clock.wall() - clock.monotonic()) {
  changeCode();
}

void PageDates::changeCode() {
  const std::lock_guard lock(mutex_);
  used_until_ = std::max(used_until_, clock_.wall() + 2 * kSecond);
}

// Both clocks are adjusted alike, so the one moves against the other only when it is set. Read in
// this order, a thread that is interrupted sees it set back at most, which costs a date.
bool PageDates::isUnused(Millis wall) {
  const auto monotonic = clock_.monotonic();
  const auto offset = wall - monotonic;
  const std::lock_guard lock(mutex_);
  if (offset + 1 < offset_) used_until_ = std::max(used_until_, monotonic + offset_);
  offset_ = offset + 1 < offset_ ? offset : std::max(offset_, offset);
  return wall / kSecond > used_until_ / kSecond;
}

// When this process learned of it, which is no earlier than it happened. What is not remembered is
// older than all that is.
Millis PageDates::lastChange(const Recorder& recorder) const {
  std::uint64_t newest = 0;
  for (const auto& scope : recorder.scopes())
    newest = std::max(newest, ledger_.changedAt(scopeId(scope)));
  if (newest == 0) return 0;
  auto change = ledger_.recent().find(newest);
  if (!change) change = ledger_.recent().oldest();
  return change ? change->wall : 0;
}

Millis PageDates::of(const Target& target, const Recorder& recorder) {
  const auto wall = clock_.wall();
  if (!isUnused(wall)) return 0;
  // What the ledger does not tell of may change at any time.
  if (!target.manager || !recorder.refusal().empty() || recorder.readClock()) return 0;
  // So may what is over within a second.
  if (std::min(recorder.maxAge(), target.policy->max_age) < kSecond ||
      recorder.until() / kSecond <= wall / kSecond)
    return 0;
  for (const auto& input : recorder.inputs())
    if (!isOfAddress(plainInput(input))) return 0;
  return lastChange(recorder) / kSecond < wall / kSecond ? wall : 0;
}

}  // namespace larder::site
