// The json library.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "larder/site/json.h"
#include "lua_library.h"
#include "lua_machine.h"
#include "lua_tree.h"

namespace larder::site {
namespace {

constexpr int kDeepest = 64;

/// Builds tables on the Lua stack as the parser goes. Errors of Lua's pass through the parser as
/// the exceptions they are.
class TableBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TableBuilder(lua_State* lua) : lua_(lua), machine_(LuaMachine::of(lua)) {}

  [[nodiscard]] const std::string& error() const { return error_; }

  bool null() override {
    pushNull(lua_);
    return add();
  }
  bool boolean(bool value) override {
    lua_pushboolean(lua_, value ? 1 : 0);
    return add();
  }
  bool number_integer(number_integer_t value) override {
    lua_pushinteger(lua_, value);
    return add();
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(LUA_MAXINTEGER)) {
      lua_pushinteger(lua_, static_cast<lua_Integer>(value));
    } else {
      lua_pushnumber(lua_, static_cast<lua_Number>(value));
    }
    return add();
  }
  bool number_float(number_float_t value, const string_t&) override {
    lua_pushnumber(lua_, value);
    return add();
  }
  bool string(string_t& value) override {
    machine_.chargeBytes(lua_, value.size());
    lua_pushlstring(lua_, value.data(), value.size());
    return add();
  }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override {
    if (!open()) return false;
    counts_[depth_] = -1;
    return true;
  }
  bool key(string_t& value) override {
    machine_.chargeBytes(lua_, value.size());
    lua_pushlstring(lua_, value.data(), value.size());
    return true;
  }
  bool end_object() override {
    lua_pushnil(lua_);
    // An empty object stays an object.
    if (lua_next(lua_, -2) == 0) {
      markMap(lua_, -1);
    } else {
      lua_pop(lua_, 2);
    }
    --depth_;
    return add();
  }
  bool start_array(std::size_t) override {
    if (!open()) return false;
    counts_[depth_] = 0;
    return true;
  }
  bool end_array() override {
    --depth_;
    return add();
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    error_ = "json: not JSON at byte " + std::to_string(position) + ", near '" +
             token.substr(0, 40) + "'";
    return false;
  }

 private:
  bool open() {
    if (depth_ >= kDeepest) {
      error_ = "json: nested more than " + std::to_string(kDeepest) + " deep";
      return false;
    }
    luaL_checkstack(lua_, 6, nullptr);
    lua_createtable(lua_, 0, 0);
    ++depth_;
    return true;
  }
  /// The value on top into what is being built.
  bool add() {
    machine_.charge(lua_, 2);
    if (depth_ == 0) return true;
    lua_Integer& count = counts_[depth_];
    if (count < 0) {
      lua_rawset(lua_, -3);
    } else {
      lua_rawseti(lua_, -2, ++count);
    }
    return true;
  }

  lua_State* lua_;
  LuaMachine& machine_;
  int depth_ = 0;
  lua_Integer counts_[kDeepest + 1] = {};  ///< items of an array, -1 for an object
  std::string error_;
};

int decode(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  lua_settop(lua, 1);
  LuaMachine::of(lua).charge(lua, text.size() / 4);
  TableBuilder builder(lua);
  if (!nlohmann::json::sax_parse(text, &builder))
    return luaL_error(lua, "%s",
                      builder.error().empty() ? "json: not JSON" : builder.error().c_str());
  return 1;
}

/// Text that may stand in HTML, in a script element too: <, > and & are escaped.
int encode(lua_State* lua) {
  luaL_checkany(lua, 1);
  const Document document = toDocument(lua, 1, "json");
  LuaMachine& machine = LuaMachine::of(lua);
  machine.chargeMemory(lua, 2 * document.bytes());
  std::string text = toJson(document.root());
  std::size_t special = 0;
  for (const char c : text) special += c == '<' || c == '>' || c == '&' ? 1 : 0;
  if (special > 0) {
    std::string escaped;
    escaped.reserve(text.size() + 5 * special);
    for (const char c : text) {
      if (c == '<') {
        escaped += "\\u003c";
      } else if (c == '>') {
        escaped += "\\u003e";
      } else if (c == '&') {
        escaped += "\\u0026";
      } else {
        escaped += c;
      }
    }
    text = std::move(escaped);
  }
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

int list(lua_State* lua) {
  if (lua_isnone(lua, 1)) lua_createtable(lua, 0, 0);
  luaL_checktype(lua, 1, LUA_TTABLE);
  markList(lua, 1);
  lua_settop(lua, 1);
  return 1;
}

int map(lua_State* lua) {
  if (lua_isnone(lua, 1)) lua_createtable(lua, 0, 0);
  luaL_checktype(lua, 1, LUA_TTABLE);
  markMap(lua, 1);
  lua_settop(lua, 1);
  return 1;
}

}  // namespace

void pushJsonLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"decode", &decode}, {"encode", &encode}, {"list", &list}, {"map", &map}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
  pushNull(lua);
  lua_setfield(lua, -2, "null");
}

}  // namespace larder::site
