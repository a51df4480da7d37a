#include "response_head.h"

#include <array>
#include <charconv>

#include "larder/http/http_date.h"

namespace larder::http {
namespace {

void appendNumber(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void DateLine::update(Millis wall) noexcept {
  const std::int64_t second = wall / 1000;
  if (second == second_) return;
  second_ = second;
  constexpr std::string_view kName = "Date: ";
  text_.assign(kName);
  text_.resize(kName.size() + kHttpDateSize);
  formatHttpDate(second, text_.data() + kName.size());
  text_.append("\r\n");
}

bool sendsBody(Method method, int status) noexcept {
  return method != Method::head && status != 204 && status != 304;
}

void appendHead(std::string& out, const Response& response, const AnswerContext& context) {
  if (!response.stored()) {
    out.append("HTTP/1.1 ");
    appendNumber(out, static_cast<std::uint64_t>(response.status()));
    out.append(" ").append(reasonPhrase(response.status())).append("\r\n");
  }
  out.append(response.lines());
  if (!response.stored() && response.status() != 204 && response.status() != 304) {
    out.append("Content-Length: ");
    appendNumber(out, response.body().size());
    out.append("\r\n");
  }
  out.append(context.date_line);
  if (!context.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (context.minor_version == 0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

void fillErrorPage(Response& response, int status, std::string_view reason) {
  response.clear();
  response.setStatus(status);
  response.addHeader("Content-Type", "text/plain; charset=utf-8");
  response.addHeader("Cache-Control", "no-store");
  std::string body;
  appendNumber(body, static_cast<std::uint64_t>(status));
  body.append(" ").append(reasonPhrase(status)).append(": ").append(reason).append("\n");
  response.setBody(std::move(body));
}

void fillOverloaded(Response& response) {
  fillErrorPage(response, 503, "all workers are busy");
  response.addHeader("Retry-After", "1");
}

}  // namespace larder::http
