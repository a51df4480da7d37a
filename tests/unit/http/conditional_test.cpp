#include "larder/http/conditional.h"

#include <gtest/gtest.h>

#include <string>

#include "parsed_request.h"

namespace larder::http {
namespace {

constexpr std::int64_t kModified = 784111777;
const std::string kSame = "Sun, 06 Nov 1994 08:49:37 GMT";
const std::string kBefore = "Sun, 06 Nov 1994 08:49:36 GMT";
const std::string kAfter = "Sun, 06 Nov 1994 08:49:38 GMT";

struct Condition {
  std::string method;
  std::string fields;
  Precondition outcome;
};

class Conditions : public testing::TestWithParam<Condition> {};

TEST_P(Conditions, Semantics37_AreEvaluatedInOrder) {
  const test::ParsedRequest request(GetParam().fields, GetParam().method);
  const Validators current{.etag = "\"abc\"", .last_modified = kModified};
  EXPECT_EQ(evaluatePreconditions(request.head(), current), GetParam().outcome);
}

constexpr auto kProceed = Precondition::proceed;
constexpr auto kNotModified = Precondition::not_modified;
constexpr auto kFailed = Precondition::failed;

INSTANTIATE_TEST_SUITE_P(
    All, Conditions,
    testing::Values(
        Condition{"GET", "", kProceed},
        Condition{"GET", "If-None-Match: \"abc\"\r\n", kNotModified},
        Condition{"HEAD", "If-None-Match: \"abc\"\r\n", kNotModified},
        Condition{"PUT", "If-None-Match: \"abc\"\r\n", kFailed},
        Condition{"GET", "If-None-Match: W/\"abc\"\r\n", kNotModified},
        Condition{"GET", "If-None-Match: \"abd\"\r\n", kProceed},
        Condition{"GET", "If-None-Match: \"abc-gzip\"\r\n", kProceed},
        Condition{"GET", "If-None-Match: \"x\", \"abc\"\r\n", kNotModified},
        Condition{"GET", "If-None-Match: \"x,\\\", \"abc\"\r\n", kNotModified},
        Condition{"GET", "If-None-Match: \"x\"\r\nIf-None-Match: \"abc\"\r\n", kNotModified},
        Condition{"GET", "If-None-Match: ,, \"abc\" ,\r\n", kNotModified},
        Condition{"GET", "If-None-Match: *\r\n", kNotModified},
        Condition{"PUT", "If-None-Match: *\r\n", kFailed},
        Condition{"GET", "If-None-Match: abc\r\n", kProceed},
        Condition{"GET", "If-None-Match: \"abc\r\n", kProceed},
        Condition{"GET", "If-None-Match: \"abc\"x\r\n", kProceed},
        Condition{"GET", "If-None-Match: x \"abc\"\r\n", kProceed},
        Condition{"GET", "If-None-Match:\r\n", kProceed},
        Condition{"GET", "If-Match: \"abc\"\r\n", kProceed},
        Condition{"GET", "If-Match: \"x\", \"abc\"\r\n", kProceed},
        Condition{"GET", "If-Match: *\r\n", kProceed},
        Condition{"GET", "If-Match: W/\"abc\"\r\n", kFailed},
        Condition{"GET", "If-Match: \"abd\"\r\n", kFailed},
        Condition{"GET", "If-Match: abc\r\n", kFailed},
        Condition{"PUT", "If-Match: \"abd\"\r\n", kFailed},
        Condition{"GET", "If-Modified-Since: " + kSame + "\r\n", kNotModified},
        Condition{"HEAD", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n", kNotModified},
        Condition{"POST", "If-Modified-Since: " + kSame + "\r\n", kProceed},
        Condition{"GET", "If-Modified-Since: " + kBefore + "\r\n", kProceed},
        Condition{"GET", "If-Modified-Since: yesterday\r\n", kProceed},
        Condition{"GET", "If-Unmodified-Since: " + kSame + "\r\n", kProceed},
        Condition{"GET", "If-Unmodified-Since: " + kAfter + "\r\n", kProceed},
        Condition{"GET", "If-Unmodified-Since: " + kBefore + "\r\n", kFailed},
        Condition{"GET", "If-Unmodified-Since: yesterday\r\n", kProceed},
        // If-Match takes precedence over If-Unmodified-Since, If-None-Match over If-Modified-Since.
        Condition{"GET", "If-Match: \"abc\"\r\nIf-Unmodified-Since: " + kBefore + "\r\n", kProceed},
        Condition{"GET", "If-None-Match: \"x\"\r\nIf-Modified-Since: " + kSame + "\r\n", kProceed},
        Condition{"GET", "If-Match: \"x\"\r\nIf-None-Match: \"abc\"\r\n", kFailed},
        Condition{"GET", "If-Match: \"abc\"\r\nIf-None-Match: \"abc\"\r\n", kNotModified}));

TEST(Conditions, LedgerL20_ALaterDateDoesNotConfirmACopy) {
  const test::ParsedRequest request("If-Modified-Since: " + kAfter + "\r\n");
  EXPECT_EQ(evaluatePreconditions(request.head(), {.etag = {}, .last_modified = kModified}),
            Precondition::proceed);
}

TEST(Conditions, LedgerL20_WithoutADateThatMayConfirmNothingMatches) {
  const test::ParsedRequest request("If-Modified-Since: " + kSame + "\r\n");
  EXPECT_EQ(evaluatePreconditions(request.head(), {.etag = {}, .last_modified = std::nullopt}),
            Precondition::proceed);
}

TEST(Conditions, WithoutATagNothingMatchesByTag) {
  const test::ParsedRequest request("If-None-Match: \"\"\r\n");
  EXPECT_EQ(evaluatePreconditions(request.head(), {}), Precondition::proceed);
}

TEST(Conditions, AWeakTagMatchesWeaklyOnly) {
  EXPECT_TRUE(listMatches("\"a\"", "W/\"a\"", TagComparison::weak));
  EXPECT_FALSE(listMatches("W/\"a\"", "W/\"a\"", TagComparison::strong));
}

}  // namespace
}  // namespace larder::http
