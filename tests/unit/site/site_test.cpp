// What a site answers, and what of it is served again.
#include <functional>
#include <utility>

#include "site_fixture.h"

namespace larder::site {
namespace {

using larder::testing::MapCache;

struct FunctionAction final : Action {
  using Code = std::function<std::string(ActionContext&)>;
  explicit FunctionAction(Code action_code) : code(std::move(action_code)) {}
  Page run(ActionContext& context) override {
    Page page;
    page.body = code(context);
    return page;
  }
  Code code;
};

struct FunctionApp final : App {
  explicit FunctionApp(std::function<void(AppBuilder&)> with) : definition(std::move(with)) {}
  void define(AppBuilder& builder) override { definition(builder); }
  std::function<void(AppBuilder&)> definition;
};

class SiteTest : public WholeSiteTest {
 protected:
  SiteTest() { create("/a", "title"); }

  static void view(AppBuilder& app, std::string_view name, FunctionView::Code code,
                   std::string_view type = {}) {
    app.view(name, type, std::make_unique<FunctionView>(std::move(code)));
  }
  static void action(
      AppBuilder& app, std::string_view name,
      FunctionAction::Code code = [](ActionContext&) { return std::string(); }) {
    app.action(name, {}, std::make_unique<FunctionAction>(std::move(code)));
  }
  /// A library whose build stays the same whatever it defines, at /.
  void serve(std::function<void(AppBuilder&)> definition, const std::string& permission = {}) {
    FunctionApp app(std::move(definition));
    auto defined = defineApp(app, 1, "test");
    ASSERT_TRUE(defined) << defined.error().message;
    for (auto& its_view : defined->views) its_view.permission = permission;
    SiteConfig config;
    config.mounts = {{"/", std::make_shared<AppDefinition>(std::move(*defined))}};
    config.registry = registry_;
    const auto done = site_->configure(std::move(config));
    ASSERT_TRUE(done) << done.error().message;
  }
  struct Got {
    int status = 0;
    std::string body;
    bool hit = false;
    bool stored = false;
    bool is_private = false;
    Millis date = 0;
  };
  Got ask(const std::string& method, const std::string& path, const std::string& cookies = {}) {
    const auto reply = answer({.method = method, .path = path, .cookies = cookies});
    const auto page = reply.content();
    const bool hit = reply.outcome == Outcome::hit || reply.outcome == Outcome::hit_stale;
    return {page.status,  std::string(page.body), hit,
            reply.stored, reply.is_private,       page.last_modified};
  }
  Got get(const std::string& path) { return ask("GET", path); }
  /// The title of /a, as its page.
  void serveTitles() {
    serve([](AppBuilder& app) {
      view(
          app, "page", [](RenderContext& context) { return context.object()->title; }, "document");
      app.type("document", "page");
    });
    clock_.advance(10'000);
  }
  void setType(const std::string& path, const std::string& type) {
    shell(file(), {"UPDATE object SET type = '" + type + "' WHERE path = '" + path + "'"});
  }

  std::shared_ptr<MapCache> cache_ = std::make_shared<MapCache>();
  Policy policy_ = [] {
    Policy policy;
    policy.stale_while_revalidate = 60'000;
    return policy;
  }();
  ManagerPtr manager_ = std::make_shared<const CacheManager>(
      CacheManager::Identity{"/", "fast", "Map", true}, policy_, cache_, Waits::never);
  std::shared_ptr<const CacheManagerRegistry> registry_ =
      std::make_shared<const CacheManagerRegistry>(std::vector<ManagerPtr>{manager_},
                                                   std::vector<FailedManager>{});
};

std::string itemPage(RenderContext& context) {
  return "item " + std::string(context.pathVariable("id"));
}

TEST_F(SiteTest, LedgerL14_AViewAskedForByNameHasTheVariablesOfItsOwnRoute) {
  serve([](AppBuilder& app) {
    view(app, "show", itemPage);
    action(app, "save");
    app.route("POST", "/items/{key}", "save");
    app.route("GET", "/items/{id}", "show");
  });
  EXPECT_EQ(get("/items/6/@@show").body, "item 6");
  EXPECT_EQ(get("/items/6").body, "item 6");
}

TEST_F(SiteTest, LedgerL14_AlsoWhereThereIsAnObject) {
  create("/items");
  create("/items/6");
  serve([](AppBuilder& app) {
    view(app, "show", itemPage);
    app.type("document", "show");
    app.route("GET", "/items/{id}", "show");
  });
  EXPECT_EQ(get("/items/6/@@show").body, "item 6");
  EXPECT_EQ(get("/items/6").body, "item 6");
}

TEST_F(SiteTest, LedgerL14_ARouteWithOtherVariablesNeverMeetsTheOldPages) {
  serve([](AppBuilder& app) {
    view(app, "show", itemPage);
    app.route("GET", "/items/{id}", "show");
  });
  EXPECT_EQ(get("/items/6").body, "item 6");
  serve([](AppBuilder& app) {
    view(app, "show", itemPage);
    app.route("GET", "/items/{slug}", "show");
  });
  EXPECT_EQ(get("/items/6").body, "item ");
}

// An object exists for one way of asking and not for the other: at a routed path.
TEST_F(SiteTest, LedgerL14_ViewsOfOneNameForATypeAndForEverythingAreApart) {
  create("/items");
  create("/items/6");
  serve([](AppBuilder& app) {
    view(
        app, "show", [](RenderContext&) { return "of a document"; }, "document");
    view(app, "show", [](RenderContext&) { return "of a route"; });
    app.type("document", "show");
    app.route("GET", "/items/{id}", "show");
  });
  EXPECT_EQ(get("/items/6/@@show").body, "of a document");
  EXPECT_EQ(get("/items/6").body, "of a route");
  EXPECT_TRUE(get("/items/6").hit);
  EXPECT_EQ(get("/items/6/@@show").body, "of a document");
}

TEST_F(SiteTest, Semantics24_AnActionOnARouteEndsItsPages) {
  int version = 1;
  serve([&](AppBuilder& app) {
    view(app, "show", [&](RenderContext&) { return std::to_string(version); });
    action(app, "save", [&](ActionContext&) { return std::to_string(++version); });
    app.route("GET", "/items/{id}", "show");
    app.route("POST", "/items/{id}", "save");
  });
  EXPECT_EQ(get("/items/5").body, "1");
  EXPECT_TRUE(get("/items/5").hit);
  EXPECT_TRUE(get("/items/50").stored);
  EXPECT_EQ(ask("POST", "/items/5").status, 200);
  EXPECT_EQ(get("/items/5").body, "2");
  EXPECT_TRUE(get("/items/50").hit) << "another item's";
}

TEST_F(SiteTest, Semantics24_AnActionByNameEndsEveryViewOfItsObject) {
  int version = 1;
  serve([&](AppBuilder& app) {
    view(
        app, "page", [&](RenderContext&) { return std::to_string(version); }, "document");
    action(app, "publish", [&](ActionContext&) { return std::to_string(++version); });
    action(app, "fail", [](ActionContext&) -> std::string { throw HttpError{409, "no"}; });
    app.type("document", "page");
  });
  EXPECT_EQ(get("/a").body, "1");
  EXPECT_EQ(ask("POST", "/a/@@fail").status, 409);
  EXPECT_TRUE(get("/a").hit);
  EXPECT_EQ(ask("POST", "/a/@@publish").status, 200);
  EXPECT_EQ(get("/a").body, "2");
}

TEST_F(SiteTest, Semantics24_WhoLogsInOrOutEndsNoPages) {
  state_->addUser({"anna", "Anna", "correct horse", {}});
  serve([](AppBuilder& app) {
    view(
        app, "page", [](RenderContext&) { return "x"; }, "document");
    action(app, "login", [](ActionContext& context) {
      EXPECT_TRUE(context.logIn("anna", "correct horse"));
      return context.user() ? context.user()->login : "nobody";
    });
    action(app, "logout", [](ActionContext& context) {
      context.logOut();
      return context.user() ? context.user()->login : "nobody";
    });
    app.type("document", "page");
  });
  get("/a");
  EXPECT_EQ(ask("POST", "/a/@@login").body, "anna") << "the rest of the action is hers";
  EXPECT_TRUE(get("/a").hit);
  const auto session = state_->startSession(1);
  const auto cookies = std::string(kSessionCookie) + "=" + session.token;
  EXPECT_EQ(ask("POST", "/a/@@login", cookies).body, "anna");
  EXPECT_EQ(ask("POST", "/a/@@logout", cookies).body, "nobody");
  EXPECT_TRUE(get("/a").hit);
}

TEST_F(SiteTest, Semantics13_HeadIsAnsweredFromAnEntryAndNeverMakesOrReplacesOne) {
  serveTitles();
  EXPECT_EQ(ask("HEAD", "/a").body, "title");
  EXPECT_EQ(cache_->puts, 0U);
  EXPECT_FALSE(get("/a").hit);
  EXPECT_TRUE(ask("HEAD", "/a").hit);
  clock_.advance(policy_.max_age);
  EXPECT_TRUE(ask("HEAD", "/a").hit) << "stale";
  executor_.runAll();
  EXPECT_EQ(cache_->puts, 1U);
}

// Caches on the way cannot know who may see it.
TEST_F(SiteTest, Semantics38_WhatIsNotForEverybodyIsPrivate) {
  state_->addUser({"anna", "Anna", "correct horse", {"editor"}});
  const auto cookies = std::string(kSessionCookie) + "=" + state_->startSession(1).token;
  const auto define = [](AppBuilder& app) {
    view(app, "page", [](RenderContext&) { return "x"; });
    view(app, "theme", [](RenderContext& context) {
      return std::string(context.cookie("theme").value_or("none"));
    });
    view(app, "form", [](RenderContext& context) { return context.csrfToken(); });
  };
  serve(define);
  EXPECT_FALSE(ask("GET", "/@@page", cookies).is_private);
  EXPECT_TRUE(get("/@@theme").is_private);
  EXPECT_TRUE(ask("GET", "/@@theme", "theme=dark").is_private);
  EXPECT_TRUE(get("/@@theme").hit);
  EXPECT_TRUE(ask("GET", "/@@form", cookies).is_private);
  serve(define, "editor");
  EXPECT_EQ(get("/@@page").status, 401);
  EXPECT_TRUE(ask("GET", "/@@page", cookies).is_private);
}

TEST_F(SiteTest, LedgerL20_AnotherPageOfTheSameSecondHasNoDate) {
  serveTitles();
  const auto first = get("/a");
  EXPECT_EQ(first.date, clock_.wall());
  clock_.advance(300);
  retitle("/a", "second");
  const auto second = get("/a");
  EXPECT_EQ(second.body, "second");
  EXPECT_EQ(second.date, 0);
  retitle("/a", "third");
  clock_.advance(1'000);
  EXPECT_EQ(get("/a").date, clock_.wall());
}

TEST_F(SiteTest, LedgerL20_AClockThatWasSetBackGivesNoDateTwice) {
  serveTitles();
  const auto first = get("/a");
  clock_.jumpWall(-2'000);
  retitle("/a", "second");
  clock_.advance(2'000);
  const auto second = get("/a");
  EXPECT_EQ(second.body, "second");
  EXPECT_EQ(second.date, 0) << "and not " << first.date;
  retitle("/a", "third");
  clock_.advance(3'000);
  EXPECT_GT(get("/a").date, first.date);
}

TEST_F(SiteTest, LedgerL20_WithAnotherAppNoDateIsUsedTwice) {
  serveTitles();
  const auto first = get("/a");
  EXPECT_NE(first.date, 0);
  serve([](AppBuilder& app) {
    view(
        app, "other", [](RenderContext&) { return "another"; }, "document");
    app.type("document", "other");
  });
  const auto second = get("/a");
  EXPECT_EQ(second.body, "another");
  EXPECT_EQ(second.date, 0);
}

// Who logs in asks for another page under the same address.
TEST_F(SiteTest, LedgerL20_WhatDependsOnMoreThanTheAddressHasNoDate) {
  serve([](AppBuilder& app) {
    view(app, "theme", [](RenderContext& context) {
      return std::string(context.cookie("theme").value_or("none"));
    });
    view(app, "search",
         [](RenderContext& context) { return std::string(context.param("q").value_or("none")); });
    view(app, "brief", [](RenderContext& context) {
      context.maxAge(500);
      return std::string("x");
    });
  });
  clock_.advance(10'000);
  EXPECT_EQ(get("/@@theme").date, 0);
  EXPECT_EQ(get("/@@brief").date, 0);
  EXPECT_NE(get("/@@search").date, 0);
}

// The refresh waits in the executor while the object becomes another one.
TEST_F(SiteTest, LedgerL07_ARenderByARouteOfAnEarlierMomentIsNotStored) {
  serve([](AppBuilder& app) {
    view(
        app, "page",
        [](RenderContext& context) { return "a document: " + std::string(context.object()->type); },
        "document");
    view(
        app, "page",
        [](RenderContext& context) { return "a picture: " + std::string(context.object()->type); },
        "picture");
    app.type("document", "page");
    app.type("picture", "page");
  });
  EXPECT_EQ(get("/a").body, "a document: document");
  clock_.advance(policy_.max_age);
  EXPECT_TRUE(get("/a").hit) << "stale";
  setType("/a", "picture");
  const auto puts = cache_->puts.load();
  executor_.runAll();
  EXPECT_EQ(cache_->puts, puts);
  setType("/a", "document");
  EXPECT_EQ(get("/a").body, "a document: document");
}

TEST_F(SiteTest, AnInvalidationOfTheWholeSiteEndsWhatIsKnownOfItsAddresses) {
  serve([](AppBuilder& app) {
    view(
        app, "page", [](RenderContext&) { return "a document"; }, "document");
    view(
        app, "page", [](RenderContext&) { return "a picture"; }, "picture");
    app.type("document", "page");
    app.type("picture", "page");
  });
  EXPECT_EQ(get("/a").body, "a document");
  sly("UPDATE object SET type = 'picture' WHERE path = '/a'");
  EXPECT_EQ(get("/a").body, "a picture") << log_;
}

TEST_F(SiteTest, Semantics20_AnActionSeesItsOwnEditsAndPartsMadeOfThem) {
  serve([](AppBuilder& app) {
    view(
        app, "page", [](RenderContext& context) { return context.object()->title; }, "document");
    app.type("document", "page");
    action(app, "twice", [](ActionContext& context) {
      std::string seen = context.object()->title;
      for (const char* title : {"first", "second"}) {
        context.edit([&](Edit& edit) {
          Object object = *edit.open("/a");
          object.title = title;
          edit.update(object, 0);
        });
        seen += ", " + context.object()->title + " " +
                std::string(context.call("/a", "page", {}).page()->body);
      }
      return seen;
    });
  });
  EXPECT_EQ(get("/a").body, "title");
  EXPECT_EQ(ask("POST", "/a/@@twice").body, "title, first first, second second");
  EXPECT_EQ(get("/a").body, "second");
}

TEST_F(SiteTest, LedgerL11_InsideAnEditNothingIsReadButThroughIt) {
  serve([](AppBuilder& app) {
    view(
        app, "page", [](RenderContext& context) { return context.object()->title; }, "document");
    app.type("document", "page");
    action(app, "save", [](ActionContext& context) {
      int refused = 0;
      context.edit([&](Edit&) {
        for (const auto& read : std::initializer_list<std::function<void()>>{
                 [&] { (void)context.object(); }, [&] { (void)context.call("/a", "page", {}); }}) {
          try {
            read();
          } catch (const std::logic_error&) {
            ++refused;
          }
        }
      });
      return std::to_string(refused) + " " + context.object()->title;
    });
  });
  EXPECT_EQ(get("/a").body, "title");
  EXPECT_EQ(ask("POST", "/a/@@save").body, "2 title");
}

TEST_F(SiteTest, LedgerL15_APageThatGoesOnAfterAFailedReadIsNotStored) {
  serve([](AppBuilder& app) {
    view(app, "broken", [](RenderContext&) -> std::string { throw std::runtime_error("broken"); });
    const auto goOn = [](RenderContext& context, const std::function<void()>& read) {
      (void)context.path();
      try {
        read();
      } catch (const std::exception&) {
        return std::string("went on");
      }
      return std::string("nothing failed");
    };
    view(app, "part", [goOn](RenderContext& context) {
      return goOn(context, [&] { (void)context.call("/", "broken", {}); });
    });
    view(app, "row", [goOn](RenderContext& context) {
      return goOn(context, [&] { (void)context.row("nothing", 1); });
    });
    view(app, "query", [goOn](RenderContext& context) {
      return goOn(context, [&] { (void)context.query("SELECT", {}, {}); });
    });
  });
  for (const char* view : {"part", "row", "query"}) {
    const auto got = get(std::string("/@@") + view);
    EXPECT_EQ(got.body, "went on") << view;
    EXPECT_FALSE(got.stored) << view;
  }
}

TEST_F(SiteTest, Semantics19_InvalidatingAManagerReachesAllThatItServes) {
  serveTitles();
  EXPECT_FALSE(get("/a").hit);
  // Another manager over the same cache, as a tiered one has it.
  const auto other = std::make_shared<const CacheManager>(
      CacheManager::Identity{"/", "both", "Map", true}, policy_, cache_, Waits::never);
  registry_ = std::make_shared<const CacheManagerRegistry>(std::vector<ManagerPtr>{other},
                                                           std::vector<FailedManager>{});
  serveTitles();
  get("/a");
  EXPECT_TRUE(get("/a").hit);
  const Change change{other->scope()};
  ASSERT_TRUE(store_->ledger().append({&change, 1}));
  EXPECT_FALSE(get("/a").hit);
}

}  // namespace
}  // namespace larder::site
