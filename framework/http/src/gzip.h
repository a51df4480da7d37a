// gzip of a whole body.
#pragma once

#include <string>
#include <string_view>

namespace larder::http::detail {

/// The same bytes for the same body each time. Empty when compressing fails or does not make the
/// body smaller.
[[nodiscard]] std::string gzipIfSmaller(std::string_view body);

}  // namespace larder::http::detail
