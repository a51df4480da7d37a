// What a script reads of the site, and what it says about its result.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "larder/cache/units.h"
#include "lua_ask.h"
#include "lua_library.h"
#include "lua_tree.h"
#include "lua_value.h"

namespace larder::site {
namespace {

constexpr std::size_t kLongestPath = std::size_t{64} * 1024;

/// The query in the table at `index`; unknown keys are errors, because they would be ignored.
ChildrenQuery readQuery(lua_State* lua, int index) {
  ChildrenQuery query;
  if (lua_isnoneornil(lua, index)) return query;
  luaL_checktype(lua, index, LUA_TTABLE);
  const auto count = [&](const char* name) {
    const lua_Integer value = luaL_checkinteger(lua, -1);
    if (value < 0) luaL_error(lua, "'%s' is negative", name);
    return static_cast<std::size_t>(value);
  };
  for (lua_pushnil(lua); lua_next(lua, index) != 0; lua_pop(lua, 1)) {
    const std::string_view key = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "?";
    if (key == "type") {
      query.type = checkText(lua, -1);
    } else if (key == "sort") {
      query.sort = checkText(lua, -1);
      if (query.sort != "name" && query.sort != "title" && query.sort != "created" &&
          query.sort != "modified")
        luaL_error(lua, "sort '%s'; valid here: name, title, created, modified",
                   query.sort.c_str());
    } else if (key == "descending") {
      query.descending = lua_toboolean(lua, -1) != 0;
    } else if (key == "title_contains") {
      query.title_contains = checkText(lua, -1);
    } else if (key == "offset") {
      query.offset = count("offset");
    } else if (key == "limit") {
      query.limit = count("limit");
      if (query.limit > 1000) luaL_error(lua, "a limit of at most 1000 children");
    } else {
      luaL_error(lua,
                 "unknown key '%s'; valid here: type, sort, descending, title_contains, offset, "
                 "limit",
                 std::string(key).c_str());
    }
  }
  return query;
}

int open(lua_State* lua) {
  const std::string_view where = checkText(lua, 1);
  pushObject(lua, ask(lua, [&](RenderContext& context) { return context.open(where); }));
  return 1;
}

int children(lua_State* lua) {
  const std::string_view where = checkText(lua, 1);
  const ChildrenQuery query = readQuery(lua, 2);
  auto found = ask(lua, [&](RenderContext& context) { return context.children(where, query); });
  lua_createtable(lua, static_cast<int>(found.size()), 0);
  lua_Integer at = 0;
  for (ObjectPtr& child : found) {
    pushObject(lua, std::move(child));
    lua_rawseti(lua, -2, ++at);
  }
  return 1;
}

int countChildren(lua_State* lua) {
  const std::string_view where = checkText(lua, 1);
  const ChildrenQuery query = readQuery(lua, 2);
  const std::size_t count =
      ask(lua, [&](RenderContext& context) { return context.countChildren(where, query); });
  lua_pushinteger(lua, static_cast<lua_Integer>(count));
  return 1;
}

int root(lua_State* lua) {
  pushView(lua, ask(lua, [](RenderContext& context) { return context.appPath(); }));
  return 1;
}

/// A canonical path as it is written in a link.
int url(lua_State* lua) {
  const std::string_view path = checkText(lua, 1);
  luaL_argcheck(lua, path.size() <= kLongestPath, 1, "path too long");
  LuaMachine::of(lua).charge(lua, path.size() / 4);
  pushView(lua, urlPath(path));
  return 1;
}

int acquire(lua_State* lua) {
  const std::string_view property = checkText(lua, 1);
  pushDocument(lua, ask(lua, [&](RenderContext& context) { return context.acquire(property); }));
  return 1;
}

int row(lua_State* lua) {
  const std::string_view table = checkText(lua, 1);
  const lua_Integer id = luaL_checkinteger(lua, 2);
  pushDocument(lua, ask(lua, [&](RenderContext& context) { return context.row(table, id); }));
  return 1;
}

// --- Functions of their own

/// view(path, name [, arguments])
int view(lua_State* lua) {
  const std::string_view where = checkText(lua, 1);
  const std::string_view name = checkText(lua, 2);
  std::vector<Tree> arguments;
  if (!lua_isnoneornil(lua, 3)) {
    luaL_checktype(lua, 3, LUA_TTABLE);
    const auto count = static_cast<lua_Integer>(lua_rawlen(lua, 3));
    for (lua_Integer i = 1; i <= count; ++i) {
      lua_rawgeti(lua, 3, i);
      arguments.push_back(toTree(lua, -1, "arguments[" + std::to_string(i) + "]"));
      lua_pop(lua, 1);
    }
  }
  const Value value =
      ask(lua, [&](RenderContext& context) { return context.call(where, name, arguments); });
  LuaMachine::of(lua).look(lua);
  pushValue(lua, value);
  return 1;
}

/// sql(name [, arguments])
int sql(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  const Arguments arguments = toArguments(lua, 2);
  Document rows = ask(lua, [&](RenderContext& context) { return context.sql(name, arguments); });
  LuaMachine::of(lua).look(lua);
  pushDocument(lua, std::move(rows));
  return 1;
}

int tag(lua_State* lua) {
  const std::string_view name = checkText(lua, 1);
  ask(lua, [&](RenderContext& context) { context.tag(name); });
  return 0;
}

// --- cache

int maxAge(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  const Result<Millis> age = parseDuration(text);
  if (!age) return luaL_error(lua, "max_age: %s", age.error().message.c_str());
  ask(lua, [&](RenderContext& context) { context.maxAge(*age); });
  return 0;
}

int expiresAt(lua_State* lua) {
  const lua_Integer wall = luaL_checkinteger(lua, 1);
  ask(lua, [&](RenderContext& context) { context.expiresAt(wall); });
  return 0;
}

int noStore(lua_State* lua) {
  const std::string_view reason = optText(lua, 1, "the script said so");
  ask(lua, [&](RenderContext& context) { context.noStore(reason); });
  return 0;
}

// --- http

/// Ends the script with a status and a message for the visitor; pcall catches it.
int fail(lua_State* lua) {
  const lua_Integer status = luaL_checkinteger(lua, 1);
  luaL_argcheck(lua, status >= 400 && status <= 599, 1, "a status from 400 to 599");
  const std::string_view message = optText(lua, 2, "");
  lua_createtable(lua, 0, 2);
  lua_pushinteger(lua, status);
  lua_setfield(lua, -2, "status");
  pushView(lua, message);
  lua_setfield(lua, -2, "message");
  return lua_error(lua);
}

int redirect(lua_State* lua) {
  const std::string_view url = checkText(lua, 1);
  const lua_Integer status = luaL_optinteger(lua, 2, 302);
  luaL_argcheck(lua,
                status == 301 || status == 302 || status == 303 || status == 307 || status == 308,
                2, "301, 302, 303, 307 or 308");
  lua_createtable(lua, 0, 3);
  lua_pushinteger(lua, status);
  lua_setfield(lua, -2, "status");
  lua_createtable(lua, 0, 1);
  pushView(lua, url);
  lua_setfield(lua, -2, "Location");
  lua_setfield(lua, -2, "headers");
  pushView(lua, "");
  lua_setfield(lua, -2, "body");
  return 1;
}

// --- date

/// The parts of a moment in UTC.
int utc(lua_State* lua) {
  namespace chrono = std::chrono;
  const lua_Integer ms = luaL_checkinteger(lua, 1);
  // Years that have four digits.
  luaL_argcheck(lua, ms >= -62'167'219'200'000 && ms <= 253'402'300'799'999, 1,
                "milliseconds of a year from 0 to 9999");
  const chrono::sys_time<chrono::milliseconds> moment{chrono::milliseconds(ms)};
  const auto day = chrono::floor<chrono::days>(moment);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss time(moment - day);
  const std::pair<const char*, lua_Integer> parts[] = {
      {"year", static_cast<int>(date.year())},
      {"month", static_cast<unsigned>(date.month())},
      {"day", static_cast<unsigned>(date.day())},
      {"hour", time.hours().count()},
      {"minute", time.minutes().count()},
      {"second", time.seconds().count()},
      {"weekday", chrono::weekday(day).iso_encoding()}};
  lua_createtable(lua, 0, std::size(parts));
  for (const auto& [name, value] : parts) {
    lua_pushinteger(lua, value);
    lua_setfield(lua, -2, name);
  }
  return 1;
}

}  // namespace

void pushSiteLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"acquire", &acquire}, {"children", &children}, {"count", &countChildren},
      {"open", &open},       {"root", &root},         {"row", &row},
      {"url", &url},         {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

void pushCacheLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"expires_at", &expiresAt}, {"max_age", &maxAge}, {"no_store", &noStore}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

void pushHttpLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {{"fail", &fail}, {"redirect", &redirect}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

void pushDateLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {{"utc", &utc}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

void addContextFunctions(lua_State* lua) {
  const luaL_Reg functions[] = {{"sql", &sql}, {"tag", &tag}, {"view", &view}, {nullptr, nullptr}};
  luaL_setfuncs(lua, functions, 0);
}

}  // namespace larder::site
