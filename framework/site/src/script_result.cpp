#include "script_result.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lua_library.h"
#include "lua_machine.h"
#include "lua_tree.h"

namespace larder::site {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
/// What the server says itself about each answer.
constexpr std::array<std::string_view, 10> kOurs = {
    "connection", "content-encoding", "content-length", "date",    "etag",
    "keep-alive", "last-modified",    "trailer",        "upgrade", "transfer-encoding"};

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

/// RFC 9110 5.6.2.
bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// The page's own string: the Lua state may go.
std::string takeText(lua_State* lua, int index) {
  const std::string_view text = checkText(lua, index);
  LuaMachine::of(lua).chargeMemory(lua, text.size());
  return std::string(text);
}

void addHeader(lua_State* lua, Page& page, std::string_view name, int value) {
  const std::string shown(name.substr(0, 60));
  if (!isToken(name)) luaL_error(lua, "result.headers: '%s' is no header's name", shown.c_str());
  if (std::find(kOurs.begin(), kOurs.end(), lowered(name)) != kOurs.end())
    luaL_error(lua, "result.headers: '%s' is set by the server itself", shown.c_str());
  if (lua_isstring(lua, value) == 0)
    luaL_error(lua, "result.headers: '%s' has to be text, or a list of texts", shown.c_str());
  const std::string_view text = checkText(lua, value);
  const bool clean = std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
  if (!clean)
    luaL_error(lua, "result.headers: the value of '%s' has a control character", shown.c_str());
  page.headers.push_back({std::string(name), takeText(lua, value)});
}

/// The table at `headers`: names and values, in order of the names.
void addHeaders(lua_State* lua, Page& page, int headers) {
  luaL_checktype(lua, headers, LUA_TTABLE);
  std::vector<std::string> names;
  for (lua_pushnil(lua); lua_next(lua, headers) != 0; lua_pop(lua, 1)) {
    if (lua_type(lua, -2) != LUA_TSTRING)
      luaL_error(lua, "result.headers: the keys are the headers' names");
    names.push_back(takeText(lua, -2));
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    lua_pushlstring(lua, name.data(), name.size());
    lua_rawget(lua, headers);
    const int value = lua_gettop(lua);
    if (lua_istable(lua, value)) {
      const auto count = static_cast<lua_Integer>(lua_rawlen(lua, value));
      for (lua_Integer i = 1; i <= count; ++i) {
        lua_rawgeti(lua, value, i);
        addHeader(lua, page, name, -1);
        lua_pop(lua, 1);
      }
    } else {
      addHeader(lua, page, name, value);
    }
    lua_settop(lua, value - 1);
  }
}

/// A table with a whole number as `status` and nothing but status, headers and body.
bool isPage(lua_State* lua, int table) {
  bool has_status = false;
  for (lua_pushnil(lua); lua_next(lua, table) != 0; lua_pop(lua, 1)) {
    const std::string_view key = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "";
    if (key == "status" && lua_isinteger(lua, -1) != 0) {
      has_status = true;
    } else if (key != "headers" && key != "body") {
      lua_pop(lua, 2);
      return false;
    }
  }
  return has_status;
}

Page toPage(lua_State* lua, int table) {
  Page page;
  lua_getfield(lua, table, "status");
  const lua_Integer status = lua_tointeger(lua, -1);
  if (status < 200 || status > 599)
    luaL_error(lua, "result.status: %I is no status to answer with (200 to 599)",
               static_cast<LUAI_UACINT>(status));
  page.status = static_cast<int>(status);
  if (lua_getfield(lua, table, "headers") != LUA_TNIL) addHeaders(lua, page, lua_gettop(lua));
  if (lua_getfield(lua, table, "body") != LUA_TNIL) {
    if (lua_isstring(lua, -1) == 0)
      luaL_error(lua, "result.body: a %s is no text", luaL_typename(lua, -1));
    page.body = takeText(lua, -1);
  }
  const bool bodiless = status == 204 || status == 205 || status == 304;
  if (bodiless && !page.body.empty())
    luaL_error(lua, "result.body: an answer with status %d has none", page.status);
  if (!bodiless && page.header("Content-Type") == nullptr)
    page.headers.push_back({"Content-Type", std::string(kHtml)});
  return page;
}

}  // namespace

Value toResult(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TSTRING) {
    Page page;
    page.headers.push_back({"Content-Type", std::string(kHtml)});
    page.body = takeText(lua, index);
    return page;
  }
  if (lua_istable(lua, index) && isPage(lua, index)) return toPage(lua, index);
  return toDocument(lua, index, "result");
}

}  // namespace larder::site
