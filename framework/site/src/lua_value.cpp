#include "lua_value.h"

#include <initializer_list>
#include <utility>

#include "lua_library.h"
#include "lua_machine.h"

namespace larder::site {
namespace {

// Metatables in the registry, by address.
const char kNodeMeta = 0;
const char kObjectMeta = 0;

/// Valid during the call that made it: nothing of a call outlives it, and if it did, `epoch` would
/// show.
struct NodeProxy {
  Node node;
  std::uint32_t document;
  std::uint32_t epoch;
};

struct ObjectProxy {
  static constexpr std::uint32_t kUnread = 0xFFFFFFFFU;
  const Object* object;
  std::uint32_t properties;  ///< kept document, or kUnread
  std::uint32_t epoch;
};

template <class Proxy>
const Proxy* proxyAt(lua_State* lua, int index, const char* meta) {
  const auto* proxy = static_cast<const Proxy*>(lua_touserdata(lua, index));
  if (proxy == nullptr || lua_type(lua, index) != LUA_TUSERDATA ||
      lua_getmetatable(lua, index) == 0) {
    return nullptr;
  }
  lua_rawgetp(lua, LUA_REGISTRYINDEX, meta);
  const bool same = lua_rawequal(lua, -1, -2) != 0;
  lua_pop(lua, 2);
  if (!same) return nullptr;
  if (proxy->epoch != LuaMachine::of(lua).epoch()) luaL_error(lua, "a document of another call");
  return proxy;
}

/// What a metamethod is called with. Scripts cannot reach metamethods to call them with something
/// else.
template <class Proxy>
Proxy& self(lua_State* lua) {
  auto& proxy = *static_cast<Proxy*>(lua_touserdata(lua, 1));
  if (proxy.epoch != LuaMachine::of(lua).epoch()) luaL_error(lua, "a document of another call");
  return proxy;
}

void pushPart(lua_State* lua, const Node& node, std::uint32_t document) {
  switch (node.type()) {
    case Node::Type::null:
      lua_pushnil(lua);
      break;
    case Node::Type::boolean:
      lua_pushboolean(lua, node.boolean() ? 1 : 0);
      break;
    case Node::Type::integer:
      lua_pushinteger(lua, node.integer());
      break;
    case Node::Type::real:
      lua_pushnumber(lua, node.real());
      break;
    case Node::Type::text:
    case Node::Type::bytes:
      lua_pushlstring(lua, node.text().data(), node.text().size());
      break;
    case Node::Type::list:
    case Node::Type::map: {
      auto* proxy = static_cast<NodeProxy*>(lua_newuserdatauv(lua, sizeof(NodeProxy), 0));
      *proxy = {node, document, LuaMachine::of(lua).epoch()};
      lua_rawgetp(lua, LUA_REGISTRYINDEX, &kNodeMeta);
      lua_setmetatable(lua, -2);
      break;
    }
  }
}

int nodeIndex(lua_State* lua) {
  const auto& proxy = self<NodeProxy>(lua);
  if (proxy.node.type() == Node::Type::map && lua_type(lua, 2) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* key = lua_tolstring(lua, 2, &size);
    pushPart(lua, proxy.node[{key, size}], proxy.document);
  } else if (proxy.node.type() == Node::Type::list && lua_isinteger(lua, 2) != 0) {
    const lua_Integer at = lua_tointeger(lua, 2);
    pushPart(lua, proxy.node.at(static_cast<std::size_t>(at) - 1), proxy.document);
  } else {
    lua_pushnil(lua);
  }
  return 1;
}

int nodeLength(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(self<NodeProxy>(lua).node.size()));
  return 1;
}

/// Upvalue: how many pairs are done. A null value is passed over, as in Lua's own tables.
int nextNode(lua_State* lua) {
  // This one is a function that scripts hold.
  const auto* checked = proxyAt<NodeProxy>(lua, 1, &kNodeMeta);
  luaL_argexpected(lua, checked != nullptr, 1, "document");
  const NodeProxy& proxy = *checked;
  auto at = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(1)));
  const bool is_map = proxy.node.type() == Node::Type::map;
  const auto valueAt = [&](std::size_t i) -> const Node& {
    return is_map ? proxy.node.valueAt(i) : proxy.node.at(i);
  };
  while (at < proxy.node.size() && valueAt(at).isNull()) ++at;
  if (at >= proxy.node.size()) return 0;
  lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
  lua_replace(lua, lua_upvalueindex(1));
  if (is_map) {
    const auto key = proxy.node.keyAt(at);
    lua_pushlstring(lua, key.data(), key.size());
  } else {
    lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
  }
  pushPart(lua, valueAt(at), proxy.document);
  return 2;
}

int nodePairs(lua_State* lua) {
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, &nextNode, 1);
  lua_pushvalue(lua, 1);
  lua_pushnil(lua);
  return 3;
}

int readOnly(lua_State* lua) {
  return luaL_error(lua, "what the site gives is read-only; copy it into a table to change it");
}

int nodeText(lua_State* lua) {
  lua_pushstring(lua, self<NodeProxy>(lua).node.type() == Node::Type::list ? "list" : "map");
  return 1;
}

int objectText(lua_State* lua) {
  const std::string& path = self<ObjectProxy>(lua).object->path;
  lua_pushlstring(lua, path.data(), path.size());
  return 1;
}

void pushTags(lua_State* lua, const Object& object) {
  lua_createtable(lua, static_cast<int>(object.tags.size()), 0);
  for (std::size_t i = 0; i < object.tags.size(); ++i) {
    lua_pushlstring(lua, object.tags[i].data(), object.tags[i].size());
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
}

int objectIndex(lua_State* lua) {
  auto& proxy = self<ObjectProxy>(lua);
  const Object& object = *proxy.object;
  const std::string_view key = lua_type(lua, 2) == LUA_TSTRING ? checkText(lua, 2) : "";
  const auto text = [&](const std::string& value) {
    lua_pushlstring(lua, value.data(), value.size());
    return 1;
  };
  if (key == "path") return text(object.path);
  if (key == "name") return text(object.name);
  if (key == "type") return text(object.type);
  if (key == "title") return text(object.title);
  if (key == "body") return text(object.body);
  if (key == "manager") return text(object.manager);
  if (key == "revision" || key == "created" || key == "modified") {
    lua_pushinteger(lua, key == "revision"  ? object.revision
                         : key == "created" ? object.created
                                            : object.modified);
    return 1;
  }
  if (key == "tags") {
    pushTags(lua, object);
    return 1;
  }
  if (key == "properties") {
    if (proxy.properties == ObjectProxy::kUnread)
      proxy.properties = LuaMachine::of(lua).keep(lua, object.properties, 0);
    pushPart(lua, object.properties.root(), proxy.properties);
    return 1;
  }
  return luaL_error(lua, "an object has no '%s'; its own fields are in properties",
                    std::string(key).c_str());
}

void makeMeta(lua_State* lua, const char* key, std::initializer_list<luaL_Reg> functions) {
  lua_createtable(lua, 0, static_cast<int>(functions.size()) + 1);
  for (const luaL_Reg& function : functions) {
    lua_pushcfunction(lua, function.func);
    lua_setfield(lua, -2, function.name);
  }
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
}

}  // namespace

void openValues(lua_State* lua) {
  makeMeta(lua, &kNodeMeta,
           {{"__index", &nodeIndex},
            {"__len", &nodeLength},
            {"__pairs", &nodePairs},
            {"__newindex", &readOnly},
            {"__tostring", &nodeText}});
  makeMeta(lua, &kObjectMeta,
           {{"__index", &objectIndex}, {"__newindex", &readOnly}, {"__tostring", &objectText}});
}

void pushDocument(lua_State* lua, Document document) {
  const Node root = document.root();
  std::uint32_t index = 0;
  // A scalar is copied anyway; texts are, too, when they are pushed.
  if (root.type() == Node::Type::list || root.type() == Node::Type::map) {
    const std::size_t bytes = document.bytes();
    index = LuaMachine::of(lua).keep(lua, std::move(document), bytes);
    pushPart(lua, root, index);
  } else {
    pushPart(lua, root, 0);
  }
}

void pushObject(lua_State* lua, ObjectPtr object) {
  if (!object) {
    lua_pushnil(lua);
    return;
  }
  LuaMachine& machine = LuaMachine::of(lua);
  auto* proxy = static_cast<ObjectProxy*>(lua_newuserdatauv(lua, sizeof(ObjectProxy), 0));
  *proxy = {machine.keep(lua, std::move(object)), ObjectProxy::kUnread, machine.epoch()};
  lua_rawgetp(lua, LUA_REGISTRYINDEX, &kObjectMeta);
  lua_setmetatable(lua, -2);
}

void pushValue(lua_State* lua, const Value& value) {
  const auto page = value.page();
  if (!page) {
    pushDocument(lua, value.document());
    return;
  }
  lua_createtable(lua, 0, 3);
  lua_pushinteger(lua, page->status);
  lua_setfield(lua, -2, "status");
  lua_createtable(lua, 0, static_cast<int>(page->headers.size()));
  for (const HeaderView header : page->headers) {
    lua_pushlstring(lua, header.name.data(), header.name.size());
    lua_pushlstring(lua, header.value.data(), header.value.size());
    lua_rawset(lua, -3);
  }
  lua_setfield(lua, -2, "headers");
  lua_pushlstring(lua, page->body.data(), page->body.size());
  lua_setfield(lua, -2, "body");
}

void pushText(lua_State* lua, int index) {
  index = lua_absindex(lua, index);
  luaL_checkstack(lua, 4, nullptr);
  switch (lua_type(lua, index)) {
    case LUA_TSTRING:
      lua_pushvalue(lua, index);
      return;
    case LUA_TNUMBER:
    case LUA_TBOOLEAN:
    case LUA_TNIL:
      luaL_tolstring(lua, index, nullptr);
      return;
    default:
      break;
  }
  if (luaL_getmetafield(lua, index, "__tostring") != LUA_TNIL) {
    lua_pushvalue(lua, index);
    lua_call(lua, 1, 1);
    if (lua_isstring(lua, -1) == 0) luaL_error(lua, "'__tostring' must return a string");
    return;
  }
  lua_pushstring(lua, luaL_typename(lua, index));
}

const Node* nodeAt(lua_State* lua, int index, std::uint32_t& document) {
  const auto* proxy = proxyAt<NodeProxy>(lua, index, &kNodeMeta);
  if (proxy == nullptr) return nullptr;
  document = proxy->document;
  return &proxy->node;
}

const Object* objectAt(lua_State* lua, int index) {
  const auto* proxy = proxyAt<ObjectProxy>(lua, index, &kObjectMeta);
  return proxy == nullptr ? nullptr : proxy->object;
}

}  // namespace larder::site
