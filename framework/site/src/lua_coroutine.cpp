// Coroutines as Lua's, but a limit that ends one ends the script.
#include "lua_library.h"
#include "lua_machine.h"

namespace larder::site {
namespace {

/// A coroutine hides as many instructions from the count as lie between two hooks.
constexpr std::uint64_t kPrice = 1000;

lua_State* checkThread(lua_State* lua) {
  lua_State* thread = lua_tothread(lua, 1);
  luaL_argexpected(lua, thread != nullptr, 1, "coroutine");
  return thread;
}

/// Values on top of the stack, or -1 and an error on top.
int resumeWith(lua_State* lua, lua_State* thread, int arguments) {
  if (lua_checkstack(thread, arguments) == 0) {
    lua_pushliteral(lua, "too many arguments to resume");
    return -1;
  }
  LuaMachine& machine = LuaMachine::of(lua);
  lua_xmove(lua, thread, arguments);
  int results = 0;
  int status = LUA_OK;
  {
    const LuaMachine::Running running(machine, thread);
    status = lua_resume(thread, lua, arguments, &results);
  }
  if (status == LUA_OK || status == LUA_YIELD) {
    if (lua_checkstack(lua, results + 1) == 0) {
      lua_pop(thread, results);
      lua_pushliteral(lua, "too many results to resume");
      return -1;
    }
    lua_xmove(thread, lua, results);
    return results;
  }
  machine.passOn(lua, status);
  lua_xmove(thread, lua, 1);
  return -1;
}

/// Ends a coroutine, which runs its to-be-closed variables.
int closeThread(lua_State* lua, lua_State* thread) {
  LuaMachine& machine = LuaMachine::of(lua);
  int status = LUA_OK;
  {
    const LuaMachine::Running running(machine, thread);
    status = lua_resetthread(thread);
  }
  if (status != LUA_OK) machine.passOn(lua, status);
  return status;
}

int create(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TFUNCTION);
  LuaMachine::of(lua).charge(lua, kPrice);
  lua_State* thread = lua_newthread(lua);
  lua_pushvalue(lua, 1);
  lua_xmove(lua, thread, 1);
  return 1;
}

int resume(lua_State* lua) {
  lua_State* thread = checkThread(lua);
  const int results = resumeWith(lua, thread, lua_gettop(lua) - 1);
  const bool ok = results >= 0;
  lua_pushboolean(lua, ok ? 1 : 0);
  lua_insert(lua, -(ok ? results : 1) - 1);
  return (ok ? results : 1) + 1;
}

int resumeWrapped(lua_State* lua) {
  lua_State* thread = lua_tothread(lua, lua_upvalueindex(1));
  const int results = resumeWith(lua, thread, lua_gettop(lua));
  if (results >= 0) return results;
  const int status = lua_status(thread);
  if (status != LUA_OK && status != LUA_YIELD) closeThread(lua, thread);
  if (lua_type(lua, -1) == LUA_TSTRING) {
    luaL_where(lua, 1);
    lua_insert(lua, -2);
    lua_concat(lua, 2);
  }
  return lua_error(lua);
}

int wrap(lua_State* lua) {
  create(lua);
  lua_pushcclosure(lua, &resumeWrapped, 1);
  return 1;
}

int yield(lua_State* lua) {
  return lua_yield(lua, lua_gettop(lua));
}

const char* statusOf(lua_State* lua, lua_State* thread) {
  if (lua == thread) return "running";
  switch (lua_status(thread)) {
    case LUA_YIELD:
      return "suspended";
    case LUA_OK: {
      lua_Debug record;
      if (lua_getstack(thread, 0, &record) != 0) return "normal";
      return lua_gettop(thread) == 0 ? "dead" : "suspended";
    }
    default:
      return "dead";
  }
}

int status(lua_State* lua) {
  lua_pushstring(lua, statusOf(lua, checkThread(lua)));
  return 1;
}

int close(lua_State* lua) {
  lua_State* thread = checkThread(lua);
  const std::string_view state = statusOf(lua, thread);
  if (state != "dead" && state != "suspended")
    return luaL_error(lua, "cannot close a %s coroutine", state.data());
  if (closeThread(lua, thread) == LUA_OK) {
    lua_pushboolean(lua, 1);
    return 1;
  }
  lua_pushboolean(lua, 0);
  lua_xmove(thread, lua, 1);
  return 2;
}

}  // namespace

void pushCoroutineLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {{"close", &close},   {"create", &create}, {"resume", &resume},
                                {"status", &status}, {"wrap", &wrap},     {"yield", &yield},
                                {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

}  // namespace larder::site
