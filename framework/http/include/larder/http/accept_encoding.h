// Accept-Encoding (RFC 9110, 12.5.3): which form of a body to send.
//
//   AcceptedCodings accepted = acceptedCodings(request.head());
//   Coding coding = accepted.best({.gzip = !page.gzip.empty(), .zstd = false});
//
// A coding is sent only to a client that names it, or "*", with a weight above 0. Without the field
// the body goes out as it is. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "larder/http/message.h"

namespace larder::http {

enum class Coding : std::uint8_t { identity, gzip, zstd };

/// The name that stands in Content-Encoding; "identity" never does.
[[nodiscard]] std::string_view codingName(Coding coding) noexcept;

/// Which coded forms of a body there are.
struct AvailableCodings {
  bool gzip = false;
  bool zstd = false;
};

/// Weights in thousandths; 0 means not acceptable.
struct AcceptedCodings {
  int identity = 1000;
  int gzip = 0;
  int zstd = 0;

  /// The available coding with the largest weight; of equals zstd, then gzip. The plain body is
  /// what a client gets that accepts nothing of what there is: a 406 would help nobody.
  [[nodiscard]] Coding best(AvailableCodings available) const noexcept;
};

[[nodiscard]] AcceptedCodings acceptedCodings(const RequestHead& request) noexcept;
/// The same from the value of the one field.
[[nodiscard]] AcceptedCodings acceptedCodings(std::string_view field_value) noexcept;

}  // namespace larder::http
