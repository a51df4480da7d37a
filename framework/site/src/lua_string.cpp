// The string, utf8 and html libraries. Each function is linear in what it reads and writes, and
// paid for before it starts.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "lua_library.h"
#include "lua_machine.h"
#include "lua_value.h"

namespace larder::site {
namespace {

/// Texts that one call of a function that looks at each character takes.
constexpr std::size_t kLongestScan = std::size_t{8} * 1024 * 1024;

/// A position that counts from the end when negative; 0 is before the first.
std::size_t fromStart(lua_Integer position, std::size_t size) {
  if (position >= 0) return static_cast<std::size_t>(position);
  const auto back = -static_cast<lua_Unsigned>(position);
  return back > size ? 0 : size - static_cast<std::size_t>(back) + 1;
}

struct Range {
  std::size_t first = 1;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last < first ? 0 : last - first + 1; }
};

/// The characters from the argument at `index` to the next one.
Range rangeOf(lua_State* lua, int index, std::size_t size, lua_Integer fallback) {
  Range range;
  const lua_Integer first = luaL_checkinteger(lua, index);
  range.first = std::max<std::size_t>(fromStart(first, size), 1);
  range.last = std::min(fromStart(luaL_optinteger(lua, index + 1, fallback), size), size);
  return range;
}

int byte(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  Range range;
  range.first = std::max<std::size_t>(fromStart(first, text.size()), 1);
  range.last = std::min(fromStart(luaL_optinteger(lua, 3, first), text.size()), text.size());
  if (range.size() > 100'000 || lua_checkstack(lua, static_cast<int>(range.size())) == 0)
    return luaL_error(lua, "string slice too long");
  LuaMachine::of(lua).charge(lua, range.size());
  for (std::size_t i = range.first; i <= range.last; ++i)
    lua_pushinteger(lua, static_cast<unsigned char>(text[i - 1]));
  return static_cast<int>(range.size());
}

int character(lua_State* lua) {
  const int count = lua_gettop(lua);
  LuaMachine::of(lua).charge(lua, static_cast<std::uint64_t>(count));
  luaL_Buffer buffer;
  char* out = luaL_buffinitsize(lua, &buffer, static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    const lua_Integer code = luaL_checkinteger(lua, i);
    luaL_argcheck(lua, code >= 0 && code <= 255, i, "value out of range");
    out[i - 1] = static_cast<char>(code);
  }
  luaL_pushresultsize(&buffer, static_cast<std::size_t>(count));
  return 1;
}

/// string.find(text, plain [, start [, true]]): the text as it is, no pattern.
int find(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const std::string_view plain = checkText(lua, 2);
  const std::size_t start =
      std::max<std::size_t>(fromStart(luaL_optinteger(lua, 3, 1), text.size()), 1);
  if (lua_toboolean(lua, 4) == 0 && plain.find_first_of("^$*+?.([%-") != std::string_view::npos)
    return luaL_error(lua,
                      "string.find finds plain text only: pass true as its fourth argument, or "
                      "use re.find");
  LuaMachine::of(lua).chargeBytes(lua, text.size() + plain.size());
  if (start > text.size() + 1) {
    lua_pushnil(lua);
    return 1;
  }
  if (plain.empty()) {
    lua_pushinteger(lua, static_cast<lua_Integer>(start));
    lua_pushinteger(lua, static_cast<lua_Integer>(start) - 1);
    return 2;
  }
  // memmem is linear, whatever the texts are.
  const void* found =
      ::memmem(text.data() + (start - 1), text.size() - (start - 1), plain.data(), plain.size());
  if (found == nullptr) {
    lua_pushnil(lua);
    return 1;
  }
  const auto at = static_cast<lua_Integer>(static_cast<const char*>(found) - text.data());
  lua_pushinteger(lua, at + 1);
  lua_pushinteger(lua, at + static_cast<lua_Integer>(plain.size()));
  return 2;
}

/// string.format without %q, %p and %a: Lua's own does the work, once values that it would print
/// with their address are text.
int format(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const int top = lua_gettop(lua);
  std::size_t bytes = text.size();
  int argument = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (++i < text.size() && text[i] == '%') continue;
    i = text.find_first_not_of("-+ #0123456789.", i);
    if (i == std::string_view::npos) break;
    ++argument;
    bytes += 128;
    if (text[i] == 'q' || text[i] == 'p' || text[i] == 'a' || text[i] == 'A')
      return luaL_error(lua, "invalid conversion '%%%c' to 'format'", text[i]);
    if (text[i] == 's' && argument <= top) {
      pushText(lua, argument);
      bytes += lua_rawlen(lua, -1);
      lua_replace(lua, argument);
      LuaMachine::of(lua).chargeBytes(lua, std::exchange(bytes, 0) + 64);
    }
  }
  LuaMachine::of(lua).chargeBytes(lua, bytes);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, top, 1);
  return 1;
}

int length(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(checkText(lua, 1).size()));
  return 1;
}

/// A new string of the same size, each character made by `change`.
template <class F>
int changed(lua_State* lua, F change) {
  const std::string_view text = checkText(lua, 1);
  LuaMachine::of(lua).charge(lua, text.size() / 8);
  luaL_Buffer buffer;
  char* out = luaL_buffinitsize(lua, &buffer, text.size());
  change(text, out);
  luaL_pushresultsize(&buffer, text.size());
  return 1;
}

int lower(lua_State* lua) {
  return changed(lua, [](std::string_view text, char* out) {
    for (const char c : text) *out++ = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
}

int upper(lua_State* lua) {
  return changed(lua, [](std::string_view text, char* out) {
    for (const char c : text) *out++ = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
}

int reverse(lua_State* lua) {
  return changed(lua, [](std::string_view text, char* out) {
    std::reverse_copy(text.begin(), text.end(), out);
  });
}

int repeat(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const lua_Integer count = luaL_checkinteger(lua, 2);
  const std::string_view separator = optText(lua, 3, "");
  const std::size_t piece = text.size() + separator.size();
  if (count <= 0 || piece == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  LuaMachine& machine = LuaMachine::of(lua);
  const auto times = static_cast<std::size_t>(count);
  if (times > machine.limits().memory / piece)
    machine.chargeMemory(lua, machine.limits().memory);  // what cannot fit is not tried
  const std::size_t size = times * piece - separator.size();
  machine.charge(lua, size / 16 + times);
  luaL_Buffer buffer;
  char* out = luaL_buffinitsize(lua, &buffer, size);
  for (std::size_t i = 0; i < times; ++i) {
    out = std::copy(text.begin(), text.end(), out);
    if (i + 1 < times) out = std::copy(separator.begin(), separator.end(), out);
  }
  luaL_pushresultsize(&buffer, size);
  return 1;
}

int sub(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const Range range = rangeOf(lua, 2, text.size(), -1);
  LuaMachine::of(lua).chargeBytes(lua, range.size());
  if (range.size() == 0) {
    lua_pushliteral(lua, "");
  } else {
    lua_pushlstring(lua, text.data() + (range.first - 1), range.size());
  }
  return 1;
}

int noPatterns(lua_State* lua) {
  const char* name = lua_tostring(lua, lua_upvalueindex(1));
  return luaL_error(lua, "string.%s is not available; use re.%s, with the patterns of RE2", name,
                    name);
}

/// Upvalue: Lua's function, which looks at each character of its first argument.
int scanned(lua_State* lua) {
  const std::size_t size = checkText(lua, 1).size();
  if (size > kLongestScan) return luaL_error(lua, "the text is too long for this function");
  LuaMachine::of(lua).charge(lua, size / 4);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

/// What stands for the five characters that mean something in HTML.
std::string_view htmlEntity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

int escapeHtml(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_isnil(lua, 1)) {
    lua_pushliteral(lua, "");
    return 1;
  }
  pushText(lua, 1);
  const std::string_view text = checkText(lua, -1);
  LuaMachine::of(lua).charge(lua, text.size() / 4);
  std::size_t size = text.size();
  for (const char c : text) {
    if (const auto entity = htmlEntity(c); !entity.empty()) size += entity.size() - 1;
  }
  if (size == text.size()) return 1;
  luaL_Buffer buffer;
  char* out = luaL_buffinitsize(lua, &buffer, size);
  for (const char c : text) {
    const auto entity = htmlEntity(c);
    if (entity.empty()) {
      *out++ = c;
    } else {
      out = std::copy(entity.begin(), entity.end(), out);
    }
  }
  luaL_pushresultsize(&buffer, size);
  return 1;
}

}  // namespace

void pushStringLibrary(lua_State* lua) {
  luaopen_string(lua);
  const int stock = lua_gettop(lua);
  const luaL_Reg functions[] = {{"byte", &byte},       {"char", &character}, {"find", &find},
                                {"len", &length},      {"lower", &lower},    {"rep", &repeat},
                                {"reverse", &reverse}, {"sub", &sub},        {"upper", &upper},
                                {nullptr, nullptr}};
  luaL_newlib(lua, functions);
  lua_getfield(lua, stock, "format");
  lua_pushcclosure(lua, &format, 1);
  lua_setfield(lua, -2, "format");
  for (const char* name : {"match", "gmatch", "gsub"}) {
    lua_pushstring(lua, name);
    lua_pushcclosure(lua, &noPatterns, 1);
    lua_setfield(lua, -2, name);
  }

  // Methods of strings ("x"):len() come from this table, too; arithmetic on them stays Lua's.
  lua_pushliteral(lua, "");
  lua_getmetatable(lua, -1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pop(lua, 2);
  lua_remove(lua, stock);
}

void pushUtf8Library(lua_State* lua) {
  luaopen_utf8(lua);
  const int stock = lua_gettop(lua);
  lua_createtable(lua, 0, 5);
  takeFunction(lua, stock, "char");
  takeFunction(lua, stock, "codes");
  for (const char* name : {"codepoint", "len", "offset"}) {
    lua_getfield(lua, stock, name);
    lua_pushcclosure(lua, &scanned, 1);
    lua_setfield(lua, -2, name);
  }
  lua_remove(lua, stock);
}

void pushHtmlLibrary(lua_State* lua) {
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, &escapeHtml);
  lua_setfield(lua, -2, "escape");
}

}  // namespace larder::site
