// Policy: what a cache manager, rule or view says about caching; plain data, resolved before
// requests come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "larder/clock.h"

namespace larder {

enum class KeyMode : std::uint8_t {
  learned,   ///< the key is made of what the view is known to read
  declared,  ///< only request_vars enter the key; a render that read another input is not stored
  observe,   ///< as learned, but nothing is served from the cache: what would have been is counted
  off,       ///< not cached
};

/// Where a result is put besides the cache, for a server in front to read.
enum class Publish : std::uint8_t { none, nginx };

/// Times in ms. `kForever` means what it says; 0 for a max_age means: do not store.
struct Policy {
  KeyMode mode = KeyMode::learned;
  std::vector<std::string> request_vars;  ///< sorted; mode declared
  Millis max_age = 3'600'000;
  Millis max_age_empty = -1;      ///< null and empty results; -1: as max_age
  Millis max_age_not_found = -1;  ///< 404 and 410; -1: as max_age
  Millis max_age_error = 0;  ///< 5xx answers that a view chose to give; exceptions are never stored
  Millis stale_while_revalidate = 0;
  Millis stale_if_error = 0;
  double early_refresh = 0;        ///< XFetch weight; 0 switches it off
  double jitter = 0;               ///< share of max_age by which an entry may be shortened, 0..1
  Millis render_timeout = 30'000;  ///< a render that takes longer is not used
  Millis soft_timeout = 0;  ///< after it a stale result is served and the render goes on; 0: off
  Millis lease = 10'000;    ///< one process renders a key, for so long at most; 0: off
  std::size_t max_variants = 1000;
  std::size_t max_renders = 64;  ///< concurrent renders of one view
  bool strip_set_cookie = false;
  /// A key is asked for once in a request, and what a page used last time in one round trip at the
  /// start of its render; only of caches that block.
  bool prefetch = true;
  std::vector<std::string> normalise;  ///< as Normaliser::parse() reads them
  double audit = 0;                    ///< share of hits that is rendered again and compared
  double audit_limit = 0.05;  ///< share of audits that may differ before the view is not cached
  std::vector<std::string> audit_mask;  ///< what may differ, as masked() reads it
  Publish publish = Publish::none;
  Millis publish_max_age = 60'000;  ///< how long a published page may live without news
};

}  // namespace larder
