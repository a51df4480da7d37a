// JSON text of a document. Bytes become base64 text; a real that is not finite becomes null.
#pragma once

#include <string>

#include "larder/document.h"

namespace larder::site {

[[nodiscard]] std::string toJson(const Node& node);

}  // namespace larder::site
