// PageDates: Last-Modified of the pages that may have one: those of which another one with the same
// date says the same (L20). All others have their tag alone.
#pragma once

#include <mutex>
#include <string_view>

#include "larder/cache/engine.h"
#include "larder/cache/ledger.h"
#include "larder/cache/recorder.h"
#include "larder/clock.h"

namespace larder::site {

/// Thread-safe.
class PageDates {
 public:
  PageDates(const Clock& clock, const Ledger& ledger);

  /// Wall clock, ms, at the end of a page's render; 0: none.
  [[nodiscard]] Millis of(const Target& target, const Recorder& recorder);
  /// Other code or settings from now on, in all processes within a second.
  void changeCode();

 private:
  /// Whether no page can have had this second's date before what was changed before.
  [[nodiscard]] bool isUnused(Millis wall);
  [[nodiscard]] Millis lastChange(const Recorder& recorder) const;

  const Clock& clock_;
  const Ledger& ledger_;
  std::mutex mutex_;
  Millis offset_;          ///< of the wall clock from the monotonic one, at most
  Millis used_until_ = 0;  ///< wall
};

}  // namespace larder::site
