// The table library. Each step of each loop is paid for, whatever lengths metamethods claim.
#include <algorithm>
#include <string>

#include "lua_library.h"
#include "lua_machine.h"

namespace larder::site {
namespace {

/// A table, or something that reads like one: a document's list.
lua_Integer lengthOf(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TTABLE) {
    const bool is_list = luaL_getmetafield(lua, index, "__index") != LUA_TNIL &&
                         luaL_getmetafield(lua, index, "__len") != LUA_TNIL;
    luaL_argexpected(lua, is_list, index, "table");
    lua_pop(lua, 2);
  }
  return luaL_len(lua, index);
}

int insert(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  LuaMachine& machine = LuaMachine::of(lua);
  const lua_Integer end = static_cast<lua_Integer>(static_cast<lua_Unsigned>(lengthOf(lua, 1)) + 1);
  switch (lua_gettop(lua)) {
    case 2:
      lua_seti(lua, 1, end);
      return 0;
    case 3: {
      const lua_Integer at = luaL_checkinteger(lua, 2);
      luaL_argcheck(lua, at >= 1 && at <= end, 2, "position out of bounds");
      for (lua_Integer i = end; i > at; --i) {
        machine.charge(lua, 1);
        lua_geti(lua, 1, i - 1);
        lua_seti(lua, 1, i);
      }
      lua_seti(lua, 1, at);
      return 0;
    }
    default:
      return luaL_error(lua, "wrong number of arguments to 'insert'");
  }
}

int remove(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  LuaMachine& machine = LuaMachine::of(lua);
  const lua_Integer size = lengthOf(lua, 1);
  lua_Integer at = luaL_optinteger(lua, 2, size);
  if (lua_gettop(lua) > 1)
    luaL_argcheck(lua, (at >= 1 && at <= size + 1) || (size == 0 && at == 0), 2,
                  "position out of bounds");
  lua_geti(lua, 1, at);
  for (; at < size; ++at) {
    machine.charge(lua, 1);
    lua_geti(lua, 1, at + 1);
    lua_seti(lua, 1, at);
  }
  lua_pushnil(lua);
  lua_seti(lua, 1, at);
  return 1;
}

int move(lua_State* lua) {
  LuaMachine& machine = LuaMachine::of(lua);
  (void)lengthOf(lua, 1);
  const lua_Integer first = luaL_checkinteger(lua, 2);
  const lua_Integer last = luaL_checkinteger(lua, 3);
  const lua_Integer to = luaL_checkinteger(lua, 4);
  const int target = lua_isnoneornil(lua, 5) ? 1 : 5;
  luaL_checktype(lua, target, LUA_TTABLE);
  if (last >= first) {
    luaL_argcheck(lua, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    const lua_Integer count = last - first + 1;
    luaL_argcheck(lua, to <= LUA_MAXINTEGER - count + 1, 4, "destination wraps around");
    const bool upwards = to > last || to <= first || lua_rawequal(lua, 1, target) == 0;
    for (lua_Integer i = 0; i < count; ++i) {
      machine.charge(lua, 1);
      const lua_Integer at = upwards ? i : count - 1 - i;
      lua_geti(lua, 1, first + at);
      lua_seti(lua, target, to + at);
    }
  }
  lua_pushvalue(lua, target);
  return 1;
}

int concat(lua_State* lua) {
  LuaMachine& machine = LuaMachine::of(lua);
  const lua_Integer size = lengthOf(lua, 1);
  const std::string_view separator = optText(lua, 2, "");
  const lua_Integer first = luaL_optinteger(lua, 3, 1);
  const lua_Integer last = luaL_optinteger(lua, 4, size);
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  for (lua_Integer i = first; i <= last; ++i) {
    lua_geti(lua, 1, i);
    if (lua_isstring(lua, -1) == 0)
      return luaL_error(lua, "invalid value (a %s) at index %I in table for 'concat'",
                        luaL_typename(lua, -1), static_cast<LUAI_UACINT>(i));
    std::size_t length = 0;
    lua_tolstring(lua, -1, &length);
    machine.charge(lua, 1 + (length + separator.size()) / 16);
    luaL_addvalue(&buffer);
    if (i == last) break;  // the largest integer has no successor
    luaL_addlstring(&buffer, separator.data(), separator.size());
  }
  luaL_pushresult(&buffer);
  return 1;
}

int pack(lua_State* lua) {
  const int count = lua_gettop(lua);
  LuaMachine::of(lua).charge(lua, static_cast<std::uint64_t>(count));
  lua_createtable(lua, count, 1);
  lua_insert(lua, 1);
  for (int i = count; i >= 1; --i) lua_seti(lua, 1, i);
  lua_pushinteger(lua, count);
  lua_setfield(lua, 1, "n");
  return 1;
}

int unpack(lua_State* lua) {
  LuaMachine& machine = LuaMachine::of(lua);
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = lua_isnoneornil(lua, 3) ? luaL_len(lua, 1) : luaL_checkinteger(lua, 3);
  if (first > last) return 0;
  const auto count = static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first) + 1;
  if (count == 0 || count >= 1'000'000 || lua_checkstack(lua, static_cast<int>(count)) == 0)
    return luaL_error(lua, "too many results to unpack");
  for (lua_Unsigned i = 0; i < count; ++i) {
    machine.charge(lua, 1);
    lua_geti(lua, 1, first + static_cast<lua_Integer>(i));
  }
  return static_cast<int>(count);
}

/// Whether the value on top comes before the one below it, which are both removed.
bool comesBefore(lua_State* lua, bool has_function) {
  LuaMachine::of(lua).charge(lua, 2);
  bool result = false;
  if (has_function) {
    lua_pushvalue(lua, 2);
    lua_pushvalue(lua, -2);
    lua_pushvalue(lua, -4);
    lua_call(lua, 2, 1);
    result = lua_toboolean(lua, -1) != 0;
    lua_pop(lua, 3);
  } else {
    if (lua_type(lua, -1) == LUA_TSTRING)
      LuaMachine::of(lua).chargeBytes(lua, std::min(lua_rawlen(lua, -1), lua_rawlen(lua, -2)));
    result = lua_compare(lua, -1, -2, LUA_OPLT) != 0;
    lua_pop(lua, 2);
  }
  return result;
}

/// A merge sort from the bottom up: stable, and n log n comparisons whatever the function says.
int sort(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer size = lengthOf(lua, 1);
  const bool has_function = !lua_isnoneornil(lua, 2);
  if (has_function) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  if (size < 2) return 0;
  luaL_argcheck(lua, size < 100'000'000, 1, "array too big");

  LuaMachine& machine = LuaMachine::of(lua);
  lua_createtable(lua, 0, 0);  // 3
  lua_createtable(lua, 0, 0);  // 4
  for (lua_Integer i = 1; i <= size; ++i) {
    machine.charge(lua, 1);
    lua_geti(lua, 1, i);
    lua_rawseti(lua, 3, i);
  }
  int from = 3;
  int to = 4;
  for (lua_Integer width = 1; width < size; width *= 2) {
    for (lua_Integer start = 1; start <= size; start += 2 * width) {
      lua_Integer left = start;
      const lua_Integer left_end = std::min(start + width, size + 1);
      lua_Integer right = left_end;
      const lua_Integer right_end = std::min(start + 2 * width, size + 1);
      for (lua_Integer out = start; out < right_end; ++out) {
        machine.charge(lua, 1);
        bool take_right = left == left_end;
        if (!take_right && right < right_end) {
          lua_rawgeti(lua, from, left);
          lua_rawgeti(lua, from, right);
          take_right = comesBefore(lua, has_function);
        }
        lua_rawgeti(lua, from, take_right ? right++ : left++);
        lua_rawseti(lua, to, out);
      }
    }
    std::swap(from, to);
  }
  for (lua_Integer i = 1; i <= size; ++i) {
    machine.charge(lua, 1);
    lua_rawgeti(lua, from, i);
    lua_seti(lua, 1, i);
  }
  return 0;
}

}  // namespace

void pushTableLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {{"concat", &concat}, {"insert", &insert}, {"move", &move},
                                {"pack", &pack},     {"remove", &remove}, {"sort", &sort},
                                {"unpack", &unpack}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

}  // namespace larder::site
