#include "larder/http/head_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "larder/http/chunked.h"
#include "malformed_messages.h"

namespace larder::http {
namespace {

using test::MalformedMessage;

// What became of a message, as text, so that two outcomes can be compared.
std::string describe(const RequestHead& head) {
  std::string text = std::string(head.methodName()) + " " + std::string(head.path()) + "?" +
                     std::string(head.query()) + " @" + std::string(head.authority()) + " 1." +
                     std::to_string(head.minorVersion());
  for (std::size_t i = 0; i < head.fieldCount(); ++i) {
    text += "|" + std::string(head.fieldName(i)) + "=" + std::string(head.fieldValue(i));
  }
  text += "|framing " + std::to_string(static_cast<int>(head.framing())) + " length " +
          std::to_string(head.contentLength()) + " keep " + std::to_string(head.keepAlive()) +
          " continue " + std::to_string(head.expectsContinue()) + " size " +
          std::to_string(head.size());
  return text;
}

// Feeds the bytes up to each of the given ends; every call sees a copy elsewhere.
std::string outcomeOf(const std::string& bytes, const std::vector<std::size_t>& ends) {
  HeadParser parser;
  RequestHead head;
  for (const std::size_t end : ends) {
    const std::string seen = bytes.substr(0, end);
    switch (parser.parse(seen, head)) {
      case ParseStatus::incomplete:
        break;
      case ParseStatus::complete:
        return describe(head);
      case ParseStatus::failed:
        return "failed " + std::to_string(parser.failure().status) + " " +
               std::string(parser.failure().reason);
    }
  }
  return "incomplete";
}

std::string outcomeOf(const std::string& bytes) {
  return outcomeOf(bytes, {bytes.size()});
}

std::vector<std::size_t> everyByte(const std::string& bytes) {
  std::vector<std::size_t> ends;
  for (std::size_t end = 1; end <= bytes.size(); ++end) ends.push_back(end);
  return ends;
}

class Parsed {
 public:
  explicit Parsed(std::string bytes) : bytes_(std::move(bytes)) {
    status_ = parser_.parse(bytes_, head_);
  }
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;
  const RequestHead& operator*() const { return head_; }
  const RequestHead* operator->() const { return &head_; }
  ParseStatus status() const { return status_; }

 private:
  std::string bytes_;
  HeadParser parser_;
  RequestHead head_;
  ParseStatus status_;
};

std::string get(const std::string& fields) {
  return "GET /x HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string nameOf(const testing::TestParamInfo<MalformedMessage>& info) {
  return info.param.name;
}

class MalformedHead : public testing::TestWithParam<MalformedMessage> {};

TEST_P(MalformedHead, Fault_IsRefusedHoweverItIsSplit) {
  const std::string& bytes = GetParam().bytes;
  const std::string whole = outcomeOf(bytes);
  EXPECT_EQ(whole.substr(0, 10), "failed " + std::to_string(GetParam().status));
  EXPECT_EQ(outcomeOf(bytes, everyByte(bytes)), whole);
}

INSTANTIATE_TEST_SUITE_P(All, MalformedHead, testing::ValuesIn(test::malformedHeads()), nameOf);

TEST(HeadParser, ReadsARequest) {
  const Parsed head("GET /a/b?c=d HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(describe(*head),
            "GET /a/b?c=d @example.org:8080 1.1|Host=example.org:8080|Accept=*/*|"
            "framing 0 length 0 keep 1 continue 0 size 62");
}

class WellFormedHead : public testing::TestWithParam<std::string> {};

TEST_P(WellFormedHead, IsReadAlikeHoweverItIsSplit) {
  const std::string& bytes = GetParam();
  const std::string whole = outcomeOf(bytes);
  ASSERT_EQ(whole.find("failed"), std::string::npos) << whole;
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    ASSERT_EQ(outcomeOf(bytes, {at, bytes.size()}), whole) << "split at " << at;
  }
  EXPECT_EQ(outcomeOf(bytes, everyByte(bytes)), whole);
}

INSTANTIATE_TEST_SUITE_P(
    All, WellFormedHead,
    testing::Values("GET / HTTP/1.1\r\nHost: h\r\n\r\n",
                    "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
                    "POST /a?b HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\n\r\nabcGET",
                    "PUT http://other/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n",
                    "OPTIONS * HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n",
                    "GET /\xC3\xA9 HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Tab: \ta\tb\t\r\n\r\n"));

TEST(HeadParser, WaitsForTheEmptyLine) {
  EXPECT_EQ(outcomeOf("GET / HTTP/1.1\r\nHost: h\r\n"), "incomplete");
}

TEST(HeadParser, LeavesTheNextRequestAlone) {
  const Parsed head(get("") + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(head->size(), get("").size());
}

TEST(HeadParser, CanBeUsedAgain) {
  HeadParser parser;
  RequestHead head;
  ASSERT_EQ(parser.parse("GET /a?b HTTP/1.0\r\n\r\n", head), ParseStatus::complete);
  parser.reset();
  head.clear();
  const std::string second = get("");
  ASSERT_EQ(parser.parse(second, head), ParseStatus::complete);
  EXPECT_EQ(describe(head), outcomeOf(second));
}

TEST(HeadParser, TrimsWhiteSpaceAroundValues) {
  EXPECT_EQ(Parsed(get("X-A: \t a b \t\r\n"))->field("x-a"), "a b");
}

TEST(HeadParser, FindsFieldsWithoutRegardToCase) {
  EXPECT_EQ(Parsed(get("CoNtEnT-tYpE: text/plain\r\n"))->field("Content-Type"), "text/plain");
}

TEST(HeadParser, AbsentFieldIsNotEmpty) {
  const Parsed head(get("X-Empty:\r\n"));
  EXPECT_EQ(head->field("x-empty"), "");
  EXPECT_EQ(head->field("x-absent"), std::nullopt);
}

TEST(HeadParser, GivesEveryFieldOfAName) {
  const Parsed head(get("Cookie: a=1\r\nX: y\r\ncookie: b=2\r\n"));
  std::string all;
  head->forEachField("cookie", [&all](std::string_view value) { all.append(value).append(";"); });
  EXPECT_EQ(all, "a=1;b=2;");
}

TEST(HeadParser, FaultA08_EncodedWordsStayLiteral) {
  const std::string word = "=?UTF-8?Q?a=0D=0AX-B:_1?=";
  EXPECT_EQ(Parsed(get("X-A: " + word + "\r\n"))->field("x-a"), word);
}

TEST(HeadParser, HeadSurvivesAMoveOfItsBytes) {
  std::string bytes = get("X-A: b\r\n");
  HeadParser parser;
  RequestHead head;
  ASSERT_EQ(parser.parse(bytes, head), ParseStatus::complete);
  const std::string elsewhere = bytes;
  bytes.assign(bytes.size(), '?');
  head.rebase(elsewhere.data());
  EXPECT_EQ(head.field("x-a"), "b");
}

TEST(HeadParser, FaultA10_AbsoluteTargetDecidesTheHost) {
  const Parsed head("GET http://other:81/x?y HTTP/1.1\r\nHost: good\r\n\r\n");
  EXPECT_EQ(head->authority(), "other:81");
  EXPECT_EQ(head->host(), "other");
  EXPECT_EQ(head->path(), "/x");
  EXPECT_EQ(head->query(), "y");
}

TEST(HeadParser, AbsoluteTargetMayHaveNoPath) {
  const Parsed head("GET HTTP://other?y HTTP/1.1\r\nHost: good\r\n\r\n");
  EXPECT_EQ(head->path(), "/");
  EXPECT_EQ(head->query(), "y");
}

TEST(HeadParser, HostOfAnAddressKeepsItsBrackets) {
  EXPECT_EQ(Parsed("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n")->host(), "[::1]");
}

struct Persistence {
  std::string bytes;
  bool keep_alive;
};

class ConnectionOptions : public testing::TestWithParam<Persistence> {};

TEST_P(ConnectionOptions, FaultA11_AreFoundAnywhereInTheList) {
  EXPECT_EQ(Parsed(GetParam().bytes)->keepAlive(), GetParam().keep_alive);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConnectionOptions,
    testing::Values(Persistence{get(""), true}, Persistence{get("Connection: close\r\n"), false},
                    Persistence{get("Connection: foo, close\r\n"), false},
                    Persistence{get("Connection: foo,CLOSE , bar\r\n"), false},
                    Persistence{get("Connection: foo\r\nconnection: Close\r\n"), false},
                    Persistence{get("Connection: closed\r\n"), true},
                    Persistence{get("Connection: keep-alive, close\r\n"), false},
                    Persistence{"GET / HTTP/1.0\r\n\r\n", false},
                    Persistence{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
                    Persistence{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false}));

TEST(HeadParser, LaterMinorVersionsAreReadAsHttp11) {
  EXPECT_EQ(Parsed("GET / HTTP/1.2\r\nHost: h\r\n\r\n")->minorVersion(), 1);
}

TEST(HeadParser, LengthOfZeroMeansNoBody) {
  EXPECT_EQ(Parsed(get("Content-Length: 0\r\n"))->framing(), Framing::none);
}

TEST(HeadParser, LengthIsRead) {
  const Parsed head(get("Content-Length: 000042\r\n"));
  EXPECT_EQ(head->framing(), Framing::length);
  EXPECT_EQ(head->contentLength(), 42U);
}

TEST(HeadParser, ChunkedIsRecognisedInAnyCase) {
  EXPECT_EQ(Parsed(get("Transfer-Encoding:  cHunKed \r\n"))->framing(), Framing::chunked);
}

TEST(HeadParser, ExpectationWithoutBodyIsIgnored) {
  EXPECT_FALSE(Parsed(get("Expect: 100-continue\r\n"))->expectsContinue());
}

TEST(HeadParser, ExpectationInHttp10IsIgnored) {
  EXPECT_FALSE(Parsed("POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
                   ->expectsContinue());
}

TEST(HeadParser, ExpectationIsRecognisedInAnyCase) {
  EXPECT_TRUE(Parsed(get("Content-Length: 1\r\nExpect: 100-Continue\r\n"))->expectsContinue());
}

TEST(HeadParser, UnknownMethodIsLeftToTheHandler) {
  const Parsed head("BREW / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(head->method(), Method::other);
  EXPECT_EQ(head->methodName(), "BREW");
}

TEST(HeadParser, MethodsAreCaseSensitive) {
  EXPECT_EQ(Parsed("get / HTTP/1.1\r\nHost: h\r\n\r\n")->method(), Method::other);
}

TEST(HeadParser, FaultA12_LineIsRefusedBeforeItsEnd) {
  EXPECT_EQ(outcomeOf("GET /" + std::string(16UL * 1024, 'a')).substr(0, 10), "failed 414");
}

TEST(HeadParser, FaultA12_HeadIsRefusedBeforeItsEnd) {
  EXPECT_EQ(outcomeOf("GET / HTTP/1.1\r\nX: " + std::string(32UL * 1024, 'a')).substr(0, 10),
            "failed 431");
}

TEST(HeadParser, LimitsAreSettable) {
  HeadParser parser({.request_line = 10});
  RequestHead head;
  ASSERT_EQ(parser.parse("GET /12345", head), ParseStatus::incomplete);
  EXPECT_EQ(parser.parse("GET /123456", head), ParseStatus::failed);
}

// Decodes a body in pieces that end where told.
std::string decoded(const std::string& bytes, const std::vector<std::size_t>& ends,
                    std::uint64_t limit = 2UL * 1024 * 1024) {
  ChunkedDecoder decoder(limit);
  std::string body;
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    const std::string piece = bytes.substr(from, end - from);
    std::size_t used = 0;
    switch (decoder.decode(piece, body, used)) {
      case ParseStatus::incomplete:
        from = end;
        break;
      case ParseStatus::complete:
        return body + " +" + std::to_string(bytes.size() - from - used);
      case ParseStatus::failed:
        return "failed " + std::to_string(decoder.failure().status);
    }
  }
  return "incomplete";
}

std::string decoded(const std::string& bytes) {
  return decoded(bytes, {bytes.size()});
}

std::string bodyOf(const MalformedMessage& message) {
  return message.bytes.substr(message.bytes.find("\r\n\r\n") + 4);
}

class MalformedBody : public testing::TestWithParam<MalformedMessage> {};

TEST_P(MalformedBody, Fault_IsRefusedHoweverItIsSplit) {
  const std::string body = bodyOf(GetParam());
  EXPECT_EQ(decoded(body), "failed " + std::to_string(GetParam().status));
  EXPECT_EQ(decoded(body, everyByte(body)), decoded(body));
}

INSTANTIATE_TEST_SUITE_P(All, MalformedBody, testing::ValuesIn(test::malformedChunks()), nameOf);

struct ChunkedBody {
  std::string bytes;
  std::string outcome;  // the body and how many bytes are left over
};

class WellFormedBody : public testing::TestWithParam<ChunkedBody> {};

TEST_P(WellFormedBody, IsDecodedAlikeHoweverItIsSplit) {
  const std::string& bytes = GetParam().bytes;
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    ASSERT_EQ(decoded(bytes, {at, bytes.size()}), GetParam().outcome) << "split at " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WellFormedBody,
    testing::Values(ChunkedBody{"0\r\n\r\n", " +0"}, ChunkedBody{"3\r\nabc\r\n0\r\n\r\n", "abc +0"},
                    ChunkedBody{"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /", "abcde +5"},
                    ChunkedBody{"A\r\n0123456789\r\n000\r\n\r\n", "0123456789 +0"},
                    ChunkedBody{"0000000000000001\r\na\r\n0\r\n\r\n", "a +0"},
                    ChunkedBody{"1;x\r\na\r\n1 ; y=\"z;\"\r\nb\r\n0;end\r\n\r\n", "ab +0"},
                    ChunkedBody{"1\r\na\r\n0\r\nX-T: 1\r\nX-U:\r\n\r\nrest", "a +4"},
                    ChunkedBody{"2\r\n\r\n\r\n0\r\n\r\n", "\r\n +0"}));

TEST(ChunkedDecoder, WaitsForTheTrailers) {
  EXPECT_EQ(decoded("1\r\na\r\n0\r\n"), "incomplete");
}

TEST(ChunkedDecoder, FaultA12_TotalIsLimited) {
  const std::string body = "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
  EXPECT_EQ(decoded(body, {body.size()}, 6), "abcdef +0");
  EXPECT_EQ(decoded(body, {body.size()}, 5), "failed 413");
}

TEST(ChunkedDecoder, ExtensionsOfAllChunksAreLimited) {
  std::string body;
  for (int i = 0; i < 40; ++i) body += "1;" + std::string(500, 'x') + "\r\na\r\n";
  EXPECT_EQ(decoded(body), "failed 400");
}

}  // namespace
}  // namespace larder::http
