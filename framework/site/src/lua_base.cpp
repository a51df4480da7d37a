// The base functions: Lua's own where they do no harm, ours where Lua's could hide a limit, run
// bytecode or finalizers, show an address or depend on one.
#include <cmath>
#include <string>

#include "lua_library.h"
#include "lua_machine.h"
#include "lua_tree.h"
#include "lua_value.h"

namespace larder::site {
namespace {

constexpr std::size_t kLongestNumber = 256;
constexpr std::size_t kLongestChunk = std::size_t{256} * 1024;

// --- Protected calls: as Lua's, but a limit passes through.

int finishProtected(lua_State* lua, int status, lua_KContext skipped) {
  if (status != LUA_OK && status != LUA_YIELD) {
    LuaMachine::of(lua).passOn(lua, status);
    lua_pushboolean(lua, 0);
    lua_pushvalue(lua, -2);
    return 2;
  }
  return lua_gettop(lua) - static_cast<int>(skipped);
}

int protectedCall(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  const int status = lua_pcallk(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0, 0, &finishProtected);
  return finishProtected(lua, status, 0);
}

/// Runs while an error is being raised, maybe by the count hook, during which no hook counts: the
/// script's handler is left out then.
int guardedHandler(lua_State* lua) {
  if (LuaMachine::of(lua).isOver()) return 1;
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

int protectedCallWithHandler(lua_State* lua) {
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_pushvalue(lua, 2);
  lua_pushcclosure(lua, &guardedHandler, 1);
  lua_replace(lua, 2);
  lua_pushboolean(lua, 1);
  lua_pushvalue(lua, 1);
  lua_rotate(lua, 3, 2);  // function, handler, true, function, arguments
  const int status = lua_pcallk(lua, lua_gettop(lua) - 4, LUA_MULTRET, 2, 2, &finishProtected);
  return finishProtected(lua, status, 2);
}

// --- Values

int setMetatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int type = lua_type(lua, 2);
  luaL_argexpected(lua, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
  if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL)
    return luaL_error(lua, "cannot change a protected metatable");
  if (type == LUA_TTABLE) {
    // Finalizers run where no hook counts.
    lua_pushliteral(lua, "__gc");
    if (lua_rawget(lua, 2) != LUA_TNIL)
      return luaL_error(lua, "'__gc' is not available to scripts");
  }
  lua_settop(lua, 2);
  lua_setmetatable(lua, 1);
  return 1;
}

int toStringWithoutAddress(lua_State* lua) {
  luaL_checkany(lua, 1);
  pushText(lua, 1);
  return 1;
}

int toNumber(lua_State* lua) {
  std::size_t size = 0;
  if (lua_type(lua, 1) == LUA_TSTRING && lua_tolstring(lua, 1, &size) != nullptr &&
      size > kLongestNumber) {
    lua_pushnil(lua);
    return 1;
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

/// load(text [, name [, mode [, environment]]]); the mode is always "t".
int loadText(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const std::string name = "=" + std::string(optText(lua, 2, "(load)"));
  if (text.size() > kLongestChunk)
    return luaL_error(lua, "load takes at most %d bytes", static_cast<int>(kLongestChunk));
  LuaMachine::of(lua).charge(lua, text.size() * 2);
  const bool own_environment = !lua_isnone(lua, 4);
  const int status = luaL_loadbufferx(lua, text.data(), text.size(), name.c_str(), "t");
  if (status != LUA_OK) {
    LuaMachine::of(lua).passOn(lua, status);
    lua_pushnil(lua);
    lua_insert(lua, -2);
    return 2;
  }
  if (own_environment) {
    lua_pushvalue(lua, 4);
  } else {
    LuaMachine::pushEnvironment(lua);
  }
  if (lua_setupvalue(lua, -2, 1) == nullptr) lua_pop(lua, 1);
  return 1;
}

int readOnly(lua_State* lua) {
  return luaL_error(lua, "the library '%s' cannot be changed",
                    lua_tostring(lua, lua_upvalueindex(1)));
}

/// Replaces the table of functions on top by something that reads like it and cannot be changed,
/// not even by rawset.
void seal(lua_State* lua, const char* name) {
  lua_newuserdatauv(lua, 0, 0);
  lua_createtable(lua, 0, 4);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushstring(lua, name);
  lua_pushcclosure(lua, &readOnly, 1);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
}

void addLibrary(lua_State* lua, const char* name, void (*push)(lua_State*)) {
  push(lua);
  seal(lua, name);
  lua_setfield(lua, -2, name);
}

// --- math

int randomNumber(lua_State* lua) {
  LuaMachine& machine = LuaMachine::of(lua);
  const std::uint64_t bits = machine.outside(lua, [&] { return machine.context().random(); });
  const int arguments = lua_gettop(lua);
  if (arguments == 0) {
    lua_pushnumber(lua, std::ldexp(static_cast<lua_Number>(bits >> 11), -53));
    return 1;
  }
  const lua_Integer low = arguments == 1 ? 1 : luaL_checkinteger(lua, 1);
  const lua_Integer high = luaL_checkinteger(lua, arguments == 1 ? 1 : 2);
  luaL_argcheck(lua, low <= high, arguments == 1 ? 1 : 2, "interval is empty");
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  // The high half of a product with the span: Lemire, "Fast Random Integer Generation in an
  // Interval", 2019, without the rejection, whose bias nobody sees here. A span of 0 is all.
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t offset =
      span == 0 ? bits : static_cast<std::uint64_t>((static_cast<Wide>(bits) * span) >> 64);
  const std::uint64_t number = static_cast<std::uint64_t>(low) + offset;  // wraps as it should
  lua_pushinteger(lua, static_cast<lua_Integer>(number));
  return 1;
}

}  // namespace

std::string_view checkText(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

std::string_view optText(lua_State* lua, int index, std::string_view fallback) {
  return lua_isnoneornil(lua, index) ? fallback : checkText(lua, index);
}

void takeFunction(lua_State* lua, int stock, const char* name) {
  lua_getfield(lua, stock, name);
  lua_setfield(lua, -2, name);
}

void pushMathLibrary(lua_State* lua) {
  luaopen_math(lua);
  lua_pushcfunction(lua, &randomNumber);
  lua_setfield(lua, -2, "random");
  lua_pushnil(lua);
  lua_setfield(lua, -2, "randomseed");
}

void pushGlobals(lua_State* lua) {
  luaopen_base(lua);
  const int stock = lua_gettop(lua);
  lua_createtable(lua, 0, 48);
  for (const char* name : {"assert", "error", "getmetatable", "ipairs", "rawequal", "rawget",
                           "rawlen", "rawset", "select", "type", "_VERSION"}) {
    takeFunction(lua, stock, name);
  }
  const luaL_Reg own[] = {{"load", &loadText},
                          {"next", &nextInOrder},
                          {"pairs", &pairsInOrder},
                          {"pcall", &protectedCall},
                          {"setmetatable", &setMetatable},
                          {"tostring", &toStringWithoutAddress},
                          {"xpcall", &protectedCallWithHandler},
                          {nullptr, nullptr}};
  luaL_setfuncs(lua, own, 0);
  lua_getfield(lua, stock, "tonumber");
  lua_pushcclosure(lua, &toNumber, 1);
  lua_setfield(lua, -2, "tonumber");

  openValues(lua);
  openTrees(lua);
  addLibrary(lua, "cache", &pushCacheLibrary);
  addLibrary(lua, "coroutine", &pushCoroutineLibrary);
  addLibrary(lua, "date", &pushDateLibrary);
  addLibrary(lua, "html", &pushHtmlLibrary);
  addLibrary(lua, "http", &pushHttpLibrary);
  addLibrary(lua, "json", &pushJsonLibrary);
  addLibrary(lua, "math", &pushMathLibrary);
  addLibrary(lua, "re", &pushRegexLibrary);
  addLibrary(lua, "request", &pushRequestLibrary);
  addLibrary(lua, "site", &pushSiteLibrary);
  addLibrary(lua, "string", &pushStringLibrary);
  addLibrary(lua, "table", &pushTableLibrary);
  addLibrary(lua, "utf8", &pushUtf8Library);
  addContextFunctions(lua);

  // Lua's own table of globals: what is left in it nobody reaches, and nothing should be.
  for (lua_pushnil(lua); lua_next(lua, stock) != 0;) {
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    lua_pushnil(lua);
    lua_rawset(lua, stock);
  }
  lua_remove(lua, stock);
}

}  // namespace larder::site
