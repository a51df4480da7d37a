// Pages for nginx, against a real memcached: which are published, under which key, and that none
// stays that is over.
#include "nginx_publisher.h"

#include <gtest/gtest.h>

#include "larder/cache/scope.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/memcached_server.h"
#include "larder/testing/temp_dir.h"
#include "nginx_site.h"

namespace larder::server {
namespace {

constexpr std::uint64_t kRevision = 7;

/// Lets something happen at one of the looks that others take.
class WatchedLedger final : public Ledger {
 public:
  [[nodiscard]] bool observe() noexcept override {
    if (on_observe && --countdown == 0) on_observe();
    return ledger_ok;
  }
  [[nodiscard]] Result<std::uint64_t> append(std::span<const Change> changes) override {
    std::vector<ChangeMap::Item> batch;
    for (const auto& change : changes) note(change.scope, seq_ + 1, change.hardness, batch);
    publish(batch, ++seq_);
    return seq_;
  }
  WatchedLedger() { setEras({{1, 0}}); }

  std::function<void()> on_observe;
  int countdown = 0;
  bool ledger_ok = true;

 private:
  std::uint64_t seq_ = 0;
};

class NginxPublisherTest : public ::testing::Test {
 protected:
  NginxPublisherTest() {
    auto server = testing::MemcachedServer::start();
    if (!server) throw std::runtime_error(server.error().message);
    memcached_.emplace(std::move(*server));
    state_ = site::State::open({.data_dir = dir_.path(), .clock = &clock_});
    config_.memcached = memcached_->address();
    restart();
  }

  /// Another process of the site; the one before it is gone.
  void restart() {
    publisher_.reset();
    publisher_ = std::make_unique<NginxPublisher>(
        config_, NginxPublisher::Lent{*state_, ledger_, clock_,
                                      [this](LogLevel, std::string_view line) { log_ += line; },
                                      dir_.path()});
    publisher_->revise(kRevision);
  }

  std::unique_ptr<CacheEntry> entry(const std::string& path, const std::string& body = "body",
                                    const std::vector<std::string>& inputs = {}) {
    const std::string scopes[] = {std::string(kSiteScope), objectScope(path)};
    auto made = CacheEntry::make({path, digestOf(path), 0}, {.scopes = scopes, .inputs = inputs});
    Page page;
    page.setHeader("Content-Type", "text/html; charset=utf-8");
    page.body = body;
    made->value = std::move(page);
    made->stamp = ledger_.known();
    made->lifetime.fresh_until = clock_.monotonic() + 3'600'000;
    return made;
  }
  bool offer(std::string_view path, const EntryPtr& entry, std::string_view query = {}) {
    return publisher_->offer({.path = path,
                              .query = query,
                              .authority = "example.org",
                              .entry = *entry,
                              .known = known_,
                              .policy = policy_,
                              .revision = kRevision,
                              .restricted = restricted_,
                              .stored = true});
  }
  bool offer(const std::string& path) { return offer(path, EntryPtr(entry(path))); }
  void change(const std::string& path) {
    const Change change{objectScope(path)};
    ASSERT_TRUE(ledger_.append({&change, 1}));
  }
  /// "VALUE key flags length\r\nbody", or without what is not there.
  std::string held(const std::string& key) { return memcached_->ask("get " + key); }
  bool holds(const std::string& key) { return held(key).starts_with("VALUE"); }
  std::int64_t serverTime() { return static_cast<std::int64_t>(memcached_->stat("time")); }
  std::uint64_t count(Publication publication) { return publisher_->count(publication); }

  testing::TempDir dir_;
  testing::ManualClock clock_;
  WatchedLedger ledger_;
  std::optional<testing::MemcachedServer> memcached_;
  std::unique_ptr<site::State> state_;
  NginxConfig config_;
  std::unique_ptr<NginxPublisher> publisher_;
  InputNames known_;
  Policy policy_;
  bool restricted_ = false;
  std::string log_;
};

TEST_F(NginxPublisherTest, Semantics33_TheKeyIsWhatNginxMakesOfThePath) {
  const auto key = [this](std::string_view path, std::string_view host = "example.org") {
    return nginxKey(config_, path, host).value_or("none");
  };
  EXPECT_EQ(key("/a b\n%41+\x7f\xc3\xa9?;#"), "/a%20b%0A%2541+\x7f\xc3\xa9?;#");
  EXPECT_EQ(key('/' + std::string(249, 'a')).size(), 250U);
  EXPECT_EQ(key('/' + std::string(250, 'a')), "none");
  EXPECT_EQ(key('/' + std::string(83, ' ')).size(), 250U);
  EXPECT_EQ(key('/' + std::string(84, ' ')), "none");
  config_.prefix = "x:$host:";
  EXPECT_EQ(key("/a"), "x:example.org:/a");
  for (const auto* other : {"example.org:8000", "Example.org", "example.org.", "[::1]", ""})
    EXPECT_EQ(key("/a", other), "none") << other;
}

TEST_F(NginxPublisherTest, Semantics33_TheTypeIsWhatNginxDerives) {
  config_.types = {{"/api", "application/json"}, {"/api/v2", "text/plain"}};
  const auto type = [this](std::string_view path) { return nginxType(config_, path); };
  EXPECT_EQ(type("/a"), "text/html; charset=utf-8");
  EXPECT_EQ(type("/a/@@style.CSS"), "text/css; charset=utf-8");
  EXPECT_EQ(type("/a/.css"), "text/html; charset=utf-8");
  EXPECT_EQ(type("/a.css/b"), "text/html; charset=utf-8");
  EXPECT_EQ(type("/a.css."), "text/html; charset=utf-8");
  EXPECT_EQ(type("/api/1"), "application/json");
  EXPECT_EQ(type("/api/v2/1"), "text/plain");
  EXPECT_EQ(type("/api/1.png"), "image/png");
}

TEST_F(NginxPublisherTest, LedgerL22_OnlyWhatReadNothingOfTheRequestIsPublished) {
  const auto refused = [this](Publication why, const std::function<void(CacheEntry&)>& spoil,
                              std::string_view query = {}, const InputNames& inputs = {}) {
    auto page = entry("/a", "body", inputs);
    spoil(*page);
    const auto before = count(why);
    EXPECT_FALSE(offer("/a", EntryPtr(std::move(page)), query)) << publicationName(why);
    EXPECT_EQ(count(why), before + 1) << publicationName(why);
  };
  const auto nothing = [](CacheEntry&) {};
  const auto with = [](auto change) {
    return [change](CacheEntry& e) {
      Page page = e.value.page()->copy();
      change(page);
      e.value = std::move(page);
    };
  };
  refused(Publication::query, nothing, "x=1");
  refused(Publication::personal, [](CacheEntry& e) { e.is_private = true; });
  refused(Publication::inputs, nothing, "", {"param:x"});
  refused(Publication::inputs, nothing, "", {"host"});
  known_ = {"arg:0", "cookie:theme"};
  refused(Publication::inputs, nothing);
  known_ = {"arg:0"};
  restricted_ = true;
  refused(Publication::restricted, nothing);
  restricted_ = false;
  refused(Publication::status, with([](Page& p) { p.status = 404; }));
  refused(Publication::type, with([](Page& p) { p.headers[0].value = "text/plain"; }));
  refused(Publication::type, with([](Page& p) { p.headers.clear(); }));
  refused(Publication::headers, with([](Page& p) { p.setHeader("Link", "</a>; rel=x"); }));
  refused(Publication::headers, with([](Page& p) { p.setHeader("Set-Cookie", "a=b"); }));
  refused(Publication::headers, with([](Page& p) { p.setHeader("Cache-Control", "no-cache"); }));
  publisher_->step();
  EXPECT_FALSE(holds("/a"));

  config_.prefix = "$host";
  restart();
  known_ = {"host"};
  auto page = entry("/a", "body", known_);
  EXPECT_TRUE(offer("/a", EntryPtr(std::move(page))));
  publisher_->step();
  EXPECT_TRUE(holds("example.org/a"));
}

TEST_F(NginxPublisherTest, Semantics34_AGzipVariantCarriesTheFlagThatNginxTests) {
  auto page = entry("/gzip");
  Page content = page->value.page()->copy();
  content.gzip = "zipped";
  page->value = std::move(content);
  offer("/gzip", EntryPtr(std::move(page)));
  offer("/plain");
  publisher_->step();
  EXPECT_TRUE(held("/gzip").starts_with("VALUE /gzip 2 6\r\nzipped")) << held("/gzip");
  EXPECT_TRUE(held("/plain").starts_with("VALUE /plain 0 4\r\nbody")) << held("/plain");
}

TEST_F(NginxPublisherTest, Semantics35_APageThatChangedIsDeletedAndOthersStay) {
  offer("/a");
  offer("/b");
  publisher_->step();
  EXPECT_TRUE(holds("/a"));
  change("/a");
  EXPECT_EQ(publisher_->outbox(), 1U);
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
  EXPECT_TRUE(holds("/b"));
  EXPECT_EQ(publisher_->outbox(), 0U);
  EXPECT_EQ(count(Publication::withdrawn), 1U);
}

TEST_F(NginxPublisherTest, Semantics35_APublishedPageLivesNoLongerThanItsPolicyAndItsEntry) {
  policy_.publish_max_age = 1'000;
  offer("/a");
  policy_.publish_max_age = 60'000;
  auto shorter = entry("/b");
  shorter->lifetime.fresh_until = clock_.monotonic() + 1'000;
  offer("/b", EntryPtr(std::move(shorter)));
  auto none = entry("/c");
  none->lifetime.fresh_until = clock_.monotonic() + 999;
  offer("/c", EntryPtr(std::move(none)));
  publisher_->step();
  EXPECT_EQ(count(Publication::published), 2U);
  EXPECT_EQ(count(Publication::expired), 1U);
  const auto pages = state_->published(0, 10);
  ASSERT_EQ(pages.size(), 2U);
  for (const auto& page : pages) EXPECT_LE(page.expires, serverTime() + 1);
}

TEST_F(NginxPublisherTest, Semantics35_DeletesWaitUntilMemcachedIsBackAndThenHappen) {
  offer("/a");
  publisher_->step();
  memcached_->pause();
  change("/a");
  // The clock stands still but for this: the answer is waited for in real time.
  publisher_->step();
  EXPECT_GT(publisher_->outbox(), 0U) << "the cursor went on without an answer";
  EXPECT_EQ(state_->published(0, 10).size(), 1U);
  memcached_->resume();
  clock_.advance(1'000);
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
  EXPECT_EQ(publisher_->outbox(), 0U);
  EXPECT_TRUE(state_->published(0, 10).empty());
}

TEST_F(NginxPublisherTest, LedgerL23_WhatChangesWhileItIsSentIsDeletedAfterwards) {
  offer("/a");
  // Looks: the owner's, the one before sending, the one after the answer.
  ledger_.countdown = 3;
  ledger_.on_observe = [this] {
    EXPECT_TRUE(holds("/a")) << "it has been sent";
    change("/a");
  };
  publisher_->step();
  EXPECT_EQ(ledger_.countdown, 0);
  EXPECT_FALSE(holds("/a"));
  EXPECT_EQ(count(Publication::changed), 1U);
  EXPECT_TRUE(state_->published(0, 10).empty());
}

TEST_F(NginxPublisherTest, LedgerL23_AnUnansweredSetIsDeletedAgainUntilItHasExpired) {
  std::vector<site::PublishedPage> note(1);
  note[0] = {.key = "/a",
             .stamp = ledger_.known(),
             .scopes = {scopeId(objectScope("/a"))},
             .revision = kRevision};
  // A process that died after it had sent this, before it was answered.
  publisher_->step();
  note[0].expires = serverTime() + 60;
  state_->notePublished(note);
  restart();
  publisher_->step();
  EXPECT_FALSE(offer("/a") && (publisher_->step(), holds("/a")))
      << "another page under a key of which a set may still arrive";
  change("/a");
  publisher_->step();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(memcached_->ask("set /a 0 0 3\r\nold"), "STORED\r\n") << "it arrives";
    ASSERT_TRUE(holds("/a"));
    clock_.advance(400);
    publisher_->step();
    EXPECT_FALSE(holds("/a")) << i;
  }
  clock_.advance(64'000);
  publisher_->step();
  EXPECT_TRUE(state_->published(0, 10).empty()) << "it can no longer arrive";
}

TEST_F(NginxPublisherTest, LedgerL23_WhatAnotherProcessPublishedIsJudgedByItsScopes) {
  offer("/a");
  publisher_->step();
  restart();
  change("/a");
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
}

TEST_F(NginxPublisherTest, Semantics35_WhatAHungOwnerLeavesAnotherProcessDeletes) {
  for (const char* path : {"/a", "/b"}) offer(path);
  publisher_->step();
  const auto owner = std::move(publisher_);  // holds the lock and does nothing any more
  restart();
  publisher_->step();
  change("/a");
  publisher_->step();
  EXPECT_TRUE(holds("/a")) << "the owner's work, in time";
  clock_.advance(500);
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
  EXPECT_TRUE(holds("/b"));
  change("/b");
  publisher_->step();
  EXPECT_FALSE(holds("/b")) << "it does not wait for each change anew";
  clock_.advance(20'000);
  owner->step();  // goes on
  change("/a");
  owner->step();
  EXPECT_EQ(publisher_->outbox(), 0U);
}

TEST_F(NginxPublisherTest, PagesOfAnotherRevisionAreWithdrawn) {
  offer("/a");
  publisher_->step();
  publisher_->revise(kRevision + 1);
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
  offer("/a");  // answered before the change, offered after it
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
}

TEST_F(NginxPublisherTest, AValueThatMemcachedRefusesLeavesNoOlderOneBehind) {
  offer("/a");
  publisher_->step();
  ASSERT_TRUE(holds("/a"));
  offer("/a", EntryPtr(entry("/a", std::string(std::size_t{3} << 20U, 'x'))));
  publisher_->step();
  EXPECT_FALSE(holds("/a"));
  EXPECT_EQ(count(Publication::refused), 1U);
}

TEST_F(NginxPublisherTest, WithoutMemcachedOffersAreCountedAndToldOnce) {
  memcached_->kill();
  for (int i = 0; i < 5; ++i) {
    offer("/a");
    publisher_->step();
    clock_.advance(1'000);
  }
  EXPECT_EQ(count(Publication::unreachable), 5U);
  EXPECT_EQ(log_.find("nothing is published"), log_.rfind("nothing is published"));
  EXPECT_NE(log_.find(memcached_->address()), std::string::npos) << log_;
  ASSERT_TRUE(memcached_->restart());
  offer("/a");
  publisher_->step();
  EXPECT_TRUE(holds("/a"));
}

}  // namespace
}  // namespace larder::server
