// What a script sees: each function pushes one table of functions.
#pragma once

#include <lua.hpp>
#include <string_view>

namespace larder::site {

/// The table of all globals: the base functions, and the libraries, which scripts cannot change.
void pushGlobals(lua_State* lua);

void pushCoroutineLibrary(lua_State* lua);
void pushStringLibrary(lua_State* lua);
void pushTableLibrary(lua_State* lua);
void pushUtf8Library(lua_State* lua);
void pushMathLibrary(lua_State* lua);
void pushRegexLibrary(lua_State* lua);
void pushJsonLibrary(lua_State* lua);
void pushRequestLibrary(lua_State* lua);
void pushSiteLibrary(lua_State* lua);
void pushCacheLibrary(lua_State* lua);
void pushHttpLibrary(lua_State* lua);
void pushHtmlLibrary(lua_State* lua);
void pushDateLibrary(lua_State* lua);
/// view, sql, tag: into the table on top.
void addContextFunctions(lua_State* lua);

/// pairs(table), in order of its keys.
int pairsInOrder(lua_State* lua);
/// next(table [, key]), in the same order; looks through the whole table each time.
int nextInOrder(lua_State* lua);

/// The object of the request, or nil; remembered in the environment.
int pushRequestObject(lua_State* lua);

/// The string argument `index`; numbers count as strings.
[[nodiscard]] std::string_view checkText(lua_State* lua, int index);
/// The same, or `fallback` for nil or none.
[[nodiscard]] std::string_view optText(lua_State* lua, int index, std::string_view fallback);

/// Lua's own function of that name, from the library's table at `stock`, into the one on top.
void takeFunction(lua_State* lua, int stock, const char* name);

}  // namespace larder::site
