// Conditional requests (RFC 9110, 13): whether a client's copy is still the current one.
//
//   Validators now{.etag = "\"5d41402a\"", .last_modified = 784111777};
//   switch (evaluatePreconditions(request.head(), now)) {
//     case Precondition::proceed:      answer as usual; break;
//     case Precondition::not_modified: answer 304 with the headers of the entry; break;
//     case Precondition::failed:       answer 412; break;
//   }
//
// The order is that of RFC 9110, 13.2.2. A field that cannot be read counts as not sent, but
// If-Match, which then fails. If-Modified-Since matches by equality only: a clock that went back,
// or a page that changed twice within a second, must not confirm an old copy. Pure functions, safe
// from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "larder/http/message.h"

namespace larder::http {

/// Of the current representation.
struct Validators {
  /// With its quotes, and "W/" when weak; empty when there is none.
  std::string_view etag = {};
  /// Seconds since 1970-01-01 UTC; nullopt when unknown, or when it must not confirm a copy.
  std::optional<std::int64_t> last_modified = {};
};

enum class Precondition : std::uint8_t { proceed, not_modified, failed };

[[nodiscard]] Precondition evaluatePreconditions(const RequestHead& request,
                                                 const Validators& current) noexcept;

/// Whether the list of an If-Match or If-None-Match field names `etag`, or is "*". A strong
/// comparison matches no weak tag.
enum class TagComparison : std::uint8_t { weak, strong };
[[nodiscard]] bool listMatches(std::string_view list, std::string_view etag,
                               TagComparison comparison) noexcept;

}  // namespace larder::http
