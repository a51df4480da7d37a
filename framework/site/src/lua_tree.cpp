#include "lua_tree.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lua_machine.h"
#include "lua_value.h"
#include "utf8.h"

namespace larder::site {
namespace {

// Metatables of tables that are lists or maps even when they are empty: in the registry, by
// address.
const char kListMark = 0;
const char kMapMark = 0;
/// What json.null is: the address of this.
const char kNull = 0;

constexpr int kDeepest = 64;

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
      case LUA_TUSERDATA: {
        std::uint32_t document = 0;
        if (const Node* node = nodeAt(lua_, index, document)) {
          machine_.chargeMemory(lua_, 2 * machine_.document(document).bytes());
          return Tree::of(*node);
        }
        if (const Object* object = objectAt(lua_, index)) {
          machine_.chargeMemory(lua_, 2 * (object->body.size() + object->properties.bytes()));
          return objectTree(*object);
        }
        break;
      }
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
    std::vector<std::string> keys;  // copies: a weak table may lose any of its own
    for (lua_pushnil(lua_); lua_next(lua_, table) != 0; lua_pop(lua_, 1)) {
      machine_.charge(lua_, 8);
      keys.emplace_back(stringAt(-2));
    }
    std::sort(keys.begin(), keys.end());
    Tree::Map items;
    items.reserve(keys.size());
    for (std::string& key : keys) {
      const std::size_t length = where_.size();
      where_ += "." + key.substr(0, 60);
      lua_pushlstring(lua_, key.data(), key.size());
      if (lua_rawget(lua_, table) != LUA_TNIL) items.emplace_back(std::move(key), convert(-1));
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

void openTrees(lua_State* lua) {
  for (const char* key : {&kListMark, &kMapMark}) {
    lua_createtable(lua, 0, 1);
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_rawsetp(lua, LUA_REGISTRYINDEX, key);
  }
}

Tree toTree(lua_State* lua, int index, std::string_view what) {
  return Converter(lua, what).convert(index);
}

Document toDocument(lua_State* lua, int index, std::string_view what) {
  std::uint32_t document = 0;
  if (const Node* node = nodeAt(lua, index, document))
    return LuaMachine::of(lua).document(document).part(*node);
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
