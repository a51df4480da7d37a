#include "larder/server/management.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "larder/http/head_parser.h"

namespace larder::server {
namespace {

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kAuthorization = "Authorization: Bearer 0123456789abcdef\r\n";

class FakeBackend final : public ManagementBackend {
 public:
  [[nodiscard]] std::string caches(const ReportQuery& query) override {
    last_query = query;
    return R"({"managers": []})";
  }
  [[nodiscard]] std::string health() override { return R"({"ok": true})"; }
  [[nodiscard]] Result<std::string> explain(std::string_view url) override {
    explained = url;
    if (fails) return Error{"There is nothing at /x."};
    return std::string(R"({"processes": []})");
  }
  [[nodiscard]] Result<Receipt> invalidate(std::span<const Change> changes) override {
    if (fails) return Error{"the store is locked"};
    invalidated.assign(changes.begin(), changes.end());
    return Receipt{18446744073709551615ULL, 7};
  }
  ReportQuery last_query;
  std::vector<Change> invalidated;
  std::string explained;
  bool fails = false;
};

class Management : public ::testing::Test {
 protected:
  struct Answer {
    int status = 0;
    std::string lines;
    std::string body;
  };
  Answer ask(const std::string& line, const std::string& fields, const std::string& body = {},
             const std::string& host = "127.0.0.1:8081") {
    std::string text = line + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields;
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n";
    http::HeadParser parser;
    http::RequestHead head;
    EXPECT_EQ(parser.parse(text, head), http::ParseStatus::complete) << text;
    const http::PeerAddress peer;
    const http::Request request(head, body, peer, false);
    http::Response response;
    handler_.handle(request, response, nullptr);
    return {response.status(), std::string(response.lines()), std::string(response.body())};
  }
  Answer post(const std::string& body) {
    return ask("POST /@@invalidate",
               std::string(kAuthorization) + "Content-Type: application/json\r\n", body);
  }

  FakeBackend backend_;
  ManagementHandler handler_{backend_, kToken};
};

TEST_F(Management, ExplainsAnAddressGivenAsOneParameter) {
  const auto get = [&](const std::string& target) {
    return ask("GET " + target, kAuthorization).status;
  };
  EXPECT_EQ(get("/@@explain?url=/a%3Fpage%3D2%26q%3D"), 200);
  EXPECT_EQ(backend_.explained, "/a?page=2&q=");
  EXPECT_EQ(get("/@@explain"), 400);
  EXPECT_EQ(get("/@@explain?url=/a&page=2"), 400);
  backend_.fails = true;
  EXPECT_EQ(get("/@@explain?url=/x"), 404);
}

TEST_F(Management, FaultA40_RefusesWithoutToken) {
  for (const char* line : {"GET /@@caches", "GET /@@health", "POST /@@invalidate", "GET /secret"})
    EXPECT_EQ(ask(line, "").status, 401) << line;
}

TEST_F(Management, FaultA40_ProvesThatItKnowsTheTokenWithoutTellingIt) {
  const std::string nonce(kNonceDigits, '7');
  const Answer answer = ask("GET /@@proof?" + nonce, "");
  EXPECT_EQ(answer.status, 200);
  const auto proof = nlohmann::json::parse(answer.body).at("proof").get<std::string>();
  EXPECT_EQ(proof, proofOfToken(kToken, nonce));
  EXPECT_NE(proof, proofOfToken("0123456789abcdee", nonce));
  EXPECT_NE(proof, proofOfToken(kToken, std::string(kNonceDigits, '8')));
  EXPECT_EQ(ask("GET /@@proof?7", "").status, 401);
}

TEST_F(Management, FaultA40_RefusesAForeignToken) {
  EXPECT_EQ(ask("GET /@@caches", "Authorization: Bearer 0123456789abcdee\r\n").status, 401);
  EXPECT_EQ(ask("GET /@@caches", "Authorization: Bearer 0123456789abcde\r\n").status, 401);
  EXPECT_EQ(ask("GET /@@caches", "Authorization: Basic 0123456789abcdef\r\n").status, 401);
}

TEST_F(Management, FaultA40_RefusesAForeignOrigin) {
  EXPECT_EQ(
      ask("GET /@@caches", kAuthorization + std::string("Origin: http://evil.example\r\n")).status,
      403);
  EXPECT_EQ(ask("GET /@@caches", kAuthorization + std::string("Origin: null\r\n")).status, 403);
}

TEST_F(Management, TakesItsOwnOrigin) {
  EXPECT_EQ(ask("GET /@@caches", kAuthorization + std::string("Origin: http://127.0.0.1:8081\r\n"))
                .status,
            200);
}

TEST_F(Management, FaultA40_RefusesAHostThatIsNotThisMachine) {
  EXPECT_EQ(ask("GET /@@caches", kAuthorization, "", "evil.example:8081").status, 421);
  EXPECT_EQ(ask("GET /@@caches", kAuthorization, "", "127.evil.example").status, 421);
}

TEST_F(Management, FaultA40_ChangesNothingByGet) {
  const Answer answer = ask("GET /@@invalidate", kAuthorization);
  EXPECT_EQ(answer.status, 405);
  EXPECT_NE(answer.lines.find("Allow: POST"), std::string::npos);
}

TEST_F(Management, RefusesOtherMethods) {
  EXPECT_EQ(ask("POST /@@caches", kAuthorization).status, 405);
  EXPECT_EQ(ask("DELETE /@@invalidate", kAuthorization).status, 405);
}

TEST_F(Management, RefusesFormsOfBrowsers) {
  EXPECT_EQ(ask("POST /@@invalidate", kAuthorization + std::string("Content-Type: text/plain\r\n"),
                R"({"site": true})")
                .status,
            415);
}

TEST_F(Management, InvalidatesAndGivesAReceipt) {
  const Answer answer = post(R"({"path": "/a", "hardness": "soft"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_EQ(backend_.invalidated.size(), 1U);
  EXPECT_EQ(backend_.invalidated[0].scope, objectScope("/a"));
  const auto receipt = nlohmann::json::parse(answer.body);
  EXPECT_EQ(receipt["seq"], 7);
  EXPECT_EQ(receipt["era"], "18446744073709551615");
}

TEST_F(Management, BadInvalidationSaysWhy) {
  const Answer answer = post(R"({"pth": "/a"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("did you mean 'path'"), std::string::npos);
}

TEST_F(Management, InvalidationThatIsNotCommittedIsNotAcknowledged) {
  backend_.fails = true;
  EXPECT_EQ(post(R"({"site": true})").status, 503);
}

TEST_F(Management, ReadsTheReportsParameters) {
  EXPECT_EQ(ask("GET /@@caches?entries=5&under=/p/%C3%A9", kAuthorization).status, 200);
  EXPECT_EQ(backend_.last_query.entries, 5U);
  EXPECT_EQ(backend_.last_query.under, "/p/\u00e9");
}

TEST_F(Management, RefusesParametersThatAreWrong) {
  for (const char* query : {"entries=x", "entries=-1", "entries=999999999", "under=a%2Fb", "x=1"})
    EXPECT_EQ(ask("GET /@@caches?" + std::string(query), kAuthorization).status, 400) << query;
}

TEST_F(Management, AnswersAreJsonThatNobodyKeeps) {
  const Answer answer = ask("GET /@@health", kAuthorization);
  EXPECT_NE(answer.lines.find("Content-Type: application/json"), std::string::npos);
  EXPECT_NE(answer.lines.find("Cache-Control: no-store"), std::string::npos);
  EXPECT_EQ(answer.body, "{\"ok\":true}\n");
}

TEST_F(Management, UnknownPathIsNotFound) {
  EXPECT_EQ(ask("GET /@@other", kAuthorization).status, 404);
}

}  // namespace
}  // namespace larder::server
