#include "larder/http/page_head.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "parsed_request.h"

namespace larder::http {
namespace {

using test::ParsedRequest;

Page pageOf(std::string body, std::string type = "text/html; charset=utf-8") {
  Page page;
  page.setHeader("Content-Type", std::move(type));
  page.body = std::move(body);
  return page;
}

Page finished(Page page, const PageHeadOptions& options = {}) {
  const auto result = finishPage(page, options);
  EXPECT_TRUE(result) << result.error().message;
  return page;
}

const std::string kLongText(5000, 'x');

std::string gunzip(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out(100'000, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

// Value of a line of a head, or "-".
std::string lineOf(std::string_view head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string_view::npos) return "-";
  const std::size_t from = at + 4 + name.size();
  return std::string(head.substr(from, head.find("\r\n", from) - from));
}

struct Answer {
  Value page;
  Precondition precondition;
  Response response;
};

Answer answerTo(const Page& page, const std::string& fields, const std::string& method = "GET") {
  const ParsedRequest request(fields, method);
  Answer answer{.page = page, .precondition = {}, .response = {}};
  answer.precondition =
      answerWithPage(request.request(), *answer.page.page(), Holder(), answer.response);
  return answer;
}

TEST(PageHead, IsCompleteButForWhatChanges) {
  Page page = pageOf("hello", "text/plain");
  page.last_modified = 784111777'999;
  page = finished(std::move(page));
  EXPECT_EQ(page.head,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nETag: \"" +
                page.etag + "\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

TEST(PageHead, EtagIsAHashOfTheContent) {
  EXPECT_EQ(finished(pageOf("a")).etag.size(), 32U);
  EXPECT_EQ(finished(pageOf("a")).etag, finished(pageOf("a", "text/plain")).etag);
  EXPECT_NE(finished(pageOf("a")).etag, finished(pageOf("b")).etag);
}

TEST(PageHead, Semantics14_RedirectKeepsStatusAndLocation) {
  Page page;
  page.status = 302;
  page.setHeader("Location", "/elsewhere");
  EXPECT_EQ(finished(std::move(page)).head,
            "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n");
}

TEST(PageHead, NoContentHasNoLength) {
  Page page;
  page.status = 204;
  EXPECT_EQ(finished(std::move(page)).head, "HTTP/1.1 204 No Content\r\n");
}

TEST(PageHead, LongTextGetsAGzipForm) {
  EXPECT_EQ(gunzip(finished(pageOf(kLongText)).gzip), kLongText);
}

TEST(PageHead, GzipOfTheSameBodyIsTheSame) {
  EXPECT_EQ(finished(pageOf(kLongText)).gzip, finished(pageOf(kLongText)).gzip);
}

TEST(PageHead, GzipIsKeptOnlyIfSmaller) {
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(state >> 24));
  }
  EXPECT_EQ(finished(pageOf(noise)).gzip, "");
}

TEST(PageHead, ShortTextIsNotCompressed) {
  EXPECT_EQ(finished(pageOf("short")).gzip, "");
}

TEST(PageHead, PicturesAreNotCompressed) {
  EXPECT_EQ(finished(pageOf(kLongText, "image/png")).gzip, "");
}

TEST(PageHead, WhatTheViewHasCompressedIsLeftAlone) {
  Page page = pageOf(kLongText);
  page.setHeader("Content-Encoding", "br");
  EXPECT_EQ(finished(std::move(page)).gzip, "");
}

TEST(PageHead, CompressingCanBeSwitchedOff) {
  EXPECT_EQ(finished(pageOf(kLongText), {.compress = false}).gzip, "");
}

TEST(PageHead, AStoredPageGetsTheSameHeadsFromItsOwnTagAndGzip) {
  const Page page = finished(pageOf(kLongText));
  Page stored = page;
  stored.head.clear();
  stored.gzip_head.clear();
  ASSERT_TRUE(finishStoredPage(stored));
  EXPECT_EQ(stored.head, page.head);
  EXPECT_EQ(stored.gzip_head, page.gzip_head);
  EXPECT_EQ(stored.gzip, page.gzip);
}

TEST(PageHead, AStoredPageThatWasNotCompressedStaysSo) {
  Page stored = finished(pageOf(kLongText), {.compress = false});
  ASSERT_TRUE(finishStoredPage(stored));
  EXPECT_EQ(stored.gzip, "");
  EXPECT_EQ(stored.gzip_head, "");
}

TEST(PageHead, JsonAndSvgAreText) {
  EXPECT_NE(finished(pageOf(kLongText, "application/json")).gzip, "");
  EXPECT_NE(finished(pageOf(kLongText, "image/svg+xml")).gzip, "");
}

TEST(PageHead, FaultA25_BothFormsVaryByEncoding) {
  const Page page = finished(pageOf(kLongText));
  EXPECT_EQ(lineOf(page.head, "Vary"), "Accept-Encoding");
  EXPECT_EQ(lineOf(page.gzip_head, "Vary"), "Accept-Encoding");
}

TEST(PageHead, FaultA25_EachFormHasItsOwnTag) {
  const Page page = finished(pageOf(kLongText));
  EXPECT_NE(lineOf(page.head, "ETag"), lineOf(page.gzip_head, "ETag"));
}

TEST(PageHead, FaultA25_TheFormSuitsTheClientWhicheverCameFirst) {
  const Page page = finished(pageOf(kLongText));
  EXPECT_EQ(answerTo(page, "Accept-Encoding: gzip\r\n").response.body(), page.gzip);
  EXPECT_EQ(answerTo(page, "").response.body(), page.body);
  EXPECT_EQ(answerTo(page, "Accept-Encoding: gzip;q=0\r\n").response.body(), page.body);
  EXPECT_EQ(answerTo(page, "Accept-Encoding: gzip\r\n").response.storedHead(), page.gzip_head);
}

TEST(PageHead, FaultA25_OnlyTheMatchingFormIsConfirmed) {
  const Page page = finished(pageOf(kLongText));
  const std::string identity = "If-None-Match: " + lineOf(page.head, "ETag") + "\r\n";
  const std::string gzip = "If-None-Match: " + lineOf(page.gzip_head, "ETag") + "\r\n";
  const std::string accept = "Accept-Encoding: gzip\r\n";
  EXPECT_EQ(answerTo(page, identity).precondition, Precondition::not_modified);
  EXPECT_EQ(answerTo(page, gzip).precondition, Precondition::proceed);
  EXPECT_EQ(answerTo(page, accept + gzip).precondition, Precondition::not_modified);
  EXPECT_EQ(answerTo(page, accept + identity).precondition, Precondition::proceed);
}

TEST(PageHead, FaultA26_NotModifiedRepeatsTheHeadersItMust) {
  Page page = pageOf("hello");
  page.setHeader("Cache-Control", "max-age=60");
  page.setHeader("Content-Location", "/there");
  page.setHeader("X-Other", "no");
  page = finished(std::move(page), {.vary = "Accept-Language"});
  const Answer answer = answerTo(page, "If-None-Match: *\r\n");
  EXPECT_EQ(answer.response.status(), 304);
  EXPECT_EQ(answer.response.body(), "");
  EXPECT_EQ(answer.response.lines(),
            "Cache-Control: max-age=60\r\nContent-Location: /there\r\nETag: \"" + page.etag +
                "\"\r\nVary: Accept-Language\r\n");
}

TEST(PageHead, FailedPreconditionIs412) {
  EXPECT_EQ(answerTo(finished(pageOf("hello")), "If-Match: \"x\"\r\n").response.status(), 412);
}

TEST(PageHead, Semantics37_WhatAnActionDidIsNotAnsweredWithAFailedPrecondition) {
  const Page page = finished(pageOf("done"));
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    for (const char* condition : {"If-Match: \"x\"\r\n", "If-None-Match: *\r\n"}) {
      const Answer answer = answerTo(page, condition, method);
      EXPECT_EQ(answer.precondition, Precondition::proceed) << method << ' ' << condition;
      EXPECT_EQ(answer.response.body(), "done") << method << ' ' << condition;
    }
  }
  EXPECT_EQ(answerTo(page, "If-None-Match: *\r\n", "HEAD").precondition,
            Precondition::not_modified);
}

TEST(PageHead, OnlySuccessIsConditional) {
  Page page = pageOf("gone");
  page.status = 404;
  EXPECT_EQ(answerTo(finished(std::move(page)), "If-None-Match: *\r\n").response.status(), 404);
}

TEST(PageHead, VaryJoinsWhatWasLearnedAndWhatTheViewSaid) {
  Page page = pageOf(kLongText);
  page.setHeader("Vary", "Cookie, accept-language");
  page = finished(std::move(page), {.vary = "Accept-Language, X-A"});
  EXPECT_EQ(lineOf(page.head, "Vary"), "Cookie, accept-language, X-A, Accept-Encoding");
}

TEST(PageHead, WhatTheViewSaysAboutDerivedHeadersIsLeftOut) {
  Page page = pageOf("hello");
  page.headers.push_back({"ETag", "\"mine\""});
  page.headers.push_back({"Content-Length", "999"});
  page.headers.push_back({"Date", "now"});
  page = finished(std::move(page));
  EXPECT_EQ(lineOf(page.head, "Content-Length"), "5");
  EXPECT_EQ(lineOf(page.head, "ETag"), "\"" + page.etag + "\"");
  EXPECT_EQ(lineOf(page.head, "Date"), "-");
}

TEST(PageHead, FaultA09_HeaderWithALineEndIsRefusedByName) {
  Page page = pageOf("hello");
  page.headers.push_back({"X-Bad", "a\r\nSet-Cookie: b"});
  const auto result = finishPage(page);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'X-Bad'"), std::string::npos);
}

TEST(PageHead, FaultA09_VaryWithALineEndIsRefusedByName) {
  Page page = pageOf("hello");
  page.headers.push_back({"Vary", "X-A, X-B\r\nSet-Cookie: b"});
  const auto result = finishPage(page);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'Vary'"), std::string::npos);
}

TEST(PageHead, FaultA34_AStoredTagThatNoPageGetsIsRefused) {
  Page page = finished(pageOf("hello"));
  page.etag = "\"\r\nSet-Cookie: x=0123456789abcd\"";
  EXPECT_FALSE(finishStoredPage(page));
}

TEST(PageHead, FaultA09_TransferEncodingIsRefused) {
  Page page = pageOf("hello");
  page.headers.push_back({"Transfer-Encoding", "chunked"});
  EXPECT_FALSE(finishPage(page));
}

TEST(PageHead, StatusOutsideTheRangeIsRefused) {
  Page page;
  page.status = 100;
  EXPECT_FALSE(finishPage(page));
}

}  // namespace
}  // namespace larder::http
