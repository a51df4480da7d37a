// Tables of a script as trees and documents.
#pragma once

#include <lua.hpp>
#include <string_view>

#include "larder/document.h"
#include "larder/view.h"

namespace larder::site {

/// Once per state, before anything else here.
void openTrees(lua_State* lua);

/// The value at `index` as a tree. A table of 1, 2, 3 ... becomes a list, one of texts a map in
/// order of its keys; {} a list. Raises an error that names the place in `what` for everything that
/// is neither.
[[nodiscard]] Tree toTree(lua_State* lua, int index, std::string_view what);
/// The value at `index`, a document of its own or a part of one that was read.
[[nodiscard]] Document toDocument(lua_State* lua, int index, std::string_view what);

/// Pushes what stands for null where nil cannot: in a table.
void pushNull(lua_State* lua);
/// Makes the table at `index` a list or a map even when it is empty.
void markList(lua_State* lua, int index);
void markMap(lua_State* lua, int index);

/// Names and values, sorted by name, of a table of texts; empty for nil or none.
[[nodiscard]] Arguments toArguments(lua_State* lua, int index);

}  // namespace larder::site
