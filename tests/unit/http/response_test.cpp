#include "larder/http/response.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "larder/http/holder.h"
#include "response_head.h"

namespace larder::http {
namespace {

using namespace std::string_literals;

std::string headOf(const Response& response, const AnswerContext& context = {}) {
  std::string out;
  appendHead(out, response, context);
  return out;
}

struct HeaderCase {
  std::string name;
  std::string value;
  HeaderStatus status;
};

class Headers : public testing::TestWithParam<HeaderCase> {};

TEST_P(Headers, FaultA09_AreCheckedBeforeTheyAreSent) {
  Response response;
  EXPECT_EQ(response.addHeader(GetParam().name, GetParam().value), GetParam().status);
  EXPECT_EQ(response.broken(), GetParam().status != HeaderStatus::ok);
}

INSTANTIATE_TEST_SUITE_P(
    All, Headers,
    testing::Values(HeaderCase{"X-A", "b", HeaderStatus::ok},
                    HeaderCase{"X-A", "", HeaderStatus::ok},
                    HeaderCase{"X-A", "\tb \u00e9", HeaderStatus::ok},
                    HeaderCase{"X-A", "a\r\nX-B: c", HeaderStatus::bad_value},
                    HeaderCase{"X-A", "a\nX-B: c", HeaderStatus::bad_value},
                    HeaderCase{"X-A", "a\rb", HeaderStatus::bad_value},
                    HeaderCase{"X-A", "a\0b"s, HeaderStatus::bad_value},
                    HeaderCase{"X-A", "a\x7F", HeaderStatus::bad_value},
                    HeaderCase{"X-A", "a\x1B[0m and some more", HeaderStatus::bad_value},
                    HeaderCase{"Location", "/x\r\n\r\n<b>", HeaderStatus::bad_value},
                    HeaderCase{"Set-Cookie", "a=b\r\nSet-Cookie: c=d", HeaderStatus::bad_value},
                    HeaderCase{"", "b", HeaderStatus::bad_name},
                    HeaderCase{"X A", "b", HeaderStatus::bad_name},
                    HeaderCase{"X-A:", "b", HeaderStatus::bad_name},
                    HeaderCase{"X-A\r\nX-B", "b", HeaderStatus::bad_name},
                    HeaderCase{"X\0A"s, "b", HeaderStatus::bad_name},
                    HeaderCase{"content-length", "1", HeaderStatus::reserved},
                    HeaderCase{"Transfer-Encoding", "chunked", HeaderStatus::reserved},
                    HeaderCase{"Connection", "close", HeaderStatus::reserved},
                    HeaderCase{"Date", "today", HeaderStatus::reserved}));

TEST(Response, MadeAnswerHasStatusLinesAndLength) {
  Response response;
  response.setStatus(404);
  response.addHeader("X-A", "b");
  response.setBody("gone");
  EXPECT_EQ(headOf(response, {.date_line = "Date: d\r\n"}),
            "HTTP/1.1 404 Not Found\r\nX-A: b\r\nContent-Length: 4\r\nDate: d\r\n\r\n");
}

TEST(Response, StoredAnswerOnlyGetsWhatChanges) {
  Response response;
  response.useStored("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", "body", Holder());
  response.addHeader("Age", "3");
  EXPECT_EQ(headOf(response, {.date_line = "Date: d\r\n"}), "Age: 3\r\nDate: d\r\n\r\n");
}

TEST(Response, StoredAnswerTellsItsStatus) {
  Response response;
  response.useStored("HTTP/1.1 301 Moved Permanently\r\n", "", Holder());
  EXPECT_EQ(response.status(), 301);
}

TEST(Response, MutilatedStoredHeadIsNotSent) {
  Response response;
  response.useStored("HTTP", "", Holder());
  EXPECT_TRUE(response.broken());
}

TEST(Response, UnknownStatusHasAnEmptyReason) {
  Response response;
  response.setStatus(299);
  EXPECT_EQ(headOf(response), "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n");
}

TEST(Response, StatusOutsideTheRangeIsNotSent) {
  Response response;
  response.setStatus(101);
  EXPECT_TRUE(response.broken());
}

TEST(Response, NotModifiedHasNoLength) {
  Response response;
  response.setStatus(304);
  EXPECT_EQ(headOf(response), "HTTP/1.1 304 Not Modified\r\n\r\n");
}

TEST(Response, ConnectionIsToldWhenItIsNotTheDefault) {
  Response response;
  response.setStatus(204);
  EXPECT_EQ(headOf(response, {.keep_alive = false}),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(headOf(response, {.minor_version = 0, .keep_alive = true}),
            "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
}

TEST(Response, HeadAndBodilessStatusesSendNoBody) {
  EXPECT_TRUE(sendsBody(Method::get, 200));
  EXPECT_FALSE(sendsBody(Method::head, 200));
  EXPECT_FALSE(sendsBody(Method::get, 204));
  EXPECT_FALSE(sendsBody(Method::get, 304));
}

TEST(DateLine, IsRenderedOnceASecond) {
  DateLine line;
  line.update(784111777'000);
  EXPECT_EQ(line.text(), "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  const char* const before = line.text().data();
  line.update(784111777'999);
  EXPECT_EQ(line.text().data(), before);
  line.update(784111778'000);
  EXPECT_EQ(line.text(), "Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
}

// Counts who is alive and who was made durable.
struct Tracked {
  explicit Tracked(int& alive_in, int& durable_in) : alive(&alive_in), durable(&durable_in) {
    ++*alive;
  }
  Tracked(Tracked&& other) noexcept
      : alive(std::exchange(other.alive, nullptr)), durable(other.durable) {}
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() {
    if (alive != nullptr) --*alive;
  }
  void makeDurable() noexcept { ++*durable; }
  int* alive;
  int* durable;
};

TEST(Holder, OwnsUntilItIsReset) {
  int alive = 0;
  int durable = 0;
  Holder holder{Tracked(alive, durable)};
  EXPECT_EQ(alive, 1);
  holder.reset();
  EXPECT_EQ(alive, 0);
}

TEST(Holder, MovesItsObject) {
  int alive = 0;
  int durable = 0;
  Holder first{Tracked(alive, durable)};
  Holder second = std::move(first);
  first.reset();  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(alive, 1);
  second = Holder();
  EXPECT_EQ(alive, 0);
}

TEST(Holder, PassesOnMakeDurable) {
  int alive = 0;
  int durable = 0;
  Holder holder{Tracked(alive, durable)};
  holder.makeDurable();
  EXPECT_EQ(durable, 1);
}

TEST(Holder, HoldsAnyMovable) {
  auto text = std::make_shared<const std::string>("kept");
  Holder holder{text};
  holder.makeDurable();
  EXPECT_EQ(text.use_count(), 2);
}

}  // namespace
}  // namespace larder::http
