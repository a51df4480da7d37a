#include "lua_regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "lua_library.h"
#include "lua_machine.h"

namespace larder::site {

RegexCache::RegexCache() = default;
RegexCache::~RegexCache() = default;

std::shared_ptr<const re2::RE2> RegexCache::get(std::string_view pattern) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_pattern_.find(pattern); found != by_pattern_.end()) {
      items_.splice(items_.begin(), items_, found->second);
      return found->second->second;
    }
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{512} * 1024);
  auto compiled =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) return compiled;
  const std::lock_guard lock(mutex_);
  if (by_pattern_.contains(pattern)) return compiled;  // somebody else was faster
  items_.emplace_front(pattern, compiled);
  by_pattern_.emplace(items_.front().first, items_.begin());
  if (items_.size() > kCapacity) {
    by_pattern_.erase(items_.back().first);
    items_.pop_back();
  }
  return compiled;
}

namespace {

constexpr std::size_t kLongestPattern = 2000;
constexpr int kMostGroups = 32;
/// Bytes of text times instructions of the pattern's program that one search may take. RE2 needs 1
/// to 2 ns a byte as long as its automaton fits into memory, but then up to 12 ns for each
/// product: 0.1 s.
constexpr std::size_t kMostWork = 10'000'000;

/// A pattern and a text, searched from a position on.
class Search {
 public:
  Search(lua_State* lua, int text, int pattern)
      : lua_(lua), machine_(LuaMachine::of(lua)), text_(checkText(lua, text)) {
    const std::string_view source = checkText(lua, pattern);
    if (source.size() > kLongestPattern)
      luaL_error(lua, "the pattern is longer than %d bytes", static_cast<int>(kLongestPattern));
    regex_ = machine_.patterns().get(source);
    machine_.charge(lua, source.size());
    machine_.look(lua);
    if (!regex_->ok())
      luaL_error(lua, "pattern '%s': %s", std::string(source).c_str(), regex_->error().c_str());
    if (regex_->NumberOfCapturingGroups() > kMostGroups)
      luaL_error(lua, "the pattern has more than %d groups", kMostGroups);
    size_ = static_cast<std::size_t>(std::max(1, regex_->ProgramSize()));
  }

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] int groups() const { return regex_->NumberOfCapturingGroups(); }
  [[nodiscard]] std::size_t first() const { return begin(0); }
  [[nodiscard]] std::size_t last() const { return begin(0) + parts_[0].size(); }

  bool find(std::size_t from) {
    if (from > text_.size()) return false;
    const std::size_t rest = text_.size() - from;
    if (rest > kMostWork / size_)
      luaL_error(lua_,
                 "a text of %d bytes is too long for this pattern; a part of it, or a simpler "
                 "pattern, will do",
                 static_cast<int>(rest));
    const bool found = regex_->Match(re2::StringPiece(text_.data(), text_.size()), from,
                                     text_.size(), RE2::UNANCHORED, parts_.data(), groups() + 1);
    machine_.charge(lua_, 20 + (found ? last() - from : rest) * size_ / 64);
    machine_.look(lua_);
    return found;
  }

  /// The groups, or the whole match if there is none; their count. One that took no part is false.
  int pushCaptures() {
    luaL_checkstack(lua_, groups() + 1, nullptr);
    if (groups() == 0) {
      push(0);
      return 1;
    }
    for (int i = 1; i <= groups(); ++i) push(i);
    return groups();
  }
  void push(int group) {
    const re2::StringPiece& part = parts_[static_cast<std::size_t>(group)];
    if (part.data() == nullptr) {
      lua_pushboolean(lua_, 0);
    } else {
      lua_pushlstring(lua_, part.data(), part.size());
    }
  }
  [[nodiscard]] std::string_view part(int group) const {
    const re2::StringPiece& piece = parts_[static_cast<std::size_t>(group)];
    return piece.data() == nullptr ? std::string_view()
                                   : std::string_view(piece.data(), piece.size());
  }

  /// The position after the character at `at`.
  [[nodiscard]] std::size_t after(std::size_t at) const {
    do {
      ++at;
    } while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U);
    return at;
  }

  /// The next match from `at` on that is no empty one where the last one ended. Moves `at` behind
  /// it; `end` is where the last match ended.
  bool next(std::size_t& at, std::optional<std::size_t>& end) {
    while (find(at)) {
      const bool empty = first() == last();
      if (empty && end && *end == first()) {
        at = after(first());
        continue;
      }
      end = last();
      at = empty ? after(last()) : last();
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] std::size_t begin(std::size_t group) const {
    return static_cast<std::size_t>(parts_[group].data() - text_.data());
  }

  lua_State* lua_;
  LuaMachine& machine_;
  std::string_view text_;
  std::shared_ptr<const re2::RE2> regex_;
  std::size_t size_ = 1;
  std::array<re2::StringPiece, kMostGroups + 1> parts_;
};

std::size_t startOf(lua_State* lua, int index, std::size_t size) {
  const lua_Integer start = luaL_optinteger(lua, index, 1);
  if (start > 0) return static_cast<std::size_t>(start - 1);
  const auto back = -static_cast<lua_Unsigned>(start);
  return start == 0 || back > size ? 0 : size - static_cast<std::size_t>(back);
}

int match(lua_State* lua) {
  Search search(lua, 1, 2);
  if (search.find(startOf(lua, 3, search.text().size()))) return search.pushCaptures();
  lua_pushnil(lua);
  return 1;
}

int find(lua_State* lua) {
  Search search(lua, 1, 2);
  if (!search.find(startOf(lua, 3, search.text().size()))) {
    lua_pushnil(lua);
    return 1;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(search.first()) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(search.last()));
  return 2 + (search.groups() > 0 ? search.pushCaptures() : 0);
}

/// Upvalues: text, pattern, where to go on, where the last match ended (-1: none yet).
int nextMatch(lua_State* lua) {
  Search search(lua, lua_upvalueindex(1), lua_upvalueindex(2));
  auto at = static_cast<std::size_t>(lua_tointeger(lua, lua_upvalueindex(3)));
  const lua_Integer ended = lua_tointeger(lua, lua_upvalueindex(4));
  std::optional<std::size_t> end;
  if (ended >= 0) end = static_cast<std::size_t>(ended);
  if (!search.next(at, end)) return 0;
  lua_pushinteger(lua, static_cast<lua_Integer>(at));
  lua_replace(lua, lua_upvalueindex(3));
  lua_pushinteger(lua, static_cast<lua_Integer>(*end));
  lua_replace(lua, lua_upvalueindex(4));
  return search.pushCaptures();
}

int allMatches(lua_State* lua) {
  (void)Search(lua, 1, 2);  // a bad pattern is an error here, not in the loop
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushinteger(lua, -1);
  lua_pushcclosure(lua, &nextMatch, 4);
  return 1;
}

/// "%1" and so on in the text of a replacement; "%%" is a percent sign.
void addReplacement(lua_State* lua, luaL_Buffer& buffer, const Search& search,
                    std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      luaL_addchar(&buffer, text[i]);
      continue;
    }
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next == '%') {
      luaL_addchar(&buffer, '%');
    } else if (next >= '0' && next <= '9' && next - '0' <= std::max(search.groups(), 1)) {
      const int group = search.groups() == 0 ? 0 : next - '0';
      const std::string_view part = search.part(group);
      luaL_addlstring(&buffer, part.data(), part.size());
    } else {
      luaL_error(lua, "invalid use of '%%' in a replacement: write %%%%, or %%0 to %%%d",
                 std::max(search.groups(), 1));
    }
  }
}

/// gsub(text, pattern, replacement [, most]): text with %0 to %9, a table or a function.
int replaceAll(lua_State* lua) {
  Search search(lua, 1, 2);
  const int type = lua_type(lua, 3);
  luaL_argexpected(
      lua,
      type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TTABLE || type == LUA_TFUNCTION, 3,
      "string/function/table");
  const lua_Integer most = luaL_optinteger(lua, 4, LUA_MAXINTEGER);
  const bool is_text = type == LUA_TSTRING || type == LUA_TNUMBER;
  const std::string_view replacement = is_text ? checkText(lua, 3) : std::string_view();
  LuaMachine& machine = LuaMachine::of(lua);

  const std::string_view text = search.text();
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  std::size_t copied = 0;
  std::size_t at = 0;
  std::optional<std::size_t> end;
  lua_Integer count = 0;
  while (count < most && search.next(at, end)) {
    ++count;
    machine.chargeBytes(lua, search.last() - copied + replacement.size());
    luaL_addlstring(&buffer, text.data() + copied, search.first() - copied);
    copied = search.last();
    if (is_text) {
      addReplacement(lua, buffer, search, replacement);
      continue;
    }
    if (type == LUA_TTABLE) {
      search.push(search.groups() > 0 ? 1 : 0);
      lua_gettable(lua, 3);
    } else {
      lua_pushvalue(lua, 3);
      const int captures = search.pushCaptures();
      lua_call(lua, captures, 1);
    }
    if (lua_toboolean(lua, -1) == 0) {  // nil or false: left as it is
      lua_pop(lua, 1);
      search.push(0);
    } else if (lua_isstring(lua, -1) == 0) {
      return luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    }
    luaL_addvalue(&buffer);
  }
  luaL_addlstring(&buffer, text.data() + copied, text.size() - copied);
  luaL_pushresult(&buffer);
  lua_pushinteger(lua, count);
  return 2;
}

/// The pieces of the text between the matches that are not empty.
int split(lua_State* lua) {
  Search search(lua, 1, 2);
  lua_settop(lua, 2);
  lua_createtable(lua, 0, 0);
  const std::string_view text = search.text();
  std::size_t copied = 0;
  std::size_t at = 0;
  std::optional<std::size_t> end;
  lua_Integer pieces = 0;
  while (search.next(at, end)) {
    if (search.first() == search.last()) continue;
    lua_pushlstring(lua, text.data() + copied, search.first() - copied);
    lua_rawseti(lua, 3, ++pieces);
    copied = search.last();
  }
  lua_pushlstring(lua, text.data() + copied, text.size() - copied);
  lua_rawseti(lua, 3, ++pieces);
  return 1;
}

int escapePattern(lua_State* lua) {
  const std::string_view text = checkText(lua, 1);
  LuaMachine::of(lua).charge(lua, text.size());
  const std::string escaped = RE2::QuoteMeta(re2::StringPiece(text.data(), text.size()));
  lua_pushlstring(lua, escaped.data(), escaped.size());
  return 1;
}

}  // namespace

void pushRegexLibrary(lua_State* lua) {
  const luaL_Reg functions[] = {
      {"escape", &escapePattern}, {"find", &find},   {"gmatch", &allMatches}, {"gsub", &replaceAll},
      {"match", &match},          {"split", &split}, {nullptr, nullptr}};
  luaL_newlib(lua, functions);
}

}  // namespace larder::site
