// Hostile scripts: each ends within its limits, with a message that says which, whatever it
// catches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <ctime>
#include <fstream>
#include <ostream>
#include <sstream>
#include <thread>

#include "larder/cache/system_clock.h"
#include "script_harness.h"

namespace larder::site {
namespace {

using test::FakeContext;
using test::ScriptRun;
using ::testing::AnyOf;
using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr ScriptLimits kLimits{.memory = 16 * 1024 * 1024, .steps = 5'000'000, .time = 400};

Millis cpuTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// A line of /proc/self/status in bytes.
std::size_t memoryOf(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) {
      std::istringstream words(line.substr(name.size() + 1));
      std::size_t kilobytes = 0;
      words >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

struct Hostile {
  const char* name;
  const char* script;
  /// Part of the message; empty: one of the limits'.
  const char* message;
};
void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name;
}

class FaultA39 : public ::testing::TestWithParam<Hostile> {};

TEST_P(FaultA39, EndsWithinItsLimitsWithAClearError) {
  const SystemClock clock;
  FakeContext context;
  context.on_call = [](auto, auto, auto) -> Value { return Document::from(Tree::list({1, 2, 3})); };
  const auto view = makeScriptView({"scripts/test.lua", GetParam().script, kLimits}, clock);
  ASSERT_TRUE(view) << view.error().message;
  // Once before it counts: the first call brings the code and the allocator's own pages into
  // memory.
  try {
    (void)(*view)->render(context);
  } catch (const ScriptError&) {
  }
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from here
  const std::size_t memory = memoryOf("VmRSS:");
  const Millis start = cpuTime();
  std::string message = "no error";
  try {
    (void)(*view)->render(context);
  } catch (const ScriptError& error) {
    message = error.what();
  }
  const Millis took = cpuTime() - start;
  const std::size_t peak = memoryOf("VmHWM:");
  EXPECT_THAT(message, HasSubstr("scripts/test.lua:"));
  if (*GetParam().message != '\0') {
    EXPECT_THAT(message, HasSubstr(GetParam().message));
  } else {
    EXPECT_THAT(message, AnyOf(HasSubstr("reached its limit of 16M of memory"),
                               HasSubstr("reached its limit of 5000000 steps"),
                               HasSubstr("reached its limit of 400ms of time")));
  }
  if (!kSanitized) {
    EXPECT_LE(took, kLimits.time + 100) << message;
    EXPECT_LE(peak, memory + kLimits.memory + kLimits.memory / 10) << message;
  }
  RecordProperty("ms", std::to_string(took));
}

const Hostile kHostile[] = {
    {"Loop", "while true do end", ""},
    {"LoopInPcall", "while true do pcall(function() while true do end end) end", ""},
    {"LoopInCoroutine", "while true do pcall(coroutine.wrap(function() while true do end end)) end",
     ""},
    {"LoopInNestedCoroutines", R"(
       local function nest(n)
         if n == 0 then while true do end end
         while true do coroutine.resume(coroutine.create(nest), n - 1) end
       end
       nest(20))",
     ""},
    {"LoopInHandler",
     "while true do xpcall(function() while true do end end, function() while true do end end) end",
     ""},
    {"LoopInHandlerOfAnError", "xpcall(error, function() while true do end end)", ""},
    {"HandlerThatFails", "while true do xpcall(error, function() error() end) end", ""},
    {"LoopInClose", R"(
       while true do
         pcall(function()
           local x <close> = setmetatable({}, {__close = function() while true do end end})
           error('x')
         end)
       end)",
     ""},
    {"CloseThatHidesTheFailure", R"(
       while true do
         pcall(function()
           local x <close> = setmetatable({}, {__close = function() error('hidden') end})
           local t = {} while true do t[#t + 1] = {} end
         end)
       end)",
     ""},
    {"ManyCoroutines", "local t = {} while true do t[#t + 1] = coroutine.create(print_) end",
     "unknown name 'print_'"},
    {"ManyShortCoroutines", R"(
       while true do
         coroutine.wrap(function() for i = 1, 300 do local x = i end end)()
       end)",
     ""},
    {"KeptCoroutines", "local t = {} while true do t[#t + 1] = coroutine.create(pcall) end", ""},
    {"Rep", "return ('x'):rep(1000000000)", ""},
    {"RepInPcall", "while true do pcall(string.rep, 'x', 1000000000) end", ""},
    {"RepOfManyPieces", "return ('x'):rep(1 << 62, 'yz')", ""},
    {"RepAgainAndAgain", "while true do local x = ('x'):rep(15000000) end", ""},
    {"Doubling", "local s = 'x' while true do s = s .. s end", ""},
    {"LongConcatenations", "local s = ('x'):rep(7000000) while true do local t = s .. 'y' end", ""},
    {"LongComparisons", R"(
       local a, b = ('x'):rep(5000000) .. 'a', ('x'):rep(5000000) .. 'b'
       while true do local t = a < b or a == b end)",
     ""},
    {"LongKeys", R"(
       local a = ('x'):rep(4000000)
       local t = {[a] = 1}
       while true do local b = t[a .. ''] end)",
     ""},
    {"LongNumbers", "local a = ('1'):rep(4000000) while true do local b = tonumber(a) or a + 1 end",
     ""},
    {"Concat", R"(
       local s, t = ('x'):rep(1000000), {}
       for i = 1, 1000 do t[i] = s end
       while true do pcall(table.concat, t) end)",
     ""},
    {"ConcatWithALie",
     "return table.concat(setmetatable({}, {__len = function() return 1 << 62 end, "
     "__index = function() return 'x' end}))",
     ""},
    {"Format", R"(
       local s, f = ('x'):rep(1000000), ('%s'):rep(200)
       local t = {} for i = 1, 200 do t[i] = s end
       while true do pcall(string.format, f, table.unpack(t)) end)",
     ""},
    {"FormatWithTostring", R"(
       local s = ('x'):rep(2000000)
       local o = setmetatable({}, {__tostring = function() return s end})
       while true do pcall(string.format, '%s%s%s', o, o, o) end)",
     ""},
    {"FormatOfAnAddress", "return ('%p'):format({})", "invalid conversion '%p'"},
    {"SortWithALie", R"(
       local t = setmetatable({}, {__len = function() return 90000000 end,
                                   __index = function(_, i) return -i end})
       table.sort(t))",
     ""},
    {"SortInNoOrder", R"(
       local t = {} for i = 1, 50000 do t[i] = i end
       while true do table.sort(t, function() return true end) end)",
     ""},
    {"SortOfLongTexts", R"(
       local s, t = ('x'):rep(100000), {}
       for i = 1, 60 do t[i] = s .. (61 - i) end
       while true do table.sort(t) end)",
     ""},
    {"InsertWithALie",
     "table.insert(setmetatable({}, {__len = function() return 1 << 62 end}), 1, 'x')", ""},
    {"RemoveWithALie", "table.remove(setmetatable({}, {__len = function() return 1 << 62 end}), 1)",
     ""},
    {"Move", "table.move({}, 1, 1 << 62, 2)", ""},
    {"Unpack", "while true do pcall(table.unpack, {}, 1, 900000) end", ""},
    {"UnpackTooMuch", "return table.unpack({}, 1, 1 << 40)", "too many results to unpack"},
    {"DeepRecursion", R"(
       local function f() return 1 + f() end
       while true do pcall(f) end)",
     ""},
    {"DeepMetamethods", R"(
       local t = setmetatable({}, {})
       getmetatable(t).__index = function(self, k) return self[k .. 'x'] end
       while true do pcall(function() return t.x end) end)",
     ""},
    {"LoopOfIndex", R"(
       local a, b = {}, {}
       setmetatable(a, {__index = b}) setmetatable(b, {__index = a})
       return a.x)",
     "loop"},
    {"DeepResult", "local t = {} for i = 1, 100000 do t = {t} end return t", "nested more than"},
    {"WideResult", "local t = {} for i = 1, 60 do t = {t, t} end return t", ""},
    {"WideJson", "local t = {} for i = 1, 60 do t = {t, t} end return json.encode(t)", ""},
    {"DeepJson", "return json.decode(('['):rep(1000000))", "nested more than"},
    {"WideJsonText", "return json.decode('[' .. ('{},'):rep(1000000) .. '1]')", ""},
    {"Bytecode", "return load('\\27Lua')()", "attempt to call a nil value"},
    {"DumpedBytecode", "return load(string.dump(function() end))", "attempt to call a nil value"},
    {"LongChunk", "return load(('x=1 '):rep(1000000))()", "load takes at most"},
    {"ChunksAgain", "while true do load(('x=1 '):rep(60000)) end", ""},
    {"DeepChunk", "return load(('('):rep(100000) .. ')')()", "attempt to call a nil value"},
    {"StringMetatable", "getmetatable('').__index = function() while true do end end",
     "attempt to index a boolean value"},
    {"Finalizer", "setmetatable({}, {__gc = function() while true do end end})", "'__gc'"},
    {"LateFinalizer", R"(
       local m = {} setmetatable({}, m)
       m.__gc = function() while true do end end
       while true do local t = setmetatable({}, {}) end)",
     ""},
    {"Pattern", "return ('a'):rep(30):find(('a-'):rep(30) .. 'b')", "plain text only"},
    {"PatternFunctions", "return ('a'):gsub('a-', '')", "use re.gsub"},
    {"RegexNested", "while true do re.match(('a'):rep(500000), '(a*)*b') end", ""},
    {"RegexAlternatives", "while true do re.match(('a'):rep(300000), '(a|aa)+$') end", ""},
    {"RegexThatBlowsUp",
     "local t = ('ab'):rep(100000) while true do re.match(t, '(a|b)*a(a|b){12}c') end", ""},
    {"RegexRepeated", "return re.match(('a'):rep(200000), '((a?){30}){30}b')", "is too long for"},
    {"RegexTooLarge", "return re.match('a', '((a{100}){100}){100}')", "pattern '"},
    {"RegexesWithoutEnd",
     "local i = 0 while true do i = i + 1 re.match('a', '(x{1,500}y)' .. i) end", ""},
    {"RegexQuadratic", "return re.gsub(('a'):rep(200000), 'a(.*b)?', '')", ""},
    {"RegexReplacedByMore", R"(
       local s = ('a'):rep(1000)
       while true do s = re.gsub(s, 'a', 'aa') end)",
     ""},
    {"FindAll", R"(
       local s, p = ('a'):rep(7000000), ('a'):rep(3000000) .. 'b'
       while true do local x = s:find(p, 1, true) end)",
     ""},
    {"EscapeAll", "local s = ('&'):rep(1000000) while true do s = html.escape(s) end", ""},
    {"BytesAll", "local s = ('x'):rep(99999) while true do pcall(string.byte, s, 1, -1) end", ""},
    {"Utf8All", "local s = ('x'):rep(7999999) while true do utf8.len(s) end", ""},
    {"NextOfAnEmptiedTable", R"(
       local t = {} for i = 1, 200000 do t['k' .. i] = 1 end
       for k in pairs(t) do t[k] = nil end
       while true do next(t) end)",
     ""},
    {"PairsOfALargeTable", R"(
       local t = {} for i = 1, 50000 do t['k' .. i] = 1 end
       while true do pairs(t) end)",
     ""},
    {"AlmostFullMemory", R"(
       local keep = {}
       for i = 1, 100000 do keep[i] = {} end
       while true do local x = ('x'):rep(3000000) end)",
     ""},
    {"ManyDocuments", "while true do view('/a', 'x') end", ""},
    {"YieldOutside", "coroutine.yield(1)", "outside of a coroutine"},
};
INSTANTIATE_TEST_SUITE_P(Script, FaultA39, ::testing::ValuesIn(kHostile),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ScriptLimits, FaultA39_OtherCallsAreUnaffected) {
  const SystemClock clock;
  const auto view =
      makeScriptView({"scripts/test.lua",
                      "if request.param('loop') then while true do end end return 'fine'", kLimits},
                     clock);
  ASSERT_TRUE(view);
  FakeContext hostile;
  hostile.query_params = {{"loop", "1"}};
  std::thread attacker([&] { EXPECT_THROW((void)(*view)->render(hostile), ScriptError); });
  for (int i = 0; i < 100; ++i) {
    FakeContext context;
    EXPECT_EQ((*view)->render(context).page()->body, "fine");
  }
  attacker.join();
  FakeContext context;
  EXPECT_EQ((*view)->render(context).page()->body, "fine");
}

TEST(ScriptLimits, TimeIsTheWallsIncludingCalledViews) {
  ScriptRun run;
  run.limits.time = 1000;
  int calls = 0;
  run.context.on_call = [&](auto, auto, auto) -> Value {
    ++calls;
    run.clock.advance(300);
    return Value();
  };
  EXPECT_THAT(run.error("while true do pcall(view, '/a', 'x') end"),
              HasSubstr("scripts/test.lua:1: the script reached its limit of 1s of time"));
  EXPECT_EQ(calls, 4);
}

TEST(ScriptLimits, StepsSayHowToRaiseThem) {
  ScriptRun run;
  run.limits.steps = 10'000;
  EXPECT_THAT(run.error("local n = 0\nwhile true do\n  n = n + 1\nend"),
              HasSubstr("the script reached its limit of 10000 steps; do less, or raise 'steps'"));
}

TEST(ScriptLimits, WhatTheScriptReadsCountsForMemory) {
  ScriptRun run;
  run.limits.memory = 1024 * 1024;
  const Document large = Document::from(Tree::list({std::string(300'000, 'x')}));
  run.context.on_call = [&](auto, auto, auto) -> Value { return large; };
  EXPECT_THAT(run.error("for i = 1, 10 do pcall(view, '/a', 'x') end"),
              HasSubstr("reached its limit of 1M of memory"));
}

TEST(ScriptLimits, GarbageOfOneCallDoesNotCountInTheNext) {
  ScriptRun run;
  run.limits.memory = 8 * 1024 * 1024;
  const auto view = run.make("local x = ('x'):rep(3000000) return #x");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(view->render(run.context).document().root().integer(), 3'000'000);
}

}  // namespace
}  // namespace larder::site
