// Properties as JSON text, the form in which an object's map of them is stored.
//
// Integers, reals and text come back as what they were, maps in their order. JSON has no bytes and
// no numbers that are not finite: they are refused with the name of the property.
#pragma once

#include <string>
#include <string_view>

#include "larder/document.h"

namespace larder::site {

/// Throws StoreError for what JSON cannot hold.
[[nodiscard]] std::string encodeJson(const Node& node);
/// Throws StoreError with the position of the fault.
[[nodiscard]] Document decodeJson(std::string_view json);

}  // namespace larder::site
