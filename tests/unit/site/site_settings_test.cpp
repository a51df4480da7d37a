// What a new configuration of a site does with what is stored already.
#include <map>
#include <utility>

#include "larder/cache/rules.h"
#include "site_fixture.h"

namespace larder::site {
namespace {

using larder::testing::MapCache;

std::string shownQuery(RenderContext& context) {
  return std::string(context.param("q").value_or("(none)"));
}

class SiteSettingsTest : public WholeSiteTest {
 protected:
  SiteSettingsTest() { view("page", shownQuery); }

  void view(const std::string& name, FunctionView::Code code, std::uint64_t revision = 1) {
    ViewDefinition definition;
    definition.name = name;
    definition.revision = revision;
    definition.view = std::make_shared<FunctionView>(std::move(code));
    views_.insert_or_assign(name, std::move(definition));
  }
  /// What the fields below say.
  void configure() {
    auto app = std::make_shared<AppDefinition>();
    for (const auto& [name, definition] : views_) app->views.push_back(definition);
    std::vector<ManagerPtr> managers;
    for (const auto& [id, cache] : caches_) {
      managers.push_back(
          std::make_shared<const CacheManager>(CacheManager::Identity{"/", id, "Map", id == "fast"},
                                               policies_[id], cache, Waits::never));
    }
    SiteConfig config;
    for (const auto& path : mounts_) config.mounts.push_back({path, app});
    config.registry = std::make_shared<const CacheManagerRegistry>(std::move(managers),
                                                                   std::vector<FailedManager>{});
    config.rules = std::make_shared<const RuleSet>(rules_);
    const auto done = site_->configure(std::move(config));
    ASSERT_TRUE(done) << done.error().message;
  }
  void restart() {
    site_.reset();
    site_ = makeSite();
    configure();
  }
  struct Got {
    std::string body;
    bool hit = false;
    Millis ttl = 0;
  };
  Got get(const std::string& query, const std::string& path = "/@@page") {
    const auto reply = answer({.path = path, .query = query});
    executor_.runAll();
    return {std::string(reply.content().body), reply.outcome == Outcome::hit, reply.ttl};
  }
  bool hits(const std::string& query) { return get(query).hit; }

  std::map<std::string, ViewDefinition> views_;
  std::vector<std::string> mounts_ = {"/"};
  std::vector<Rule> rules_;
  std::map<std::string, Policy> policies_;
  std::map<std::string, std::shared_ptr<MapCache>> caches_ = {
      {"fast", std::make_shared<MapCache>()}, {"other", std::make_shared<MapCache>()}};
};

TEST_F(SiteSettingsTest, LedgerL14_WhatWasRenderedUnderOtherNormalisersIsNotServed) {
  configure();
  EXPECT_EQ(get("q=ABC").body, "ABC");
  policies_["fast"].normalise = {"param:q lower"};
  configure();
  EXPECT_EQ(get("q=ABC").body, "abc");
  policies_["fast"].normalise = {};
  configure();
  EXPECT_EQ(get("q=ABC").body, "ABC");
}

TEST_F(SiteSettingsTest, LedgerL14_APageIsMadeAnewWhenARuleNormalisesForAPartOfIt) {
  view("whole", [](RenderContext& context) {
    return std::string(context.call("/", "page", {}).page()->body);
  });
  configure();
  EXPECT_EQ(get("q=ABC", "/@@whole").body, "ABC");
  rules_ = {{.pattern = "/**",
             .view = "page",
             .settings = {{"normalise", std::vector<std::string>{"param:q lower"}, ""}}}};
  configure();
  EXPECT_EQ(get("q=ABC", "/@@whole").body, "abc");
}

TEST_F(SiteSettingsTest, LedgerL14_WhatWasStoredStrippedOfItsCookieIsNotServedOnceItMayNot) {
  policies_["fast"].strip_set_cookie = true;
  configure();
  (void)get("q=a");
  EXPECT_TRUE(hits("q=a"));
  policies_["fast"].strip_set_cookie = false;
  configure();
  EXPECT_FALSE(hits("q=a"));
}

TEST_F(SiteSettingsTest, LedgerL14_AnAppMountedElsewhereDoesNotMeetYesterdaysPages) {
  view("page", [](RenderContext& context) { return std::string(context.appPath()); });
  mounts_ = {"/p"};
  configure();
  EXPECT_EQ(get("", "/p/@@page").body, "/p");
  store_->edit([](Edit& edit) {
    Object object;
    object.path = "/p";
    object.type = "document";
    edit.create(object);
  });
  EXPECT_EQ(get("", "/p/@@page").body, "/p");
  mounts_ = {"/"};
  configure();
  EXPECT_EQ(get("", "/p/@@page").body, "/");
}

TEST_F(SiteSettingsTest, Semantics42_OtherSettingsLeaveWhatIsStored) {
  configure();
  (void)get("q=a");
  policies_["fast"].max_age = 7'200'000;
  policies_["fast"].max_variants = 5;
  configure();
  EXPECT_TRUE(hits("q=a"));
}

TEST_F(SiteSettingsTest, Semantics42_AShorterMaxAgeHoldsAndIsShownForWhatIsStoredAlready) {
  configure();
  (void)get("q=a");
  policies_["fast"].max_age = 60'000;
  configure();
  const auto got = get("q=a");
  EXPECT_TRUE(got.hit);
  EXPECT_EQ(got.ttl, 60'000);
  policies_["fast"].max_age = 0;
  configure();
  EXPECT_FALSE(hits("q=a"));
}

TEST_F(SiteSettingsTest, LedgerL15_ANormaliserMakesOneEntryAlsoWhereTheRawNameWasKnown) {
  configure();
  (void)get("q=a");
  policies_["fast"].normalise = {"param:q lower"};
  configure();
  (void)get("q=a");
  EXPECT_TRUE(hits("q=A"));
  restart();
  EXPECT_TRUE(hits("q=A"));
}

TEST_F(SiteSettingsTest, LedgerL15_WhatOtherCodeReadSplitsNothing) {
  configure();
  (void)get("q=a");
  view(
      "page", [](RenderContext&) { return std::string("x"); }, 2);
  configure();
  (void)get("q=a");
  EXPECT_TRUE(hits("q=b"));
}

TEST_F(SiteSettingsTest, LedgerL15_NamesAreKeptForTheViewsThatAreServedAlone) {
  configure();
  (void)get("q=a");
  ASSERT_EQ(state_->learned().size(), 1U);
  view("page", shownQuery, 2);
  configure();
  EXPECT_TRUE(state_->learned().empty());
}

TEST_F(SiteSettingsTest, LedgerL15_WhatAnEarlierProcessLearnedIsKnownAtOnce) {
  configure();
  (void)get("q=a");
  restart();
  EXPECT_TRUE(hits("q=a"));
}

TEST_F(SiteSettingsTest, Semantics25_AViewThatMovesToAnotherManagerLeavesNothingBehind) {
  view("stays", [](RenderContext&) { return std::string("x"); });
  configure();
  (void)get("q=a");
  (void)get("", "/@@stays");
  EXPECT_EQ(caches_["fast"]->size(), 2U);
  rules_ = {{.pattern = "/**", .view = "page", .manager = "other"}};
  configure();
  EXPECT_EQ(caches_["fast"]->size(), 1U);
  EXPECT_TRUE(get("", "/@@stays").hit);
  (void)get("q=a");
  EXPECT_EQ(caches_["other"]->size(), 1U);
  rules_.clear();
  configure();
  EXPECT_EQ(caches_["other"]->size(), 0U);
  EXPECT_FALSE(hits("q=a"));
}

}  // namespace
}  // namespace larder::site
