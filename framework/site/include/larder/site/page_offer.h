// PagePublisher: who puts pages where a server in front of Larder reads them.
#pragma once

#include <cstdint>
#include <string_view>

#include "larder/cache/learned_inputs.h"
#include "larder/cache/policy.h"
#include "larder/entry.h"

namespace larder::site {

/// A page as it was just answered to a GET. Borrows everything.
struct PageOffer {
  std::string_view path;       ///< canonical, as asked for, with the view
  std::string_view query;      ///< undecoded
  std::string_view authority;  ///< host and port as the client named them
  const CacheEntry& entry;     ///< its value is a page
  const InputNames& known;     ///< what its view is known to read of a request
  const Policy& policy;
  std::uint64_t revision = 0;  ///< of the code and configuration that answered
  bool restricted = false;     ///< not everybody may see it
  bool stored = false;
  bool stale = false;
};

class PagePublisher {
 public:
  virtual ~PagePublisher() = default;
  /// True when it was taken; then the same page is not offered again for a while. Called on the
  /// threads that answer requests: returns at once.
  virtual bool offer(const PageOffer& page) noexcept = 0;
  /// Another number when what was published may have been lost: then all is offered again.
  [[nodiscard]] virtual std::uint64_t epoch() const noexcept = 0;
};

}  // namespace larder::site
