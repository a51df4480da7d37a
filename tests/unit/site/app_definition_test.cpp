#include "larder/site/app_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "fake_context.h"

namespace larder::site {
namespace {

using ::testing::HasSubstr;

struct NumberView final : View {
  explicit NumberView(int n) : number(n) {}
  Value render(RenderContext&) override { return Document::from(Tree(number)); }
  int number;
};

struct NoAction final : Action {
  Page run(ActionContext&) override { return {}; }
};

struct FakeApp final : App {
  explicit FakeApp(std::function<void(AppBuilder&)> with) : define_with(std::move(with)) {}
  void define(AppBuilder& builder) override { define_with(builder); }
  std::function<void(AppBuilder&)> define_with;
};

Result<AppDefinition> defined(std::function<void(AppBuilder&)> with) {
  FakeApp app(std::move(with));
  return defineApp(app, 77, "app.so");
}

AppDefinition native() {
  auto app = defined([](AppBuilder& builder) {
    builder.type("document", "page");
    builder.view("page", "document", std::make_unique<NumberView>(1));
    builder.view("about", "", std::make_unique<NumberView>(2));
    builder.action("save", "document", std::make_unique<NoAction>());
    builder.action("post", "", std::make_unique<NoAction>());
    builder.route("GET", "/about", "about");
    builder.route("POST", "/about", "post");
    builder.schema(1, "CREATE TABLE a(id INTEGER PRIMARY KEY)");
    builder.schema(2, "CREATE TABLE b(id INTEGER PRIMARY KEY)");
  });
  return *std::move(app);
}

/// A folder's definition that declares a view and an action of the library.
AppDefinition declaring(std::string view, std::string type) {
  AppDefinition folder;
  folder.library = "app.so";
  ViewDefinition declared;
  declared.name = std::move(view);
  declared.type = std::move(type);
  declared.permission = "member";
  declared.caching.max_age = 5000;
  declared.origin = "app.toml:3";
  folder.views.push_back(std::move(declared));
  return folder;
}

TEST(DefineApp, CollectsWhatTheAppRegisters) {
  const AppDefinition app = native();
  EXPECT_EQ(app.views.size(), 2U);
  EXPECT_EQ(app.findView("page", "document")->kind, ViewKind::native);
  EXPECT_NE(app.findAction("save", "document"), nullptr);
  EXPECT_EQ(app.routes[1].method, "POST");
  EXPECT_EQ(app.schema[1].version, 2);
  EXPECT_TRUE(app.check());
}

TEST(DefineApp, LedgerL14_RevisionIsTheBuildOfTheLibrary) {
  EXPECT_EQ(native().findView("about", "")->revision, 77U);
}

TEST(DefineApp, ExceptionIsAnErrorThatNamesTheLibrary) {
  const auto app = defined([](AppBuilder&) { throw std::runtime_error("no licence"); });
  ASSERT_FALSE(app);
  EXPECT_EQ(app.error().message, "app.so: no licence");
}

struct BadRegistration {
  std::function<void(AppBuilder&)> with;
  const char* message;
};
class RefusesRegistration : public ::testing::TestWithParam<BadRegistration> {};
TEST_P(RefusesRegistration, SayingWhat) {
  const auto app = defined(GetParam().with);
  ASSERT_FALSE(app);
  EXPECT_THAT(app.error().message, HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    App, RefusesRegistration,
    ::testing::Values(
        BadRegistration{[](AppBuilder& b) { b.view("a", "", nullptr); }, "view 'a' is null"},
        BadRegistration{[](AppBuilder& b) { b.view("a/b", "", std::make_unique<NumberView>(1)); },
                        "a name is made of"},
        BadRegistration{[](AppBuilder& b) {
                          b.view("a", "t", std::make_unique<NumberView>(1));
                          b.view("a", "t", std::make_unique<NumberView>(1));
                        },
                        "view 'a' of type 't' is defined twice"},
        BadRegistration{[](AppBuilder& b) { b.action("a", "", nullptr); }, "action 'a' is null"},
        BadRegistration{[](AppBuilder& b) { b.route("get", "/a", "a"); }, "'get' is no method"},
        BadRegistration{[](AppBuilder& b) { b.route("GET", "/{a", "a"); }, "a whole segment"},
        BadRegistration{[](AppBuilder& b) {
                          b.type("t", "a");
                          b.type("t", "b");
                        },
                        "type 't' is defined twice"}));

TEST(AppDefinition, ViewOfATypePrecedesTheOneForAll) {
  AppDefinition app;
  for (const char* type : {"", "document"}) {
    ViewDefinition view;
    view.name = "page";
    view.type = type;
    app.views.push_back(view);
  }
  EXPECT_EQ(app.findView("page", "document")->type, "document");
  EXPECT_EQ(app.findView("page", "folder")->type, "");
  EXPECT_EQ(app.findView("other", "folder"), nullptr);
}

TEST(AppDefinition, DeclaredNativeViewKeepsItsSettingsAndGetsTheCode) {
  AppDefinition app = declaring("page", "document");
  const auto added = app.addNative(native());
  ASSERT_TRUE(added) << added.error().message;
  const ViewDefinition& page = *app.findView("page", "document");
  EXPECT_NE(page.view, nullptr);
  EXPECT_EQ(page.revision, 77U);
  EXPECT_EQ(page.permission, "member");
  EXPECT_EQ(page.caching.max_age, 5000);
  EXPECT_EQ(app.views.size(), 2U);
}

TEST(AppDefinition, DeclaredActionGetsItsPermissionAndTheCode) {
  AppDefinition app;
  app.library = "app.so";
  app.actions.push_back({"save", "document", "editor", nullptr, "app.toml:9"});
  ASSERT_TRUE(app.addNative(native()));
  EXPECT_EQ(app.findAction("save", "document")->permission, "editor");
  EXPECT_NE(app.findAction("save", "document")->action, nullptr);
}

TEST(AppDefinition, DeclaredViewThatTheLibraryLacksIsAnError) {
  AppDefinition app = declaring("pages", "document");
  const auto added = app.addNative(native());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message,
            "app.toml:3: view 'pages' of type 'document' is not in the library 'app.so'");
}

TEST(AppDefinition, ViewDefinedInFolderAndLibraryIsAnErrorThatNamesBoth) {
  AppDefinition app = declaring("page", "document");
  app.views[0].kind = ViewKind::script;
  app.views[0].view = std::make_shared<NumberView>(3);
  const auto added = app.addNative(native());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message,
            "app.toml:3: view 'page' of type 'document' is also defined by app.so");
}

TEST(AppDefinition, SchemaVersionsHaveNoGaps) {
  AppDefinition app = native();
  app.schema[1].version = 3;
  const auto fits = app.check();
  ASSERT_FALSE(fits);
  EXPECT_THAT(fits.error().message, HasSubstr("schema version 3 where 2 is expected"));
}

TEST(AppDefinition, RouteToNothingIsAnErrorWithTheNearestName) {
  AppDefinition app = native();
  app.routes.push_back({"GET", "/x", "abuot", "app.toml:7"});
  const auto fits = app.check();
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().message,
            "app.toml:7: route GET /x names the view 'abuot', which is not defined for routes; did "
            "you mean 'about'?");
}

TEST(AppDefinition, AnActionWhoseFormIsGuardedNeedsAPermission) {
  AppDefinition folder = declaring("page", "document");
  folder.views.front().name = "save";
  folder.views.front().permission = "editor";
  folder.views.front().view = std::make_shared<NumberView>(3);
  auto open = folder;
  const auto refused = open.addNative(native());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the view of this name needs 'editor'"));
  folder.actions.push_back({"save", "document", "editor", nullptr, "app.toml:9"});
  const auto taken = folder.addNative(native());
  EXPECT_TRUE(taken) << taken.error().message;
}

}  // namespace
}  // namespace larder::site
