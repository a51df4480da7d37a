// What the libraries that read the render context share.
#pragma once

#include <lua.hpp>
#include <string_view>
#include <utility>

#include "lua_machine.h"

namespace larder::site {

inline void pushView(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

/// Calls a function of the context, with its failures as Lua errors.
template <class F>
auto ask(lua_State* lua, F&& question) {
  LuaMachine& machine = LuaMachine::of(lua);
  machine.charge(lua, 20);
  return machine.outside(lua, [&] { return std::forward<F>(question)(machine.context()); });
}

}  // namespace larder::site
