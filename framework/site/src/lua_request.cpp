// What a script reads of the request.
#include <optional>
#include <string>
#include <utility>

#include "lua_ask.h"
#include "lua_library.h"
#include "lua_value.h"

namespace larder::site {
namespace {

int pushOptional(lua_State* lua, const std::optional<std::string_view>& text) {
  if (text) {
    pushView(lua, *text);
  } else {
    lua_pushnil(lua);
  }
  return 1;
}

int param(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  lua_settop(lua, 2);
  const auto value = ask(lua, [&](RenderContext& context) { return context.param(name); });
  if (!value) return 1;  // the default, or nil
  pushView(lua, *value);
  return 1;
}

int params(lua_State* lua) {
  if (lua_isnoneornil(lua, 1)) {
    const auto all = ask(lua, [](RenderContext& context) { return context.params(); });
    lua_createtable(lua, static_cast<int>(all.size()), 0);
    lua_Integer at = 0;
    for (const auto& [name, value] : all) {
      lua_createtable(lua, 0, 2);
      pushView(lua, name);
      lua_setfield(lua, -2, "name");
      pushView(lua, value);
      lua_setfield(lua, -2, "value");
      lua_rawseti(lua, -2, ++at);
    }
    return 1;
  }
  const std::string_view name = checkText(lua, 1);
  const auto values = ask(lua, [&](RenderContext& context) { return context.paramAll(name); });
  lua_createtable(lua, static_cast<int>(values.size()), 0);
  lua_Integer at = 0;
  for (const auto value : values) {
    pushView(lua, value);
    lua_rawseti(lua, -2, ++at);
  }
  return 1;
}

int header(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  return pushOptional(lua, ask(lua, [&](RenderContext& context) { return context.header(name); }));
}

int cookie(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  return pushOptional(lua, ask(lua, [&](RenderContext& context) { return context.cookie(name); }));
}

int session(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  return pushOptional(lua, ask(lua, [&](RenderContext& context) { return context.session(name); }));
}

int user(lua_State* lua) {
  const User* visitor = ask(lua, [](RenderContext& context) { return context.user(); });
  if (visitor == nullptr) {
    lua_pushnil(lua);
    return 1;
  }
  lua_createtable(lua, 0, 4);
  lua_pushinteger(lua, visitor->id);
  lua_setfield(lua, -2, "id");
  pushView(lua, visitor->login);
  lua_setfield(lua, -2, "login");
  pushView(lua, visitor->name);
  lua_setfield(lua, -2, "name");
  lua_createtable(lua, static_cast<int>(visitor->roles.size()), 0);
  lua_Integer at = 0;
  for (const std::string& role : visitor->roles) {
    pushView(lua, role);
    lua_rawseti(lua, -2, ++at);
  }
  lua_setfield(lua, -2, "roles");
  return 1;
}

int hasRole(lua_State* lua) {
  const std::string_view role = checkText(lua, 1);
  lua_pushboolean(lua, ask(lua, [&](RenderContext& context) { return context.hasRole(role); }));
  return 1;
}

int now(lua_State* lua) {
  lua_pushinteger(lua, ask(lua, [](RenderContext& context) { return context.now(); }));
  return 1;
}

int random(lua_State* lua) {
  const auto bits = ask(lua, [](RenderContext& context) { return context.random(); });
  lua_pushinteger(lua, static_cast<lua_Integer>(bits));
  return 1;
}

int origin(lua_State* lua) {
  pushView(lua, ask(lua, [](RenderContext& context) { return context.origin(); }));
  return 1;
}

int path(lua_State* lua) {
  pushView(lua, ask(lua, [](RenderContext& context) { return context.path(); }));
  return 1;
}

int viewName(lua_State* lua) {
  pushView(lua, ask(lua, [](RenderContext& context) { return context.viewName(); }));
  return 1;
}

int variable(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  pushView(lua, ask(lua, [&](RenderContext& context) { return context.pathVariable(name); }));
  return 1;
}

int argument(lua_State* lua) {
  const lua_Integer at = luaL_checkinteger(lua, 1);
  luaL_argcheck(lua, at >= 1, 1, "arguments count from 1");
  const Node* node = ask(
      lua, [&](RenderContext& context) { return &context.arg(static_cast<std::size_t>(at - 1)); });
  LuaMachine::of(lua).charge(lua, 1);
  // The arguments live as long as the render, but not in a document of ours: a copy.
  pushDocument(lua, Document::from(Tree::of(*node)));
  return 1;
}

int csrfToken(lua_State* lua) {
  pushView(lua, ask(lua, [](RenderContext& context) { return context.csrfToken(); }));
  return 1;
}

}  // namespace

int pushRequestObject(lua_State* lua) {
  ObjectPtr object = ask(lua, [](RenderContext& context) { return context.object(); });
  const bool found = object != nullptr;
  pushObject(lua, std::move(object));
  if (found) {
    LuaMachine::pushEnvironment(lua);
    lua_pushliteral(lua, "object");
    lua_pushvalue(lua, -3);
    lua_rawset(lua, -3);
    lua_pop(lua, 1);
  }
  return 1;
}

void pushRequestLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"arg", &argument},     {"cookie", &cookie},     {"csrf_token", &csrfToken},
      {"has_role", &hasRole}, {"header", &header},     {"now", &now},
      {"origin", &origin},    {"param", &param},       {"params", &params},
      {"path", &path},        {"random", &random},     {"session", &session},
      {"user", &user},        {"variable", &variable}, {"view", &viewName},
      {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

}  // namespace larder::site
