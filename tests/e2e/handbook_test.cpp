// The handbook against visitors who do not ask for what its pages link to.
#include "site_fixture.h"

namespace larder::e2e {
namespace {

class HandbookTest : public SiteTest {
 protected:
  void SetUp() override {
    configureSite("RAMCache");
    seed();
  }
};

TEST_F(HandbookTest, WhoMayNotSeeTheEditFormMayNotSaveEither) {
  const auto server = serve();
  const std::string page = "/handbook/guide/first-steps";
  const auto before = httpAsk(port_, "GET", page).body;
  Visitor anonymous(port_);
  const auto saved = anonymous.post(page + "/@@edit",
                                    {{"title", "Defaced"}, {"body", "defaced"}, {"revision", "1"}});
  EXPECT_EQ(saved.status, 401) << saved.body;
  EXPECT_EQ(httpAsk(port_, "GET", page).body, before);
}

TEST_F(HandbookTest, InternalViewsAnswerOtherViewsAlone) {
  const auto server = serve();
  for (int i = 0; i < 2; ++i) {  // the second time its route is known
    EXPECT_EQ(httpAsk(port_, "GET", "/handbook/@@search_pages?words=a&below=").status, 404);
    EXPECT_EQ(httpAsk(port_, "GET", "/handbook/guide/first-steps/@@page_model").status, 404);
    const auto found = httpAsk(port_, "GET", "/handbook/@@search?q=first");
    EXPECT_NE(found.body.find("first-steps"), std::string::npos) << found.body;
    EXPECT_EQ(httpAsk(port_, "GET", "/handbook/guide/first-steps").status, 200);
  }
}

TEST_F(HandbookTest, AfterALogInNobodyIsSentElsewhere) {
  const auto server = serve();
  for (const char* next : {"//evil.example/", "/\\evil.example/", "/\t/evil.example/",
                           "/\n/evil.example/", "https://evil.example/", "/a\\..\\/evil.example"}) {
    Visitor visitor(port_);
    const auto sent = visitor.post("/handbook/@@login",
                                   {{"login", kLogin}, {"password", kPassword}, {"next", next}});
    EXPECT_EQ(sent.status, 303) << next;
    EXPECT_EQ(headerOf(sent, "Location"), "/handbook/") << next;
    // Who comes back now and then stays logged in: the server prolongs the session.
    EXPECT_NE(headerOf(sent, "Set-Cookie").find("; Max-Age=34560000"), std::string::npos);
  }
}

TEST_F(HandbookTest, AnAddressCannotSteerTheOperatorsTerminal) {
  const auto server = serve();
  for (int i = 0; i < 3; ++i)
    httpAsk(port_, "GET", "/handbook/members/%1b%5d0;owned%07%0aforged%c2%9b1m");
  for (const auto& shown : {run({"stats", "-c", conf_}),
                            run({"explain", "/handbook/members/%1b%5d0;owned%07", "-c", conf_})}) {
    EXPECT_EQ(shown.status, 0) << shown.output;
    EXPECT_NE(shown.output.find("\\x1b]0;owned\\x07"), std::string::npos) << shown.output;
    EXPECT_EQ(shown.output.find('\x1b'), std::string::npos);
    EXPECT_EQ(shown.output.find("\nforged"), std::string::npos);
    EXPECT_EQ(shown.output.find("\xc2\x9b"), std::string::npos);
  }
}

class HandbookAtTheRoot : public SiteTest {};

TEST_F(HandbookAtTheRoot, FindsItsPages) {
  configure("[[app]]\nmount = \"/\"\nfolder = \"" + handbook_ + "\"\n");
  const auto imported =
      run({"import", test::sourceDir() + "/sample-app/handbook/content", "--to", "/", "-c", conf_});
  ASSERT_EQ(imported.status, 0) << imported.output;
  const auto server = serve();
  EXPECT_NE(httpAsk(port_, "GET", "/@@search?q=first").body.find("/guide/first-steps"),
            std::string::npos);
  EXPECT_NE(httpAsk(port_, "GET", "/@@recent").body.find("/guide/"), std::string::npos);
}

}  // namespace
}  // namespace larder::e2e
