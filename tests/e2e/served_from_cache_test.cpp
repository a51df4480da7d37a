// A real site served from cache: what visitors get is what an uncached server gives, whichever
// manager holds it.
#include <filesystem>
#include <fstream>

#include "site_fixture.h"

namespace larder::e2e {
namespace {

class ServedFromCache : public SiteTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    configureSite(GetParam());
    seed();
  }
};

TEST_P(ServedFromCache, SecondPassRendersNothingAndEqualsTheFirstAndAnUncachedServer) {
  const auto server = serve();
  const auto pages = crawl(port_);
  EXPECT_GT(pages.size(), 20U);
  const auto first = fetchAll(port_, pages);
  const auto second = fetchAll(port_, pages);
  const auto plain_port = testing::freePort();
  conf_ = uncachedConfiguration(plain_port);
  const auto plain_server = serve();
  const auto plain = fetchAll(plain_port, pages);
  for (const auto& page : pages) {
    EXPECT_TRUE(isHit(second.at(page))) << page << ": " << cacheStatus(second.at(page));
    EXPECT_EQ(first.at(page).body, second.at(page).body) << page;
    EXPECT_EQ(first.at(page).status, plain.at(page).status) << page;
    EXPECT_EQ(first.at(page).body, plain.at(page).body) << page;
  }
}

TEST_P(ServedFromCache, AnEditChangesJustThePagesThatItChangesOnAnUncachedServer) {
  const auto server = serve();
  const auto plain_port = testing::freePort();
  const auto cached_conf = conf_;
  conf_ = uncachedConfiguration(plain_port);
  const auto plain_server = serve();
  const auto pages = crawl(port_);
  const auto before = fetchAll(port_, pages);
  const auto plain_before = fetchAll(plain_port, pages);
  std::map<std::string, std::vector<ScopeId>> scopes;
  for (const auto& page : pages) scopes[page] = scopesOf(page);
  const auto [ignored, changes_before] = changesAfter(0);

  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  const std::string edited = "/handbook/concepts/validity";
  const auto saved = editor.edit(edited, "# Validity\n\nThis page has been changed by a test.\n");
  ASSERT_EQ(saved.status, 303) << saved.body;

  const auto after = fetchAll(port_, pages);
  const auto plain_after = fetchAll(plain_port, pages);
  std::size_t changed = 0;
  for (const auto& page : pages) {
    EXPECT_EQ(after.at(page).body, plain_after.at(page).body) << page;
    const bool differs = plain_before.at(page).body != plain_after.at(page).body;
    EXPECT_EQ(before.at(page).body != after.at(page).body, differs) << page;
    changed += differs ? 1 : 0;
    EXPECT_FALSE(differs && isHit(after.at(page))) << page;
  }
  EXPECT_GE(changed, 1U);
  // Every entry whose scopes the edit did not touch is still a hit.
  const auto [edit, ignored_too] = changesAfter(changes_before);
  EXPECT_FALSE(edit.empty());
  std::size_t untouched = 0;
  for (const auto& page : pages) {
    const bool touched = std::ranges::any_of(
        scopes.at(page), [&edit = edit](ScopeId scope) { return edit.contains(scope); });
    if (touched) continue;
    ++untouched;
    EXPECT_TRUE(isHit(after.at(page))) << page << ": " << cacheStatus(after.at(page));
  }
  EXPECT_GT(untouched, pages.size() / 3);
}

TEST_P(ServedFromCache, CommentsAnswerByteForByteTheSameCachedUncachedAndAfterARestart) {
  const std::vector<std::string> targets{"/api/v1/comments/1",       "/api/v1/comments/999",
                                         "/api/v1/comments/users/1", "/api/v1/comments/users/40",
                                         "/api/v1/comments/0",       "/api/v1/comments/12345"};
  std::map<std::string, HttpAnswer> first;
  {
    auto server = serve();
    first = fetchAll(port_, targets);
    for (const auto& target : targets) {
      const auto again = httpAsk(port_, "GET", target);
      EXPECT_TRUE(isHit(again)) << target;
      EXPECT_EQ(again.body, first[target].body);
      const auto plain = httpAsk(port_, "GET", target + "/no_cache");
      EXPECT_EQ(cacheStatus(plain), "") << target;
      EXPECT_EQ(plain.status, first[target].status);
      EXPECT_EQ(plain.body, first[target].body);
    }
    EXPECT_EQ(server.stop(), 0);
  }
  const auto server = serve();
  for (const auto& [target, answer] : fetchAll(port_, targets))
    EXPECT_EQ(answer.body, first[target].body) << target;
}

TEST_P(ServedFromCache, FaultA21_NoPageOfOneUserReachesAnother) {
  const auto server = serve();
  Visitor demo(port_);
  demo.logIn(kLogin, kPassword);
  EXPECT_NE(demo.get("/handbook/@@login").body.find("logged in as"), std::string::npos);
  Visitor anonymous(port_);
  for (int i = 0; i < 3; ++i) {
    const auto answer = anonymous.get("/handbook/@@login");
    EXPECT_EQ(answer.body.find("logged in as"), std::string::npos);
    EXPECT_EQ(headerOf(answer, "Set-Cookie"), "");
  }
  EXPECT_EQ(anonymous.get("/handbook/guide/first-steps/@@edit").status, 302);
}

TEST_P(ServedFromCache, AHitIsOneRoundTripOrNone) {
  if (!memcached_) return;  // that manager has no server
  const std::uint64_t trips = std::string_view(GetParam()) == "TieredManager" ? 0 : 5;
  const auto server = serve();
  // A page, and a document that leaves as JSON.
  for (const auto* target : {"/handbook/guide/first-steps", "/api/v1/comments/users/3"}) {
    httpAsk(port_, "GET", target);
    const auto gets = memcached_->stat("cmd_get");
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(isHit(httpAsk(port_, "GET", target))) << target;
    EXPECT_EQ(memcached_->stat("cmd_get") - gets, trips) << target;
  }
}

TEST_P(ServedFromCache, ExplainTellsWhereTheManagerKeepsWhatItHolds) {
  const std::map<std::string, std::string> levels{
      {"RAMCache", "in this process"},
      {"MemcachedManager", "outside of the process"},
      {"TieredManager", "in this process over one outside of it"}};
  const auto server = serve();
  const auto explained = manage("/@@explain?url=/handbook/guide/first-steps");
  EXPECT_EQ(explained.at("processes").at(0).at("level"), levels.at(GetParam()));
}

TEST_P(ServedFromCache, OnlyPagesOfAllVisitorsAreCompressed) {
  const auto server = serve();
  const std::string accept = "Accept-Encoding: gzip\r\n";
  for (int i = 0; i < 2; ++i) {  // a miss and a hit
    const auto page = httpAsk(port_, "GET", "/handbook/guide/first-steps", accept);
    EXPECT_EQ(headerOf(page, "Content-Encoding"), "gzip") << cacheStatus(page);
    // Holds a CSRF token.
    const auto form = httpAsk(port_, "GET", "/handbook/@@login", accept);
    EXPECT_EQ(headerOf(form, "Content-Encoding"), "") << form.head;
  }
}

TEST_P(ServedFromCache, AnEditedFileOfAnAppIsServedFromTheNextSecondOn) {
  const std::filesystem::path app = dir_.file("app");
  std::filesystem::copy(test::sourceDir() + "/sample-app/handbook", app,
                        std::filesystem::copy_options::recursive);
  handbook_ = app.string();
  configureSite(GetParam());
  const auto server = serve();
  const std::string page = "/handbook/guide/first-steps";
  httpAsk(port_, "GET", page);
  ASSERT_TRUE(isHit(httpAsk(port_, "GET", page)));
  std::ofstream(app / "templates" / "page.tpl", std::ios::app) << "<!-- edited -->\n";
  EXPECT_TRUE(eventually([&] {
    return httpAsk(port_, "GET", page).body.find("<!-- edited -->") != std::string::npos;
  }));
}

TEST_P(ServedFromCache, AConcurrentEditIsRefusedAndNothingTypedIsLost) {
  const auto server = serve();
  Visitor one(port_);
  one.logIn(kLogin, kPassword);
  const std::string page = "/handbook/guide/first-steps";
  const auto old_form = one.get(page + "/@@edit").body;
  ASSERT_EQ(one.edit(page, "# First steps\n\nThe first to save.\n").status, 303);
  const auto at = old_form.find("name=\"csrf\" value=\"") + 19;
  const auto refused =
      one.post(page + "/@@edit", {{"csrf", old_form.substr(at, old_form.find('"', at) - at)},
                                  {"revision", "1"},
                                  {"title", "First steps"},
                                  {"body", "what the second one typed"}});
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("what the second one typed"), std::string::npos);
  EXPECT_NE(refused.body.find("The first to save."), std::string::npos);
}

TEST_P(ServedFromCache, Semantics24_APostThatSucceedsInvalidatesItsObjectOneThatFailsDoesNot) {
  const auto server = serve();
  const std::string page = "/handbook/guide/first-steps";
  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  httpAsk(port_, "GET", page);
  ASSERT_TRUE(isHit(httpAsk(port_, "GET", page)));
  EXPECT_GE(editor.post(page + "/@@edit", {{"csrf", "wrong"}, {"body", "x"}}).status, 400);
  EXPECT_TRUE(isHit(httpAsk(port_, "GET", page)));
  ASSERT_EQ(editor.edit(page, "# First steps\n\nAgain.\n").status, 303);
  const auto after = httpAsk(port_, "GET", page);
  EXPECT_FALSE(isHit(after));
  EXPECT_NE(after.body.find("Again."), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(, ServedFromCache,
                         ::testing::Values("RAMCache", "MemcachedManager", "TieredManager"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace larder::e2e
