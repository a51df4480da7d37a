#include "larder/site/script_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "script_harness.h"

namespace larder::site {
namespace {

using test::ScriptRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Object page(std::string path, std::string title) {
  Object object;
  object.name = path.substr(path.rfind('/') + 1);
  object.path = std::move(path);
  object.type = "document";
  object.title = std::move(title);
  object.body = "body of " + object.title;
  object.properties =
      Document::from(Tree::map().set("icon", "box").set("levels", Tree::list({1, 2})));
  object.tags = {"cli", "debian"};
  object.revision = 7;
  object.modified = 1'700'000'000'000;
  return object;
}

// --- Results

TEST(ScriptResult, TextIsTheBodyOfAnHtmlPage) {
  ScriptRun run;
  const Value value = run("return '<p>hello'");
  ASSERT_TRUE(value.isPage());
  EXPECT_EQ(value.page()->body, "<p>hello");
  EXPECT_EQ(*value.page()->header("content-type"), "text/html; charset=utf-8");
}

TEST(ScriptResult, TableOfNamesIsAMapInOrderOfItsNames) {
  ScriptRun run;
  EXPECT_EQ(run.document("return {b = 1, a = {x = true}, c = 'text'}"),
            Document::from(
                Tree::map().set("a", Tree::map().set("x", true)).set("b", 1).set("c", "text")));
}

TEST(ScriptResult, TableOfPlacesIsAList) {
  ScriptRun run;
  EXPECT_EQ(run.document("return {1, 2.5, 'three', {4}}"),
            Document::from(Tree::list({1, 2.5, "three", Tree::list({4})})));
}

struct Falsy {
  const char* script;
  Node::Type type;
};
class FaultA24 : public ::testing::TestWithParam<Falsy> {};
TEST_P(FaultA24, KeepsTheTypeOfWhatLooksLikeNothing) {
  ScriptRun run;
  EXPECT_EQ(run.document(GetParam().script).root().type(), GetParam().type);
}
INSTANTIATE_TEST_SUITE_P(
    Script, FaultA24,
    ::testing::Values(Falsy{"return nil", Node::Type::null}, Falsy{"return", Node::Type::null},
                      Falsy{"", Node::Type::null}, Falsy{"return false", Node::Type::boolean},
                      Falsy{"return 0", Node::Type::integer}, Falsy{"return 0.0", Node::Type::real},
                      Falsy{"return {}", Node::Type::list},
                      Falsy{"return json.map{}", Node::Type::map},
                      Falsy{"return json.list{}", Node::Type::list},
                      Falsy{"return json.decode('{}')", Node::Type::map},
                      Falsy{"return json.null", Node::Type::null}));

TEST(ScriptResult, FaultA24_EmptyTextIsAPageWithAnEmptyBody) {
  ScriptRun run;
  EXPECT_EQ(run.body("return ''"), "");
}

TEST(ScriptResult, BytesThatAreNoUtf8StayBytes) {
  ScriptRun run;
  EXPECT_EQ(run.document("return {'\\xff\\xfe', 'gr\\u{fc}n'}"),
            Document::from(Tree::list({Tree::Bytes{"\xff\xfe"}, "gr\xc3\xbcn"})));
}

TEST(ScriptResult, StatusHeadersAndBodyMakeAPage) {
  ScriptRun run;
  const Value value =
      run("return {status = 404, headers = {['Content-Type'] = 'text/plain', "
          "['Set-Cookie'] = {'a=1', 'b=2'}}, body = 'gone'}");
  ASSERT_TRUE(value.isPage());
  EXPECT_EQ(value.page()->status, 404);
  EXPECT_EQ(value.page()->body, "gone");
  EXPECT_THAT(value.page()->headers,
              ElementsAre(Header{"Content-Type", "text/plain"}, Header{"Set-Cookie", "a=1"},
                          Header{"Set-Cookie", "b=2"}));
}

TEST(ScriptResult, FaultA23_ARedirectIsARedirect) {
  ScriptRun run;
  const Value value = run("return http.redirect('/b?x=1', 301)");
  ASSERT_TRUE(value.isPage());
  EXPECT_EQ(value.page()->status, 301);
  EXPECT_EQ(*value.page()->header("Location"), "/b?x=1");
}

TEST(ScriptResult, FaultA23_AnAnswerWithoutBodyHasNoType) {
  ScriptRun run;
  const Value value = run("return {status = 204}");
  ASSERT_TRUE(value.isPage());
  EXPECT_TRUE(value.page()->headers.empty());
}

TEST(ScriptResult, MapWithOtherKeysBesideStatusIsADocument) {
  ScriptRun run;
  EXPECT_EQ(run.document("return {status = 404, title = 'x'}").root()["status"].integer(), 404);
}

struct Refused {
  const char* script;
  const char* reason;
};
class RefusesResult : public ::testing::TestWithParam<Refused> {};
TEST_P(RefusesResult, SayingWhat) {
  ScriptRun run;
  EXPECT_THAT(run.error(GetParam().script),
              AllOf(StartsWith("scripts/test.lua"), HasSubstr(GetParam().reason)));
}
INSTANTIATE_TEST_SUITE_P(
    Script, RefusesResult,
    ::testing::Values(
        Refused{"return print", "unknown name 'print'"},
        Refused{"return {a = {tostring}}", "result.a[1]: a function cannot be stored"},
        Refused{"return {1, nil, 3}", "a hole before place 3"},
        Refused{"return {1, x = 2}", "both places and names"},
        Refused{"return {[1.5] = 2}", "neither text nor a place"},
        Refused{"local t = {} t[1] = t return t", "nested more than 64 deep"},
        Refused{"return {status = 99}", "99 is no status"},
        Refused{"return {status = 204, body = 'x'}", "has none"},
        Refused{"return {status = 200, headers = {['a b'] = 'c'}}", "no header's name"},
        Refused{"return {status = 200, headers = {Date = 'c'}}", "set by the server"},
        Refused{"return {status = 200, headers = {['Content-Length'] = '3'}}", "set by the server"},
        Refused{"return {status = 200, headers = {A = {}, B = true}}", "has to be text"},
        Refused{"return {status = 200, body = {}}", "a table is no text"}));

class FaultA09 : public ::testing::TestWithParam<const char*> {};
TEST_P(FaultA09, NoControlCharacterReachesAHeader) {
  ScriptRun run;
  run.context.query_params = {{"v", std::string("x") + GetParam()[0] + "Set-Cookie: a=1"}};
  for (const char* script :
       {"return {status = 200, headers = {X = request.param('v')}}",
        "return {status = 200, headers = {['Set-Cookie'] = {request.param('v')}}}",
        "return http.redirect(request.param('v'))"}) {
    EXPECT_THAT(run.error(script), HasSubstr("has a control character"));
  }
}
INSTANTIATE_TEST_SUITE_P(Script, FaultA09, ::testing::Values("\r", "\n", "\0", "\x7f", "\x01"));

TEST(ScriptResult, FaultA09_NoControlCharacterReachesAHeadersName) {
  ScriptRun run;
  EXPECT_THAT(run.error("return {status = 200, headers = {['X\\r\\nY'] = 'v'}}"),
              HasSubstr("no header's name"));
}

// --- What a script reads

TEST(ScriptRequest, ReadsWhatItNamesAndNothingElse) {
  ScriptRun run;
  run.context.query_params = {{"page", "2"}, {"a", "1"}, {"a", "3"}};
  run.context.headers = {{"accept", "x"}};
  run.context.cookies = {{"c", "y"}};
  EXPECT_EQ(run.body("return table.concat({request.param('page'), request.param('none', 'd'), "
                     "#request.params('a'), request.header('accept'), request.cookie('c')}, ',')"),
            "2,d,2,x,y");
  EXPECT_THAT(run.context.log,
              ElementsAre("param:page", "param:none", "param:a", "header:accept", "cookie:c"));
}

TEST(ScriptRequest, AllParametersAreOneInput) {
  ScriptRun run;
  run.context.query_params = {{"b", "1"}, {"a", "2"}};
  EXPECT_EQ(run.body("local s = '' for _, p in ipairs(request.params()) do s = s .. p.name .. '=' "
                     ".. p.value .. ';' end return s"),
            "b=1;a=2;");
  EXPECT_THAT(run.context.log, ElementsAre("params"));
}

TEST(ScriptRequest, AnonymousVisitorIsNil) {
  ScriptRun run;
  EXPECT_EQ(run.body("return tostring(request.user())"), "nil");
}

TEST(ScriptRequest, UserHasIdLoginNameAndRoles) {
  ScriptRun run;
  run.context.visitor = User{5, "anna", "Anna", {"editor", "member"}};
  EXPECT_EQ(run.body("local u = request.user() return u.id .. u.login .. u.name .. u.roles[2]"),
            "5annaAnnamember");
}

TEST(ScriptRequest, LedgerL17_ClockAndRandomGoThroughTheContext) {
  ScriptRun run;
  (void)run("local a, b, c = request.now(), request.random(), math.random(6) return a + b + c");
  EXPECT_THAT(run.context.log, ElementsAre("now", "random", "random"));
}

TEST(ScriptRequest, ArgumentsCountFromOne) {
  ScriptRun run;
  run.context.arguments = {Tree("x"), Tree::list({Tree(10)})};
  EXPECT_EQ(run.body("return request.arg(1) .. request.arg(2)[1] .. tostring(request.arg(3))"),
            "x10nil");
}

TEST(ScriptSite, ObjectIsReadOnlyWhenTheScriptNamesIt) {
  ScriptRun run;
  run.context.addObject(page("/a", "A"));
  (void)run("return 1");
  EXPECT_FALSE(run.context.read("object:/a"));
  EXPECT_EQ(run.body("return object.title .. object.revision .. object.tags[2] .. "
                     "object.properties.icon .. #object.properties.levels .. object.name"),
            "A7debianbox2a");
}

TEST(ScriptSite, RouteWithoutAnObjectHasNone) {
  ScriptRun run;
  EXPECT_EQ(run.document("return object == nil").root().boolean(), true);
}

TEST(ScriptSite, OpensAndLists) {
  ScriptRun run;
  run.context.addObject(page("/a/x", "X"));
  run.context.addObject(page("/a/y", "Y"));
  EXPECT_EQ(run.body("local s = site.open('/a/x').title .. tostring(site.open('/none')) "
                     "for _, o in ipairs(site.children('/a', {sort = 'modified', limit = 5, offset "
                     "= 2, descending = true, type = 'document'})) do s = s .. o.path end return s "
                     ".. site.count('/a')"),
            "Xnil/a/x/a/y2");
  EXPECT_THAT(run.context.log,
              ElementsAre("object:/a/x", "object:/none", "children:/a", "children:/a"));
}

TEST(ScriptSite, UnknownKeyOfAQueryIsAnError) {
  ScriptRun run;
  EXPECT_THAT(run.error("site.children('/a', {order = 'name'})"),
              HasSubstr("unknown key 'order'; valid here: type, sort"));
}

TEST(ScriptSite, KnowsWhereTheAppIsAndHowToLink) {
  ScriptRun run;
  EXPECT_EQ(run.body("return site.root() .. ' ' .. site.url('/a b/\\u{fc}?')"),
            "/ /a%20b/%C3%BC%3F");
}

TEST(ScriptSite, CallsViewsWithArguments) {
  ScriptRun run;
  run.context.on_call = [](std::string_view path, std::string_view view,
                           std::span<const Tree> arguments) -> Value {
    Tree tree = Tree::map();
    tree.set("path", path)
        .set("view", view)
        .set("count", static_cast<std::int64_t>(arguments.size()));
    tree.set("first", arguments[0]);
    return Document::from(tree);
  };
  EXPECT_EQ(run.body("local r = view('/a/b', 'related', {{x = 1}, 'two'}) "
                     "return r.path .. r.view .. r.count .. r.first.x"),
            "/a/brelated21");
}

TEST(ScriptSite, ACalledPageIsItsStatusHeadersAndBody) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value {
    Page result;
    result.status = 203;
    result.setHeader("X-Y", "z");
    result.body = "b";
    return result;
  };
  EXPECT_EQ(run.body("local p = view('/a', 'x') return p.status .. p.headers['X-Y'] .. p.body"),
            "203zb");
}

TEST(ScriptSite, SqlTakesNamedArguments) {
  ScriptRun run;
  run.context.on_sql = [](std::string_view name, const Arguments& arguments) {
    Tree row = Tree::map();
    row.set("name", name);
    for (const auto& [key, value] : arguments) row.set(key, value);
    return Document::from(Tree::list({row}));
  };
  EXPECT_EQ(run.body("local rows = sql('recent', {limit = 3, author = 'anna'}) "
                     "return rows[1].name .. rows[1].limit .. rows[1].author"),
            "recent3anna");
}

TEST(ScriptSite, SaysHowItsResultIsCached) {
  ScriptRun run;
  (void)run("tag('news') cache.max_age('10m') cache.expires_at(123) cache.no_store('why')");
  EXPECT_THAT(run.context.log,
              ElementsAre("tag:news", "max_age:600000", "expires_at:123", "no_store:why"));
}

TEST(ScriptDocument, IsReadInPlace) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value {
    return Document::from(Tree::map()
                              .set("items", Tree::list({Tree::map().set("n", 1), Tree(2.5), "x"}))
                              .set("none", nullptr)
                              .set("yes", true));
  };
  EXPECT_EQ(run.body(R"(
    local d = view('/a', 'x')
    local s = #d.items .. d.items[1].n .. d.items[2] .. tostring(d.items[9]) .. tostring(d.none)
    for k, v in pairs(d) do s = s .. ' ' .. k .. ':' .. tostring(v) end
    for i, v in ipairs(d.items) do s = s .. ' ' .. i .. tostring(v) end
    return s .. ' ' .. #d
  )"),
            "312.5nilnil items:list yes:true 1map 22.5 3x 3");
}

TEST(ScriptDocument, CannotBeChanged) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value {
    return Document::from(Tree::map().set("a", 1));
  };
  EXPECT_THAT(run.error("view('/a', 'x').a = 2"), HasSubstr("read-only"));
}

TEST(ScriptDocument, ReturnedAsItIsSharesItsMemory) {
  ScriptRun run;
  const Document document = Document::from(Tree::map().set("part", Tree::list({1, 2})));
  run.context.on_call = [&](auto, auto, auto) -> Value { return document; };
  const Document part = run.document("return view('/a', 'x').part");
  EXPECT_EQ(&part.root().at(0), &document.root()["part"].at(0));
}

TEST(ScriptDocument, ListsOfObjectsBecomeMaps) {
  ScriptRun run;
  run.context.addObject(page("/a/x", "X"));
  const Document result = run.document("return {items = site.children('/a')}");
  EXPECT_EQ(result.root()["items"].at(0)["title"].text(), "X");
}

// --- Failures

TEST(ScriptFailure, SyntaxErrorNamesFileAndLine) {
  testing::ManualClock clock;
  const auto view = makeScriptView({"scripts/test.lua", "local x = 1\nreturn x +* 2", {}}, clock);
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message, StartsWith("scripts/test.lua:2: unexpected symbol near '*'"));
}

TEST(ScriptFailure, NamesFileLineAndTheCallsThatLedThere) {
  ScriptRun run;
  const std::string error =
      run.error("local function f(x)\n  return x.y.z\nend\n\nlocal r = f({})\nreturn r");
  EXPECT_THAT(error, StartsWith("scripts/test.lua:2: attempt to index a nil value (field 'y')"));
  EXPECT_THAT(error, HasSubstr("\n  scripts/test.lua:2 in f"));
  EXPECT_THAT(error, HasSubstr("\n  scripts/test.lua:5 in the script"));
}

TEST(ScriptFailure, MisspeltGlobalIsAnErrorNotNil) {
  ScriptRun run;
  EXPECT_THAT(run.error("return requst.param('x')"), HasSubstr(":1: unknown name 'requst'"));
}

TEST(ScriptFailure, HttpFailAnswersWithStatusAndMessage) {
  ScriptRun run;
  EXPECT_EQ(run.error("http.fail(404, 'no such page')"), "HTTP 404 no such page");
}

TEST(ScriptFailure, HttpFailCanBeCaught) {
  ScriptRun run;
  EXPECT_EQ(run.body("local ok, e = pcall(http.fail, 403, 'x') return tostring(ok) .. e.status"),
            "false403");
}

TEST(ScriptFailure, StatusOfACalledViewPassesThrough) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value { throw HttpError{410, "gone"}; };
  EXPECT_EQ(run.error("return view('/b', 'x')"), "HTTP 410 gone");
  EXPECT_THAT(run.context.log, ElementsAre("call:/b x"));
}

TEST(ScriptFailure, FailureOfTheStorePassesThroughAsItIs) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value { throw std::out_of_range("disk"); };
  EXPECT_THROW(run("return view('/b', 'x')"), std::out_of_range);
}

TEST(ScriptFailure, WhatCaughtAFailureIsNotStored) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value { throw std::out_of_range("disk"); };
  EXPECT_EQ(run.body("local ok, e = pcall(view, '/b', 'x') return tostring(ok) .. tostring(e)"),
            "falsedisk");
  EXPECT_EQ(run.context.log.back(), "no_store:a script caught the failure of what it read");
}

struct Refusal {};  // as the engine throws: no std::exception
TEST(ScriptFailure, RefusalsOfTheEngineCannotBeCaught) {
  ScriptRun run;
  run.context.on_call = [](auto, auto, auto) -> Value { throw Refusal{}; };
  EXPECT_THROW(run("pcall(view, '/b', 'x') return 'swallowed'"), Refusal);
}

TEST(ScriptFailure, LeavesTheViewUsable) {
  ScriptRun run;
  const auto view = run.make("if request.param('bad') then error('x') end return 'fine'");
  run.context.query_params = {{"bad", "1"}};
  EXPECT_THROW((void)view->render(run.context), ScriptError);
  run.context.query_params.clear();
  EXPECT_EQ(view->render(run.context).page()->body, "fine");
}

// --- Nothing leaks

TEST(ScriptState, GlobalsAreGoneWithTheCall) {
  ScriptRun run;
  const auto view =
      run.make("local old = rawget(_G, 'seen') seen = request.param('v') return tostring(old)");
  run.context.query_params = {{"v", "secret of anna"}};
  EXPECT_EQ(view->render(run.context).page()->body, "nil");
  EXPECT_EQ(view->render(run.context).page()->body, "nil");
}

TEST(ScriptState, LibrariesCannotBeChanged) {
  ScriptRun run;
  for (const char* script :
       {"string.len = nil", "rawset(string, 'len', 1)", "setmetatable(string, {})",
        "getmetatable('').__index.len = 1", "table.insert = 1", "site.x = request",
        "setmetatable(_G, {})", "rawset(getmetatable(_G), '__index', {})"}) {
    EXPECT_NE(run.error(script), "no error") << script;
  }
}

TEST(ScriptState, GlobalsThatShadowABuiltInAreGoneWithTheCall) {
  ScriptRun run;
  const auto view = run.make(
      "local first = tostring(1) tostring = function() return 'mine' end "
      "return first .. tostring(1)");
  EXPECT_EQ(view->render(run.context).page()->body, "1mine");
  EXPECT_EQ(view->render(run.context).page()->body, "1mine");
}

TEST(ScriptState, EachCallOfAnUpvalueStartsAnew) {
  ScriptRun run;
  const auto view =
      run.make("local n = 0 local function up() n = n + 1 return n end up() return up()");
  EXPECT_EQ(view->render(run.context).document().root().integer(), 2);
  EXPECT_EQ(view->render(run.context).document().root().integer(), 2);
}

TEST(ScriptState, RecursiveCallsOfOneViewHaveStatesOfTheirOwn) {
  ScriptRun run;
  std::shared_ptr<View> view;
  int depth = 0;
  run.context.on_call = [&](auto, auto, auto) -> Value {
    if (++depth > 3) return Document::from(Tree(1));
    return view->render(run.context);
  };
  view = run.make("local mine = {} local below = view('/a', 'x') return below + 1");
  EXPECT_EQ(view->render(run.context).document().root().integer(), 5);
}

TEST(ScriptState, PairsGoInOrderOfTheKeys) {
  ScriptRun run;
  EXPECT_EQ(run.body(R"(
    local t = {}
    for i = 1, 200 do t['k' .. i] = i end
    t[3] = 'x' t[1.5] = 'y' t[true] = 'z'
    local s = {}
    for k in pairs(t) do s[#s + 1] = tostring(k) end
    return table.concat(s, ' ', 1, 6) .. ' ' .. s[#s] .. ' ' .. next(t)
  )"),
            "1.5 3 k1 k10 k100 k101 true 1.5");
}

TEST(ScriptState, PairsAllowsToClearTheCurrentKey) {
  ScriptRun run;
  EXPECT_EQ(run.document("local t = {a = 1, b = 2, c = 3} local n = 0 "
                         "for k in pairs(t) do t[k] = nil t.c = nil n = n + 1 end return n")
                .root()
                .integer(),
            2);
}

/// What `use` makes of weak tables of which every other entry is held by nothing else, with more
/// and less garbage around them, so that the collector comes at all moments.
std::string weakTables(const std::string& use) {
  ScriptRun run;
  run.limits.time = 60'000;
  run.limits.steps = 100'000'000;
  return run.body(R"(
    local function use(t) )" +
                  use + R"( end
    local tail, lost = ('x'):rep(50), 0
    for round = 1, 150 do
      local t, held, other = setmetatable({}, {__mode = 'v'}), {}, {}
      for i = 1, 300 do
        local mine = i % 2 == 0 and held or other
        mine[i] = {}
        t['k' .. i .. tail] = mine[i]
      end
      other = nil
      for i = 1, round * 137 % 5000 do local garbage = {i} end
      local shown, count = {}, 0
      for _, key in ipairs(use(t)) do
        if shown[key] then return 'twice: ' .. key end
        if not re.match(key, '^k[0-9]+x{50}$') then return 'no key of its own: ' .. key end
        shown[key] = true
        count = count + 1
      end
      for i in pairs(held) do
        if not shown['k' .. i .. tail] then return 'missing: ' .. i end
      end
      if count < 300 then lost = lost + 1 end
    end
    return lost > 0 and 'right' or 'nothing was ever lost')");
}

TEST(ScriptState, PairsOfAWeakTableShowsNothingThatItHasLost) {
  EXPECT_EQ(weakTables("local keys = {} for k in pairs(t) do keys[#keys + 1] = k end return keys"),
            "right");
}

TEST(ScriptState, AWeakTableBecomesAMapOfWhatIsLeftInIt) {
  EXPECT_EQ(weakTables(R"(
    local keys = {}
    for k, v in pairs(json.decode(json.encode(t))) do
      if v == json.null then return {'null'} end
      keys[#keys + 1] = k
    end
    return keys)"),
            "right");
}

TEST(ScriptState, AddressesAreNotShown) {
  ScriptRun run;
  EXPECT_EQ(run.body("return tostring({}) .. tostring(tostring) .. ('%s'):format({}) .. "
                     "tostring(coroutine.create(tostring)) .. tostring(string)"),
            "tablefunctiontablethreaduserdata");
}

}  // namespace
}  // namespace larder::site
