#include "lua_value.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lua_library.h"
#include "lua_machine.h"
#include "utf8.h"

namespace larder::site {
namespace {

// Metatables in the registry, by address.
const char kNodeMeta = 0;
const char kObjectMeta = 0;
const char kListMark = 0;
const char kMapMark = 0;
/// What json.null is: the address of this.
const char kNull = 0;

constexpr int kDeepest = 64;

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

bool isMarked(lua_State* lua, int index, const char* mark) {
  if (lua_getmetatable(lua, index) == 0) return false;
  lua_rawgetp(lua, LUA_REGISTRYINDEX, mark);
  const bool same = lua_rawequal(lua, -1, -2) != 0;
  lua_pop(lua, 2);
  return same;
}

void mark(lua_State* lua, int index, const char* mark) {
  index = lua_absindex(lua, index);
  lua_rawgetp(lua, LUA_REGISTRYINDEX, mark);
  lua_setmetatable(lua, index);
}

Tree objectTree(const Object& object) {
  Tree::List tags(object.tags.begin(), object.tags.end());
  Tree tree = Tree::map();
  tree.set("path", object.path)
      .set("name", object.name)
      .set("type", object.type)
      .set("title", object.title)
      .set("body", object.body)
      .set("properties", Tree::of(object.properties.root()))
      .set("tags", Tree::list(std::move(tags)))
      .set("revision", object.revision)
      .set("created", object.created)
      .set("modified", object.modified)
      .set("manager", object.manager);
  return tree;
}

/// Converts one value; knows where in it an error is.
class Converter {
 public:
  Converter(lua_State* lua, std::string_view what)
      : lua_(lua), machine_(LuaMachine::of(lua)), where_(what) {}

  Tree convert(int index) {
    machine_.chargeMemory(lua_, sizeof(Tree) + sizeof(Node));
    switch (lua_type(lua_, index)) {
      case LUA_TNIL:
      case LUA_TNONE:
        return {};
      case LUA_TBOOLEAN:
        return lua_toboolean(lua_, index) != 0;
      case LUA_TNUMBER:
        if (lua_isinteger(lua_, index) != 0)
          return static_cast<std::int64_t>(lua_tointeger(lua_, index));
        return static_cast<double>(lua_tonumber(lua_, index));
      case LUA_TSTRING: {
        const std::string_view text = stringAt(index);
        return validUtf8(text) == text.size() ? Tree(text) : Tree(Tree::Bytes{std::string(text)});
      }
      case LUA_TTABLE:
        return convertTable(lua_absindex(lua_, index));
      case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(lua_, index) == &kNull) return {};
        break;
      case LUA_TUSERDATA:
        if (const auto* node = proxyAt<NodeProxy>(lua_, index, &kNodeMeta)) {
          machine_.chargeMemory(lua_, 2 * machine_.document(node->document).bytes());
          return Tree::of(node->node);
        }
        if (const auto* object = proxyAt<ObjectProxy>(lua_, index, &kObjectMeta)) {
          machine_.chargeMemory(
              lua_, 2 * (object->object->body.size() + object->object->properties.bytes()));
          return objectTree(*object->object);
        }
        break;
      default:
        break;
    }
    return fail("a " + std::string(luaL_typename(lua_, index)) + " cannot be stored");
  }

 private:
  std::string_view stringAt(int index) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua_, index, &size);
    machine_.chargeMemory(lua_, 2 * size);
    return {text, size};
  }

  Tree fail(const std::string& problem) {
    luaL_error(lua_, "%s: %s", where_.c_str(), problem.c_str());
    return {};
  }

  Tree convertTable(int table) {
    if (++depth_ > kDeepest) fail("nested more than " + std::to_string(kDeepest) + " deep");
    luaL_checkstack(lua_, 6, nullptr);
    lua_Integer count = 0;
    lua_Integer last = 0;
    bool has_text = false;
    for (lua_pushnil(lua_); lua_next(lua_, table) != 0; lua_pop(lua_, 1)) {
      machine_.charge(lua_, 1);
      ++count;
      if (lua_type(lua_, -2) == LUA_TSTRING) {
        has_text = true;
      } else if (lua_isinteger(lua_, -2) != 0 && lua_tointeger(lua_, -2) > 0) {
        last = std::max(last, lua_tointeger(lua_, -2));
      } else {
        fail("a key of type " + std::string(luaL_typename(lua_, -2)) +
             " is neither text nor a place in a list");
      }
    }
    if (has_text && last != 0) fail("a table with both places and names as keys");
    if (!has_text && last != count)
      fail("a list with a hole before place " + std::to_string(last) + "; use json.null");
    Tree result = has_text || (count == 0 && isMarked(lua_, table, &kMapMark))
                      ? convertMap(table)
                      : convertList(table, count);
    --depth_;
    return result;
  }

  Tree convertList(int table, lua_Integer count) {
    Tree::List items;
    items.reserve(static_cast<std::size_t>(count));
    for (lua_Integer i = 1; i <= count; ++i) {
      const std::size_t length = where_.size();
      where_ += "[" + std::to_string(i) + "]";
      lua_rawgeti(lua_, table, i);
      items.push_back(convert(-1));
      lua_pop(lua_, 1);
      where_.resize(length);
    }
    return Tree::list(std::move(items));
  }

  /// In order of the keys: Lua's own order changes from one state to the next.
  Tree convertMap(int table) {
    std::vector<std::string_view> keys;  // the table holds the texts
    for (lua_pushnil(lua_); lua_next(lua_, table) != 0; lua_pop(lua_, 1)) {
      machine_.charge(lua_, 8);
      keys.push_back(stringAt(-2));
    }
    std::sort(keys.begin(), keys.end());
    Tree::Map items;
    items.reserve(keys.size());
    for (const std::string_view key : keys) {
      const std::size_t length = where_.size();
      where_ += "." + std::string(key.substr(0, 60));
      lua_pushlstring(lua_, key.data(), key.size());
      lua_rawget(lua_, table);
      items.emplace_back(key, convert(-1));
      lua_pop(lua_, 1);
      where_.resize(length);
    }
    return Tree::map(std::move(items));
  }

  lua_State* lua_;
  LuaMachine& machine_;
  std::string where_;
  int depth_ = 0;
};

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
  makeMeta(lua, &kListMark, {});
  makeMeta(lua, &kMapMark, {});
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
  const Page* page = value.page();
  if (page == nullptr) {
    pushDocument(lua, value.document());
    return;
  }
  lua_createtable(lua, 0, 3);
  lua_pushinteger(lua, page->status);
  lua_setfield(lua, -2, "status");
  lua_createtable(lua, 0, static_cast<int>(page->headers.size()));
  for (const Header& header : page->headers) {
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

Tree toTree(lua_State* lua, int index, std::string_view what) {
  return Converter(lua, what).convert(index);
}

Document toDocument(lua_State* lua, int index, std::string_view what) {
  if (const auto* node = proxyAt<NodeProxy>(lua, index, &kNodeMeta))
    return LuaMachine::of(lua).document(node->document).part(node->node);
  return Document::from(toTree(lua, index, what));
}

void pushNull(lua_State* lua) {
  lua_pushlightuserdata(lua, const_cast<char*>(&kNull));
}

void markList(lua_State* lua, int index) {
  mark(lua, index, &kListMark);
}
void markMap(lua_State* lua, int index) {
  mark(lua, index, &kMapMark);
}

Arguments toArguments(lua_State* lua, int index) {
  Arguments arguments;
  if (lua_isnoneornil(lua, index)) return arguments;
  luaL_checktype(lua, index, LUA_TTABLE);
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING)
      luaL_argerror(lua, index, "the arguments of a SQL method have names: {limit = 10}");
    const std::string name(lua_tostring(lua, -2));
    arguments.emplace_back(name, toTree(lua, -1, name));
  }
  std::sort(arguments.begin(), arguments.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return arguments;
}

}  // namespace larder::site
