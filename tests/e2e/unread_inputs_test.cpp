// What a request carries and no view reads leaves no trace: answers are those of an uncached
// server, and nearly all of them are hits.
#include <algorithm>
#include <iterator>
#include <random>
#include <tuple>

#include "site_fixture.h"

namespace larder::e2e {
namespace {

constexpr const char* kHeaders[] = {"Accept",
                                    "Accept-Charset",
                                    "Accept-Encoding",
                                    "Accept-Language",
                                    "Accept-Datetime",
                                    "A-IM",
                                    "Base-Url",
                                    "CF-Connecting-IP",
                                    "Client-IP",
                                    "Content-Language",
                                    "Cookie",
                                    "DNT",
                                    "Device-Memory",
                                    "Downlink",
                                    "Early-Data",
                                    "ECT",
                                    "Expect-CT",
                                    "Fastly-Client-IP",
                                    "Forwarded",
                                    "Forwarded-For",
                                    "From",
                                    "Front-End-Https",
                                    "If-Range",
                                    "Max-Forwards",
                                    "Origin",
                                    "Pragma",
                                    "Prefer",
                                    "Proxy-Authorization",
                                    "Range",
                                    "Referer",
                                    "Save-Data",
                                    "Sec-CH-UA",
                                    "Sec-CH-UA-Mobile",
                                    "Sec-CH-UA-Platform",
                                    "Sec-Fetch-Dest",
                                    "Sec-Fetch-Mode",
                                    "Sec-GPC",
                                    "True-Client-IP",
                                    "Upgrade-Insecure-Requests",
                                    "User-Agent",
                                    "Via",
                                    "Viewport-Width",
                                    "X-Client-IP",
                                    "X-Cluster-Client-IP",
                                    "X-Correlation-ID",
                                    "X-Forwarded-For",
                                    "X-Forwarded-Host",
                                    "X-Forwarded-Path",
                                    "X-Forwarded-Port",
                                    "X-Forwarded-Prefix",
                                    "X-Forwarded-Proto",
                                    "X-Forwarded-Scheme",
                                    "X-Forwarded-Server",
                                    "X-Forwarded-SSL",
                                    "X-Host",
                                    "X-HTTP-Method-Override",
                                    "X-Original-Host",
                                    "X-Originating-IP",
                                    "X-ProxyUser-IP",
                                    "X-Real-IP",
                                    "X-Request-ID",
                                    "X-Requested-With",
                                    "X-Url-Scheme",
                                    "X-User-Agent"};
constexpr const char* kParameters[] = {
    "utm_source", "utm_medium", "utm_campaign", "utm_term",  "utm_content", "utm_id",
    "gclid",      "gclsrc",     "dclid",        "gbraid",    "wbraid",      "fbclid",
    "msclkid",    "twclid",     "ttclid",       "li_fat_id", "mc_cid",      "mc_eid",
    "igshid",     "yclid",      "_openstat",    "_ga",       "_gl",         "s_kwcid",
    "ef_id",      "vero_id",    "hsa_acc",      "mkt_tok",   "oly_enc_id",  "rb_clickid"};

class UnreadInputs : public SiteTest {
 protected:
  void SetUp() override {
    configureSite("RAMCache");
    seed();
  }
  std::string value() { return values_[random_() % std::size(values_)]; }
  /// Some of the headers, and the visitor's cookie.
  std::string someHeaders(const std::string& cookie) {
    std::string fields;
    for (const char* name : kHeaders) {
      if (random_() % 5 != 0) continue;
      if (std::string_view(name) == "Cookie")
        fields += "Cookie: stranger=" + value() + "; " + cookie + "\r\n";
      else
        fields += std::string(name) + ": " + value() + "\r\n";
    }
    if (fields.find("\r\nCookie: ") == std::string::npos && !fields.starts_with("Cookie: ") &&
        !cookie.empty())
      fields += "Cookie: " + cookie + "\r\n";
    return fields;
  }
  std::string someParameters(const std::string& page) {
    std::string target = page;
    for (const char* name : kParameters) {
      if (random_() % 6 != 0) continue;
      target +=
          (target.find('?') == std::string::npos ? "?" : "&") + std::string(name) + "=" + value();
    }
    return target;
  }

  std::mt19937 random_{7};
  const std::vector<std::string> values_ = {"1",    "evil.example", "127.0.0.1", "de",   "https",
                                            "POST", "no-cache",     "bytes=0-9", "gzip", "on"};
};

TEST_F(UnreadInputs, LedgerL15_NeitherSplitNorPoisonWhatIsStored) {
  const auto server = serve();
  const auto plain_port = testing::freePort();
  conf_ = uncachedConfiguration(plain_port);
  const auto plain_server = serve();
  Visitor demo(port_);
  demo.logIn(kLogin, kPassword);
  Visitor other(port_);
  other.logIn(kLogin, kPassword);  // another session of the same user
  const std::vector<std::string> cookies = {"", demo.cookie(), other.cookie()};
  const auto pages = crawl(port_);
  for (const auto& cookie : cookies) {
    for (const auto& page : pages)
      httpAsk(port_, "GET", page, cookie.empty() ? "" : "Cookie: " + cookie + "\r\n");
  }
  std::size_t asked = 0;
  std::size_t hits = 0;
  for (const auto& page : pages) {
    for (const auto& cookie : cookies) {
      for (int i = 0; i < 3; ++i) {
        const auto target = someParameters(page);
        const auto fields = someHeaders(cookie);
        const auto cached = httpAsk(port_, "GET", target, fields);
        const auto plain = httpAsk(plain_port, "GET", target, fields);
        ++asked;
        hits += isHit(cached) ? 1 : 0;
        ASSERT_EQ(cached.status, plain.status) << target << "\n" << fields;
        ASSERT_EQ(cached.body, plain.body) << target << "\n" << fields;
      }
    }
  }
  EXPECT_GE(hits * 10, asked * 9) << hits << " of " << asked;
  RecordProperty("hits", static_cast<int>(hits));
  RecordProperty("asked", static_cast<int>(asked));
  std::cout << hits << " hits of " << asked << " requests of " << pages.size() << " pages, "
            << std::size(kHeaders) << " headers, " << std::size(kParameters) << " parameters\n";
}

TEST_F(UnreadInputs, LedgerL21_AReceiptSplitsNothingAndIsGivenForEachSave) {
  const auto server = serve();
  const std::string comment = R"({"user": 3, "text": "seen"})";
  const auto saved =
      httpAsk(port_, "POST", "/api/v1/comments", "Content-Type: application/json\r\n", comment);
  ASSERT_EQ(saved.status, 201) << saved.body;
  const auto set = headerOf(saved, "Set-Cookie");
  ASSERT_TRUE(set.starts_with("larder_receipt=")) << saved.head;
  EXPECT_NE(set.find("HttpOnly"), std::string::npos);
  const std::string page = "/api/v1/comments/users/3";
  httpAsk(port_, "GET", page);
  const auto with = "Cookie: " + set.substr(0, set.find(';')) + "\r\n";
  EXPECT_TRUE(isHit(httpAsk(port_, "GET", page, with)));
  EXPECT_TRUE(isHit(httpAsk(port_, "GET", page, "Cookie: larder_receipt=ff.ffff.ff.00\r\n")));
}

TEST_F(UnreadInputs, ExplainTellsWhatIsStoredAndWhyItWasNot) {
  const auto server = serve();
  const std::string page = "/handbook/guide/first-steps";
  const auto explain = [&] { return run({"explain", page + "?utm_source=x", "-c", conf_}); };
  const auto before = explain();
  EXPECT_EQ(before.status, 0) << before.output;
  EXPECT_NE(before.output.find("entry     none"), std::string::npos) << before.output;
  httpAsk(port_, "GET", page);
  const auto stored = explain().output;
  for (const char* part : {"manager   main at /", "(RAMCache, in this process)", "entry     fresh",
                           "key       path = /handbook/guide/first-steps", "fresh for 59m",
                           "scopes    ", "obj:/handbook/guide/first-steps",
                           "nothing was stored under this key; the new result was stored"}) {
    EXPECT_NE(stored.find(part), std::string::npos) << part << "\n" << stored;
  }
  dir_.write("other/first-steps.md", "# First steps\n\nOther ones.\n");
  const auto edit = run({"import", dir_.file("other"), "--to", "/handbook/guide", "-c", conf_});
  ASSERT_EQ(edit.status, 0) << edit.output;
  const auto changed = explain().output;
  EXPECT_NE(changed.find("entry     none, "), std::string::npos) << changed;
  EXPECT_NE(changed.find("changed at "), std::string::npos) << changed;
  EXPECT_NE(changed.find(" by an edit: obj:" + page), std::string::npos) << changed;
  httpAsk(port_, "GET", page);
  EXPECT_NE(explain().output.find("by an edit: obj:" + page), std::string::npos);
  Visitor editor(port_);
  editor.logIn(kLogin, kPassword);
  ASSERT_EQ(editor.edit(page, "# First steps\n\nAgain.\n").status, 303);
  const auto acted = explain().output;
  EXPECT_NE(acted.find(" by an invalidation: obj:" + page), std::string::npos) << acted;
  EXPECT_EQ(run({"explain", "/nowhere", "-c", conf_}).status, 1);
}

TEST_F(UnreadInputs, ExplainAsksEveryProcess) {
  const auto server = serve({"--processes", "2"});
  ASSERT_TRUE(eventually([&] { return workers().size() == 2; }));
  const auto report = manage("/@@explain?url=/handbook");
  ASSERT_EQ(report.at("processes").size(), 2U) << report.dump(2);
  for (const auto& process : report.at("processes"))
    EXPECT_EQ(process.at("view"), report.at("processes").at(0).at("view"));
}

TEST_F(UnreadInputs, StatisticsNameTheObjectsThatAreAskedForMost) {
  const auto server = serve();
  for (int i = 0; i < 5; ++i) httpAsk(port_, "GET", "/api/v1/comments/5");
  const auto objects = manage("/@@caches?entries=1").at("objects");
  ASSERT_EQ(objects.size(), 1U) << objects.dump(2);
  EXPECT_EQ(objects.at(0).at("path"), "/api/v1/comments/5");
  EXPECT_EQ(objects.at(0).at("lookups"), 5);
  EXPECT_EQ(objects.at(0).at("hits"), 4);
}

}  // namespace
}  // namespace larder::e2e
