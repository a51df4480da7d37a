// Script views: Lua 5.4 without anything that reaches out of the script, and with limits that a
// script cannot swallow.
//
//   auto view = makeScriptView({.name = "scripts/recent.lua", .text = text}, clock);
//   Value value = (*view)->render(context);
//
//   -- scripts/recent.lua
//   local pages = site.children(object.path, {sort = "modified", descending = true, limit = 10})
//   return {pages = pages, title = object.title}
//
// A script sees
//   request   param(name [, default]), params([name]), header(name), cookie(name), session(name),
//             user(), has_role(role), now(), random(), origin(), path(), view(), variable(name),
//             arg(n), csrf_token()
//   object    the object that was asked for, or nil
//   site      open(path), children(path, {type, sort, descending, title_contains, offset, limit}),
//             count(path, query), acquire(property), row(table, id), root() (where the app is
//             mounted), url(path) (as it is written in a link)
//   view(path, name [, arguments]), sql(name [, arguments]), tag(name)
//   cache     max_age("10m"), expires_at(ms), no_store(reason)
//   http      fail(status, message), redirect(url [, status])
//   html      escape(text)
//   json      encode(value), decode(text), null, list(t), map(t)
//   re        match, find, gmatch, gsub, split (text, pattern, ...), escape(text): RE2's syntax
//   date      utc(ms): year, month, day, hour, minute, second, weekday (1 is Monday)
// and of Lua: assert error getmetatable ipairs load next pairs pcall rawequal rawget rawlen rawset
// select setmetatable tonumber tostring type xpcall, coroutine, math, string, table, utf8. Patterns
// are replaced by `re` (string.find finds plain text), there is no bytecode, no finalizer, no
// address to print. `pairs` goes in order of the keys, so that the same content always makes the
// same page. Documents and objects are read in place, not copied.
//
// What a script returns: a string is the body of an HTML page; {status=, headers=, body=} with a
// whole number as status is a page; everything else is a document: nil, booleans, numbers, tables
// of one kind of key (1, 2, 3 ... is a list, text is a map; {} is a list, json.map({}) a map),
// documents that it read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "larder/clock.h"
#include "larder/result.h"
#include "larder/view.h"

namespace larder::site {

/// What one call of a script may take. Views that it calls count for time only.
struct ScriptLimits {
  /// Bytes: what the Lua state holds and the documents that the script has read.
  std::size_t memory = std::size_t{32} * 1024 * 1024;
  /// Instructions of the Lua machine; work of built-in functions counts by its size. One takes 5 to
  /// 10 ns.
  std::uint64_t steps = 50'000'000;
  Millis time = 5'000;  ///< ms of the wall
};

struct ScriptSource {
  std::string name;  ///< as messages show it: "scripts/recent.lua"
  std::string text;
  ScriptLimits limits;
};

/// A script that failed or reached a limit: "scripts/recent.lua:7: ..." and the innermost calls,
/// a line each.
struct ScriptError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Compiles once; an error names file and line. The view is shared by all threads: each call gets a
/// Lua state of its own. render() throws ScriptError, HttpError (http.fail, or one of a called view
/// that the script did not catch) and what the context throws. `clock` outlives the view.
[[nodiscard]] Result<std::shared_ptr<View>> makeScriptView(ScriptSource source, const Clock& clock);

}  // namespace larder::site
