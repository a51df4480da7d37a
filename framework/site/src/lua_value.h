// Documents and objects that a script reads in place.
#pragma once

#include <cstdint>
#include <lua.hpp>

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

/// The document that the value at `index` reads, and the number under which the machine keeps it;
/// null when it is something else.
[[nodiscard]] const Node* nodeAt(lua_State* lua, int index, std::uint32_t& document);
/// The object that the value at `index` reads, or null.
[[nodiscard]] const Object* objectAt(lua_State* lua, int index);

}  // namespace larder::site
