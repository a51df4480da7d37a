// pairs and next in order of the keys: numbers, texts, booleans. Lua's own order depends on
// addresses, and so would the page made in it.
#include <algorithm>
#include <bit>
#include <string_view>

#include "lua_library.h"
#include "lua_machine.h"

namespace larder::site {
namespace {

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

}  // namespace

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
    std::size_t at = 0;  // in the end fewer than n, if a weak table has lost entries since
    std::size_t bytes = 0;
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
      lua_pushvalue(lua, -2);
      lua_rawseti(lua, own_order, static_cast<lua_Integer>(at) + 1);
      keys[at] = keyAt(lua, -2, static_cast<int>(at) + 1);
      bytes += keys[at].text.size();
      ++at;
    }
    machine.chargeBytes(lua, bytes * static_cast<std::size_t>(std::bit_width(n)));
    std::sort(keys, keys + at, before);
    lua_createtable(lua, static_cast<int>(at), 0);
    for (std::size_t i = 0; i < at; ++i) {
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

}  // namespace larder::site
