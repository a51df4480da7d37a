#pragma once

#include <cstddef>
#include <string_view>

namespace larder::site {

/// Bytes at the start of the text that are well-formed UTF-8: all of them, or up to the fault.
[[nodiscard]] std::size_t validUtf8(std::string_view text) noexcept;

}  // namespace larder::site
