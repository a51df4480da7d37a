#include "larder/site/app_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fake_context.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/temp_dir.h"

namespace larder::site {
namespace {

using test::FakeContext;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kApp = R"(# A handbook.
[[type]]
name = "document"
default_view = "page"

[[view]]
name = "page"
for = "document"
kind = "template"
file = "templates/page.tpl"
model = "page_model"
include = { related = "related" }
permission = "member"
manager = "fast"
max_age = "10m"
stale_while_revalidate = "30s"
request_vars = ["param:sort", "param:page"]

[[view]]
name = "page_model"
kind = "script"
file = "scripts/page.lua"

[[view]]
name = "related"
kind = "script"
file = "scripts/related.lua"
time = "2s"
memory = "8M"
steps = 1000000

[[view]]
name = "recent"
kind = "sql"
file = "sql/recent.sql"

[[route]]
pattern = "/recent/{section}"
view = "recent"
)";

struct AppRun {
  testing::TempDir dir;
  testing::ManualClock clock;
  AppFolder folder{dir.path(), clock};

  AppRun() {
    dir.write("app.toml", kApp);
    dir.write("templates/page.tpl", "{{>head.tpl}}<h1>{{title}}</h1>{{related}}");
    dir.write("templates/head.tpl", "<!doctype html>\n");
    dir.write("scripts/page.lua", "return {title = 'A & B'}");
    dir.write("scripts/related.lua", "return '<ul></ul>'");
    dir.write("sql/recent.sql", "SELECT 1 AS one");
  }
  AppDefinition load() {
    auto app = folder.load();
    if (!app) throw std::runtime_error(app.error().message);
    return *std::move(app);
  }
  /// The error without the folder.
  std::string error() {
    const auto app = folder.load();
    if (app) return "no error";
    const std::string& message = app.error().message;
    EXPECT_THAT(message, StartsWith(dir.path() + "/"));
    return message.substr(std::min(message.size(), dir.path().size() + 1));
  }
  std::string errorOf(const std::string& app) {
    dir.write("app.toml", app);
    return error();
  }
  std::uint64_t revision(std::string_view view) {
    const AppDefinition app = load();
    return app.findView(view, "document")->revision;
  }
};

TEST(AppFolder, DefinesViewsOfAllFileKinds) {
  AppRun run;
  const AppDefinition app = run.load();
  ASSERT_EQ(app.views.size(), 4U);
  EXPECT_EQ(app.findView("page", "document")->kind, ViewKind::templated);
  EXPECT_EQ(app.findView("related", "document")->kind, ViewKind::script);
  EXPECT_EQ(app.findView("recent", "")->kind, ViewKind::sql);
  EXPECT_EQ(app.findView("page", "folder"), nullptr);
}

TEST(AppFolder, ViewsWorkTogether) {
  AppRun run;
  const AppDefinition app = run.load();
  FakeContext context;
  context.on_call = [&](std::string_view, std::string_view view, auto) {
    FakeContext inner;
    return app.findView(view, "document")->view->render(inner);
  };
  EXPECT_EQ(app.findView("page", "document")->view->render(context).page()->body,
            "<!doctype html>\n<h1>A &amp; B</h1><ul></ul>");
}

TEST(AppFolder, ReadsWhatAViewSaysAboutItsCaching) {
  AppRun run;
  const AppDefinition app = run.load();
  const ViewDefinition& page = *app.findView("page", "document");
  EXPECT_EQ(page.permission, "member");
  EXPECT_EQ(page.caching.manager, "fast");
  EXPECT_EQ(page.caching.max_age, 600'000);
  EXPECT_EQ(page.caching.stale_while_revalidate, 30'000);
  EXPECT_EQ(page.caching.stale_if_error, std::nullopt);
  EXPECT_THAT(page.caching.request_vars, ElementsAre("param:page", "param:sort"));
}

TEST(AppFolder, ReadsTypesAndRoutes) {
  AppRun run;
  const AppDefinition app = run.load();
  EXPECT_EQ(app.findType("document")->default_view, "page");
  ASSERT_EQ(app.routes.size(), 1U);
  EXPECT_EQ(app.routes[0].method, "GET");
  EXPECT_EQ(app.routes[0].pattern, "/recent/{section}");
  EXPECT_EQ(app.routes[0].name, "recent");
}

TEST(AppFolder, ListsTheFilesOfAView) {
  AppRun run;
  EXPECT_THAT(run.load().findView("page", "document")->files,
              ElementsAre(run.dir.file("templates/page.tpl"), run.dir.file("templates/head.tpl")));
}

TEST(AppFolder, LimitsOfAScriptHold) {
  AppRun run;
  run.dir.write("scripts/related.lua", "while true do end");
  const AppDefinition app = run.load();
  FakeContext context;
  try {
    (void)app.findView("related", "")->view->render(context);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("limit of 1000000 steps"));
  }
}

// --- Revisions

TEST(AppFolder, LedgerL14_RevisionIsThatOfTheFiles) {
  AppRun run;
  const auto before = run.revision("page");
  EXPECT_EQ(run.revision("page"), before);
  run.dir.write("templates/page.tpl", "{{>head.tpl}}<h2>{{title}}</h2>{{related}}");
  EXPECT_NE(run.revision("page"), before);
}

TEST(AppFolder, LedgerL14_RevisionChangesWithAnIncludedFile) {
  AppRun run;
  const auto before = run.revision("page");
  run.dir.write("templates/head.tpl", "<!doctype html><meta charset=utf-8>\n");
  EXPECT_NE(run.revision("page"), before);
}

TEST(AppFolder, LedgerL14_RevisionChangesWithTheModelAndIncludes) {
  AppRun run;
  const auto before = run.revision("page");
  std::string app = kApp;
  app.replace(app.find("model = \"page_model\""), 20, "model = \"related\"");
  run.dir.write("app.toml", app);
  const auto with_model = run.revision("page");
  EXPECT_NE(with_model, before);
  app.replace(app.find("= \"related\" }"), 13, "= \"page_model\" }");
  run.dir.write("app.toml", app);
  EXPECT_NE(run.revision("page"), with_model);
}

TEST(AppFolder, LedgerL14_RevisionStaysWithWhatDoesNotMatter) {
  AppRun run;
  const auto before = run.revision("page");
  std::string app = kApp;
  app.replace(app.find("max_age = \"10m\""), 15, "max_age = \"20m\" # longer");
  run.dir.write("app.toml", app);
  run.dir.write("scripts/page.lua", "return {title = 'C'}");
  EXPECT_EQ(run.revision("page"), before);
}

// --- Edits

TEST(AppFolder, IsUnchangedUntilAFileIsEdited) {
  AppRun run;
  (void)run.load();
  EXPECT_FALSE(run.folder.changed());
  EXPECT_FALSE(run.folder.changed());
}

class NoticesEdit : public ::testing::TestWithParam<const char*> {};
TEST_P(NoticesEdit, OfAnyFileEvenOfTheSameSizeInTheSameInstant) {
  AppRun run;
  const std::string path = run.dir.file(GetParam());
  const auto time = std::filesystem::last_write_time(path);
  (void)run.load();
  std::string text(std::filesystem::file_size(path), ' ');
  run.dir.write(GetParam(), text);
  std::filesystem::last_write_time(path, time);
  EXPECT_TRUE(run.folder.changed());
}
INSTANTIATE_TEST_SUITE_P(App, NoticesEdit,
                         ::testing::Values("app.toml", "templates/page.tpl", "templates/head.tpl",
                                           "scripts/page.lua", "sql/recent.sql"));

TEST(AppFolder, NoticesAFileThatGoes) {
  AppRun run;
  (void)run.load();
  std::filesystem::remove(run.dir.file("templates/head.tpl"));
  EXPECT_TRUE(run.folder.changed());
}

TEST(AppFolder, AfterAnErrorWaitsForTheFileThatCausedIt) {
  AppRun run;
  std::filesystem::remove(run.dir.file("templates/head.tpl"));
  EXPECT_THAT(run.error(), StartsWith("templates/page.tpl:1: templates/head.tpl: No such file"));
  EXPECT_FALSE(run.folder.changed());
  run.dir.write("templates/head.tpl", "back");
  EXPECT_TRUE(run.folder.changed());
  EXPECT_EQ(run.error(), "no error");
}

TEST(AppFolder, WhatWasDefinedGoesOnWorkingAfterAnError) {
  AppRun run;
  const AppDefinition app = run.load();
  run.dir.write("scripts/page.lua", "return {");
  EXPECT_THAT(run.error(), StartsWith("scripts/page.lua:1: "));
  FakeContext context;
  EXPECT_EQ(app.findView("page_model", "")->view->render(context).document().root()["title"].text(),
            "A & B");
}

// --- Errors

struct BadFile {
  const char* file;
  const char* text;
  const char* message;
};
class NamesFaultOfFile : public ::testing::TestWithParam<BadFile> {};
TEST_P(NamesFaultOfFile, WithItsLine) {
  AppRun run;
  run.dir.write(GetParam().file, GetParam().text);
  EXPECT_THAT(run.error(), StartsWith(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    App, NamesFaultOfFile,
    ::testing::Values(BadFile{"scripts/page.lua", "\nlocal = 1", "scripts/page.lua:2: "},
                      BadFile{"templates/page.tpl", "{{related}}\n<p {{x}}>",
                              "templates/page.tpl:2: {{x}} names an attribute"},
                      BadFile{"templates/page.tpl", "no include",
                              "app.toml:10: view: templates/page.tpl: include 'related'"},
                      BadFile{"templates/head.tpl", "\n\n{{#x}}",
                              "templates/head.tpl:3: section 'x' is not closed"},
                      BadFile{"sql/recent.sql", "\nDELETE FROM x", "sql/recent.sql:2: "},
                      BadFile{"scripts/page.lua", "return '\xff'", "scripts/page.lua:1: not UTF-8"},
                      BadFile{"app.toml", "[[view]\nname = 1", "app.toml:1: "},
                      BadFile{"app.toml", "\nname = \"a\nb\"", "app.toml:2: "}));

struct BadApp {
  const char* text;
  const char* message;
};
class NamesFaultOfApp : public ::testing::TestWithParam<BadApp> {};
TEST_P(NamesFaultOfApp, WithItsLine) {
  AppRun run;
  EXPECT_THAT(run.errorOf(GetParam().text), StartsWith(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    App, NamesFaultOfApp,
    ::testing::Values(
        BadApp{"librari = \"x.so\"",
               "app.toml:1: app: unknown key 'librari'; did you mean 'library'?"},
        BadApp{"library = 5", "app.toml:1: app: 'library' has to be text in quotes"},
        BadApp{"[view]\nname = \"a\"", "app.toml:1: 'view' is written as tables: [[view]]"},
        BadApp{"[[type]]\nname = \"a\"", "app.toml:1: type: 'default_view' is missing"},
        BadApp{"[[type]]\nname = \"a\"\ndefault_view = \"p\"",
               "app.toml:1: type 'a' has the default view 'p', which is not defined"},
        BadApp{"[[view]]\nkind = \"script\"", "app.toml:1: view: 'name' is missing"},
        BadApp{"[[view]]\nname = \"a b\"\nkind = \"sql\"",
               "app.toml:2: view: 'a b': a name is made of"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"scrpt\"",
               "app.toml:3: view: unknown kind 'scrpt'; did you mean 'script'?"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"", "app.toml:1: view: 'file' is missing"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nfile = \"none.lua\"",
               "app.toml:4: view: none.lua: No such file"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nfile = \"../x.lua\"",
               "app.toml:4: view: file '../x.lua' is not below the app's folder"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nfile = \"/etc/passwd\"",
               "app.toml:4: view: file '/etc/passwd' is not below the app's folder"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"native\"",
               "app.toml:1: view 'a' is native, but the app names no library"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"native\"\nfile = \"x\"",
               "app.toml:4: view: 'file' is not for native views"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nmodel = \"x\"",
               "app.toml:4: view: 'model' is for templates"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"sql\"\nsteps = 5",
               "app.toml:4: view: 'steps' is for scripts"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"sql\"\nmax_age = 5",
               "app.toml:4: view: 'max_age' has to be a duration like \"90s\""},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"sql\"\nmax_age = \"5\"",
               "app.toml:4: view: 'max_age': \"5\" has no unit"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"sql\"\nmaxage = \"5s\"",
               "app.toml:4: view: unknown key 'maxage'; did you mean 'max_age'?"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nfile = \"scripts/page.lua\"\nmemory = "
               "\"1K\"",
               "app.toml:5: view: 'memory' has to be at least"},
        BadApp{"[[view]]\nname = \"a\"\nfor = \"none\"\nkind = \"script\"\nfile = "
               "\"scripts/page.lua\"",
               "app.toml:1: view 'a' of type 'none': there is no such type"},
        BadApp{"[[view]]\nname = \"a\"\nkind = \"script\"\nfile = \"scripts/page.lua\"\n"
               "[[view]]\nname = \"a\"\nkind = \"sql\"\n",
               "app.toml:6: view: 'a' is defined at app.toml:1, too"},
        BadApp{
            "[[view]]\nname = \"a\"\nkind = \"template\"\nfile = \"templates/head.tpl\"\nmodel = "
            "\"m\"",
            "app.toml:1: view 'a' uses the view 'm', which is not defined"},
        BadApp{"[[route]]\npattern = \"x\"\nview = \"a\"",
               "app.toml:2: route: 'x': a pattern begins with '/'"},
        BadApp{"[[route]]\npattern = \"/x/{a}b\"\nview = \"a\"",
               "app.toml:2: route: '/x/{a}b': a variable is"},
        BadApp{"[[route]]\npattern = \"/x//y\"\nview = \"a\"", "app.toml:2: route: '/x//y': empty"},
        BadApp{"[[route]]\npattern = \"/{a}/{a}\"\nview = \"a\"",
               "app.toml:2: route: '/{a}/{a}': variable {a}"},
        BadApp{"[[route]]\npattern = \"/x\"",
               "app.toml:1: route: names either a view or an action"},
        BadApp{"[[route]]\npattern = \"/x\"\nview = \"a\"\nmethod = \"POST\"",
               "app.toml:4: route: a view answers GET"},
        BadApp{"[[route]]\npattern = \"/x\"\nview = \"a\"",
               "app.toml:1: route GET /x names the view 'a', which is not defined for routes"},
        BadApp{"[[action]]\nname = \"save\"",
               "app.toml:1: action 'save' needs a library, and the app names none"}));

TEST(AppFolder, MissingAppFileIsAnErrorThatNamesIt) {
  AppRun run;
  std::filesystem::remove(run.dir.file("app.toml"));
  EXPECT_THAT(run.error(), StartsWith("app.toml: No such file"));
}

}  // namespace
}  // namespace larder::site
