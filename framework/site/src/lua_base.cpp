// The base functions: Lua's own where they do no harm, ours where Lua's could hide a limit, run
// bytecode or finalizers, show an address or depend on one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "lua_library.h"
#include "lua_machine.h"
#include "lua_value.h"

namespace larder::site {
namespace {

constexpr std::size_t kLongestNumber = 256;
constexpr std::size_t kLongestChunk = 256 * 1024;

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

// --- Order of keys

int typeRank(int type) {
  switch (type) {
    case LUA_TNUMBER:
      return 0;
    case LUA_TSTRING:
      return 1;
    case LUA_TBOOLEAN:
      return 2;
    default:
      return 3;  // by address only, which is none of the script's business
  }
}

struct Key {
  int rank = 3;
  int position = 0;  ///< in the table's own order, from 1
  lua_Number number = 0;
  std::string_view text;
};

/// Of the value at `index`. Whole numbers beyond 2^53 may compare equal: their order is then the
/// table's own.
Key keyAt(lua_State* lua, int index, int position) {
  Key key;
  key.position = position;
  key.rank = typeRank(lua_type(lua, index));
  if (key.rank == 0) {
    key.number = lua_tonumber(lua, index);
  } else if (key.rank == 1) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, index, &size);
    key.text = {text, size};
  } else if (key.rank == 2) {
    key.number = lua_toboolean(lua, index);
  }
  return key;
}

bool before(const Key& a, const Key& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.number != b.number) return a.number < b.number;
  if (a.rank == 1) return a.text < b.text;
  return a.position < b.position;
}

/// Upvalues: the keys in order, how many are done.
int nextPair(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_Integer done = lua_tointeger(lua, lua_upvalueindex(2));
  for (;;) {
    lua_settop(lua, 1);
    if (lua_rawgeti(lua, lua_upvalueindex(1), ++done) == LUA_TNIL) return 1;
    lua_pushvalue(lua, -1);
    // A key that has gone since the loop began has no turn.
    if (lua_rawget(lua, 1) != LUA_TNIL) break;
    LuaMachine::of(lua).charge(lua, 1);
  }
  lua_pushinteger(lua, done);
  lua_replace(lua, lua_upvalueindex(2));
  return 2;
}

/// Upvalues: how many items, how many are done.
int nextItem(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer count = lua_tointeger(lua, lua_upvalueindex(1));
  lua_Integer done = lua_tointeger(lua, lua_upvalueindex(2));
  do {
    lua_settop(lua, 1);
    if (++done > count) return 0;
    LuaMachine::of(lua).charge(lua, 1);
  } while (lua_rawgeti(lua, 1, done) == LUA_TNIL);
  lua_pushinteger(lua, done);
  lua_pushvalue(lua, -1);
  lua_replace(lua, lua_upvalueindex(2));
  lua_insert(lua, -2);
  return 2;
}

/// Counts the pairs of the table at 1; whether they are 1, 2, 3 ... in the table's own order.
bool isInOrder(lua_State* lua, lua_Integer& count) {
  LuaMachine& machine = LuaMachine::of(lua);
  bool in_order = true;
  count = 0;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    machine.charge(lua, 1);
    ++count;
    in_order = in_order && lua_isinteger(lua, -2) != 0 && lua_tointeger(lua, -2) == count;
  }
  return in_order;
}

/// Lua's own order depends on addresses, and so would the page made in it.
int pairsInOrder(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 3);
    return 3;
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  LuaMachine& machine = LuaMachine::of(lua);
  machine.look(lua);  // to look through a table of which little is left takes time, too
  lua_Integer count = 0;
  if (isInOrder(lua, count)) {
    lua_pushinteger(lua, count);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, &nextItem, 2);
  } else {
    const auto n = static_cast<std::size_t>(count);
    machine.charge(lua, n * static_cast<std::size_t>(std::bit_width(n)));
    auto* keys = static_cast<Key*>(lua_newuserdatauv(lua, n * sizeof(Key), 0));
    lua_createtable(lua, static_cast<int>(n), 0);  // keeps the texts alive, too
    const int own_order = lua_gettop(lua);
    std::size_t at = 0;
    std::size_t bytes = 0;
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
      lua_pushvalue(lua, -2);
      lua_rawseti(lua, own_order, static_cast<lua_Integer>(at) + 1);
      keys[at] = keyAt(lua, -2, static_cast<int>(at) + 1);
      bytes += keys[at].text.size();
      ++at;
    }
    machine.chargeBytes(lua, bytes * static_cast<std::size_t>(std::bit_width(n)));
    std::sort(keys, keys + n, before);
    lua_createtable(lua, static_cast<int>(n), 0);
    for (std::size_t i = 0; i < n; ++i) {
      lua_rawgeti(lua, own_order, keys[i].position);
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
    }
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, &nextPair, 2);
  }
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

/// In the same order as pairs; looks through the whole table each time.
int nextInOrder(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  LuaMachine& machine = LuaMachine::of(lua);
  machine.look(lua);
  const bool first = lua_isnil(lua, 2);
  const Key after = keyAt(lua, 2, 0);
  if (!first && after.rank == 3)
    return luaL_error(lua, "next cannot follow a key of type %s; use pairs", luaL_typename(lua, 2));
  lua_pushnil(lua);  // 3: the best key so far
  bool found = false;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    machine.charge(lua, 1);
    const Key key = keyAt(lua, -2, 0);
    if (!first && !before(after, key)) continue;
    if (found && !before(key, keyAt(lua, 3, 0))) continue;
    found = true;
    lua_pushvalue(lua, -2);
    lua_replace(lua, 3);
  }
  lua_settop(lua, 3);
  if (!found) return 1;
  lua_pushvalue(lua, 3);
  lua_rawget(lua, 1);
  return 2;
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
  lua_pushinteger(lua, static_cast<lua_Integer>(static_cast<std::uint64_t>(low) + offset));
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
