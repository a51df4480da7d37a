// What a script returns, as a Value.
#pragma once

#include <lua.hpp>

#include "larder/value.h"

namespace larder::site {

/// The value at `index` as script_view.h says; raises an error for what is neither a page nor a
/// document, and for a header that would not stay one line (CWE-113).
[[nodiscard]] Value toResult(lua_State* lua, int index);

}  // namespace larder::site
