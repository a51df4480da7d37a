// Between Lua and documents: documents and objects that a script reads in place, tables that become
// trees.
#pragma once

#include <cstdint>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "larder/document.h"
#include "larder/value.h"
#include "larder/view.h"

namespace larder::site {

/// Makes the metatables. Once per state, before anything else here.
void openValues(lua_State* lua);

/// Scalars as Lua's own, null as nil, bytes as a string; a list or map as a value that reads it in
/// place: v.key, v[1], #v, pairs, ipairs.
void pushDocument(lua_State* lua, Document document);
/// An object: o.path, name, type, title, body, properties, tags, revision, created, modified,
/// manager. Nil for null.
void pushObject(lua_State* lua, ObjectPtr object);
/// A document, or for a page a table {status, headers, body}.
void pushValue(lua_State* lua, const Value& value);
/// tostring() of the value at `index`, without addresses.
void pushText(lua_State* lua, int index);

/// The value at `index` as a tree. A table of 1, 2, 3 ... becomes a list, one of texts a map in
/// order of its keys; {} a list. Raises an error that names the place in `what` for everything that
/// is neither.
[[nodiscard]] Tree toTree(lua_State* lua, int index, std::string_view what);
/// The document that the value at `index` reads, or null.
[[nodiscard]] const Node* readNode(lua_State* lua, int index);
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
