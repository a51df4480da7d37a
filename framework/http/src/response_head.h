// The part of a response's head that differs from answer to answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larder/clock.h"
#include "larder/http/message.h"
#include "larder/http/response.h"

namespace larder::http {

/// "Date: ...\r\n", written anew only when the second changes.
class DateLine {
 public:
  /// `wall`: milliseconds since 1970-01-01 UTC.
  void update(Millis wall) noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  std::int64_t second_ = -1;
  std::string text_;
};

struct AnswerContext {
  std::string_view date_line = {};
  int minor_version = 1;
  bool keep_alive = true;
};

/// Whether a response of that status to that method carries its body (RFC 9110, 6.4.1).
[[nodiscard]] bool sendsBody(Method method, int status) noexcept;

/// Appends everything between the response's stored head, if it has one, and its body: for an
/// answer made now, its status line and length too. The empty line comes last.
void appendHead(std::string& out, const Response& response, const AnswerContext& context);

/// Fills `response` with the front's own page for a status: plain text, one line.
void fillErrorPage(Response& response, int status, std::string_view reason);
/// 503 that asks to come again in a second.
void fillOverloaded(Response& response);

}  // namespace larder::http
