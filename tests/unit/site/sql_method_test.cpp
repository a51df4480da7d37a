#include "larder/site/sql_method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_context.h"

namespace larder::site {
namespace {

using test::FakeContext;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kRecent =
    "-- Lists what changed last.\n"
    "-- param: section text\n"
    "-- param: limit integer = 20\n"
    "-- param: since real = null\n"
    "-- param: all boolean = false\n"
    "-- rows: 100\n"
    "-- timeout: 500ms\n"
    "\n"
    "SELECT path FROM page /* ; */ WHERE section = :section AND note <> ':x; --' AND (:all OR 1)\n"
    "  AND changed > :since LIMIT :limit;\n"
    "-- the end\n";

struct SqlRun {
  FakeContext context;
  std::string statement;
  Arguments arguments;
  QueryLimits limits;

  SqlRun() {
    context.on_query = [this](std::string_view sql, const Arguments& bound,
                              const QueryLimits& within) {
      statement = sql;
      arguments = bound;
      limits = within;
      return Document::from(Tree::list({Tree::map().set("path", "/a")}));
    };
  }
  Value operator()(const char* text) {
    auto view = makeSqlMethod({"sql/recent.sql", text});
    if (!view) throw std::runtime_error(view.error().message);
    return (*view)->render(context);
  }
  std::string error(const char* text = kRecent) {
    try {
      (void)(*this)(text);
      return "no error";
    } catch (const HttpError& failure) {
      return "HTTP " + std::to_string(failure.status) + " " + failure.message;
    } catch (const std::exception& failure) {
      return failure.what();
    }
  }
  [[nodiscard]] Document bound(std::string_view name) const {
    for (const auto& [key, value] : arguments) {
      if (key == name) return Document::from(value);
    }
    return Document::from(Tree("not bound"));
  }
};

TEST(SqlMethod, GivesTheRowsAsAListOfMaps) {
  SqlRun run;
  run.context.query_params = {{"section", "linux"}};
  const Value rows = run(kRecent);
  EXPECT_EQ(rows.document().root().at(0)["path"].text(), "/a");
}

TEST(SqlMethod, RunsTheStatementWithoutHeaderAndSemicolon) {
  SqlRun run;
  run.context.query_params = {{"section", "linux"}};
  (void)run(kRecent);
  EXPECT_THAT(run.statement, StartsWith("SELECT path"));
  EXPECT_TRUE(run.statement.ends_with("LIMIT :limit")) << run.statement;
}

TEST(SqlMethod, PassesItsLimits) {
  SqlRun run;
  run.context.query_params = {{"section", "linux"}};
  (void)run(kRecent);
  EXPECT_EQ(run.limits.rows, 100U);
  EXPECT_EQ(run.limits.time, 500);
}

TEST(SqlMethod, BindsTypedParametersOfTheRequest) {
  SqlRun run;
  run.context.query_params = {
      {"section", "linux"}, {"limit", "5"}, {"since", "2.5"}, {"all", "true"}, {"other", "x"}};
  (void)run(kRecent);
  EXPECT_EQ(run.bound("section"), Document::from(Tree("linux")));
  EXPECT_EQ(run.bound("limit"), Document::from(Tree(5)));
  EXPECT_EQ(run.bound("since"), Document::from(Tree(2.5)));
  EXPECT_EQ(run.bound("all"), Document::from(Tree(true)));
}

TEST(SqlMethod, ReadsNoInputButItsParameters) {
  SqlRun run;
  run.context.query_params = {{"section", "linux"}};
  (void)run(kRecent);
  EXPECT_THAT(run.context.log,
              ElementsAre("arg:0", "param:section", "param:limit", "param:since", "param:all"));
}

TEST(SqlMethod, AbsentParametersHaveTheirDefaults) {
  SqlRun run;
  run.context.query_params = {{"section", ""}};
  (void)run(kRecent);
  EXPECT_EQ(run.bound("section"), Document::from(Tree("")));
  EXPECT_EQ(run.bound("limit"), Document::from(Tree(20)));
  EXPECT_EQ(run.bound("since"), Document());
  EXPECT_EQ(run.bound("all"), Document::from(Tree(false)));
}

TEST(SqlMethod, MissingParameterIsABadRequestThatNamesIt) {
  SqlRun run;
  EXPECT_EQ(run.error(), "HTTP 400 parameter 'section' is missing");
}

class BadParameter : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadParameter, IsABadRequestThatNamesIt) {
  SqlRun run;
  run.context.query_params = {{"section", "x"}, {GetParam().first, GetParam().second}};
  EXPECT_THAT(run.error(), StartsWith("HTTP 400 parameter '" + std::string(GetParam().first) +
                                      "' has to be of type"));
}
INSTANTIATE_TEST_SUITE_P(Sql, BadParameter,
                         ::testing::Values(std::pair{"limit", "five"}, std::pair{"limit", ""},
                                           std::pair{"limit", "5 "}, std::pair{"limit", "+5"},
                                           std::pair{"limit", "5; DROP TABLE page"},
                                           std::pair{"limit", "9223372036854775808"},
                                           std::pair{"limit", "1.5"}, std::pair{"since", "nan"},
                                           std::pair{"since", "1e999"}, std::pair{"all", "yes"}));

TEST(SqlMethod, TakesNamedArgumentsOfACall) {
  SqlRun run;
  run.context.query_params = {{"limit", "7"}};  // of the page, not of this call
  run.context.arguments = {Tree::map().set("section", 12).set("all", 1)};
  (void)run(kRecent);
  EXPECT_EQ(run.bound("section"), Document::from(Tree("12")));
  EXPECT_EQ(run.bound("limit"), Document::from(Tree(20)));
  EXPECT_EQ(run.bound("all"), Document::from(Tree(true)));
}

TEST(SqlMethod, TakesPositionalArgumentsInTheirOrder) {
  SqlRun run;
  run.context.arguments = {Tree("linux"), Tree(3.0)};
  (void)run(kRecent);
  EXPECT_EQ(run.bound("section"), Document::from(Tree("linux")));
  EXPECT_EQ(run.bound("limit"), Document::from(Tree(3)));
}

TEST(SqlMethod, UnknownArgumentIsAnError) {
  SqlRun run;
  run.context.arguments = {Tree::map().set("section", "x").set("limt", 1)};
  EXPECT_EQ(run.error(), "sql/recent.sql: there is no parameter 'limt'");
}

TEST(SqlMethod, ArgumentOfAnotherTypeIsABadRequest) {
  SqlRun run;
  run.context.arguments = {Tree::map().set("section", Tree::list({1}))};
  EXPECT_EQ(run.error(), "HTTP 400 parameter 'section' has to be of type text");
}

struct Refused {
  const char* text;
  const char* reason;
};
class RefusesSql : public ::testing::TestWithParam<Refused> {};
TEST_P(RefusesSql, WithFileAndLine) {
  SqlRun run;
  EXPECT_THAT(run.error(GetParam().text), HasSubstr(GetParam().reason));
}
INSTANTIATE_TEST_SUITE_P(
    Sql, RefusesSql,
    ::testing::Values(
        Refused{"", "sql/recent.sql:1: no statement"}, Refused{"-- rows: 5\n;", ":2: no statement"},
        Refused{"DELETE FROM page", ":1: a SQL method only reads"},
        Refused{"\n pragma x", ":2: a SQL method only reads"},
        Refused{"WITH x AS (SELECT 1)\nDELETE FROM page", ":2: a SQL method only reads"},
        Refused{"SELECT 1;\nSELECT 2", ":2: more than one statement"},
        Refused{"SELECT 1; DROP TABLE page", "more than one statement"},
        Refused{"(SELECT 1)", "a statement begins with"}, Refused{"SELECT ?1", "written as :name"},
        Refused{"SELECT @x", "written as :name"}, Refused{"SELECT $x", "written as :name"},
        Refused{"SELECT\n:x", ":2: parameter ':x' is not declared"},
        Refused{"-- param: x text\nSELECT ':x'", "does not use parameter 'x'"},
        Refused{"-- param: x text\n-- param: x text\nSELECT :x",
                ":2: parameter 'x' is declared twice"},
        Refused{"-- param: x string\nSELECT :x", "unknown type 'string'"},
        Refused{"-- param: x intger\nSELECT :x", "did you mean 'integer'"},
        Refused{"-- param: x integer = ten\nSELECT :x", "the default of 'x' is no integer"},
        Refused{"-- param: x integer 10\nSELECT :x", "name type [= default]"},
        Refused{"-- param:\nSELECT 1", "name type [= default]"},
        Refused{"-- parm: x text\nSELECT :x", ":1: unknown 'parm'; did you mean 'param'"},
        Refused{"-- rows: many\nSELECT 1", "rows has to be a number"},
        Refused{"-- rows: 0\nSELECT 1", "rows has to be a number"},
        Refused{"-- timeout: 2\nSELECT 1", "timeout: "},
        Refused{"-- timeout: forever\nSELECT 1", "timeout has to be from 1ms to 1m"},
        Refused{"SELECT 1\n-- rows: 5", ":2: 'rows:' has to stand before the statement"},
        Refused{"SELECT 'x", "text without its '"}, Refused{"SELECT 1 /* x", "without its */"}));

TEST(SqlMethod, TextDefaultsMayBeQuoted) {
  SqlRun run;
  (void)run("-- param: x text = ' a b '\nSELECT :x");
  EXPECT_EQ(run.bound("x"), Document::from(Tree(" a b ")));
}

TEST(SqlMethod, QuotesMayContainTheirOwn) {
  SqlRun run;
  EXPECT_EQ(run.error("SELECT 'it''s; :x', \"a\"\"b\", [c d], `e` FROM t"), "no error");
}

TEST(SqlMethod, OrdinaryCommentsMayHaveColons) {
  SqlRun run;
  EXPECT_EQ(run.error("-- Note: this is slow\n-- see also: nothing\nSELECT 1 -- why: because"),
            "no error");
}

TEST(SqlMethod, ReplaceIsAFunctionToo) {
  SqlRun run;
  EXPECT_EQ(run.error("SELECT replace('a', 'b', 'c') FROM t"), "no error");
}

}  // namespace
}  // namespace larder::site
