// Response: what a handler fills. Either a stored page, given as complete bytes that a cache entry
// keeps alive, or an answer made now.
//
//   response.useStored(page.head, page.body, Holder(std::move(entry)));   // a hit: no copy
//   response.addHeader("Age", "12");
//
//   response.setStatus(404);                                              // made now
//   response.addHeader("Content-Type", "text/plain; charset=utf-8");
//   response.setBody("no such page\n");
//
// The front adds Date, Connection and Content-Length, sends no body to HEAD, with 204 or with 304,
// and answers 500 instead of a response for which a header was refused. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larder/http/holder.h"

namespace larder::http {

enum class HeaderStatus : std::uint8_t {
  ok,
  bad_name,   ///< not a token
  bad_value,  ///< CR, LF, NUL or another control byte
  reserved,   ///< the front's own: Connection, Content-Length, Date, Transfer-Encoding ...
};

/// Static text for the person whose code set the header.
[[nodiscard]] std::string_view describe(HeaderStatus status) noexcept;

/// What Response::addHeader would say.
[[nodiscard]] HeaderStatus checkHeader(std::string_view name, std::string_view value) noexcept;

/// Reason phrase of a status; empty when it has none.
[[nodiscard]] std::string_view reasonPhrase(int status) noexcept;

class Response {
 public:
  Response() = default;
  Response(Response&&) noexcept = default;
  Response& operator=(Response&&) noexcept = default;

  /// `head`: complete lines from "HTTP/1.1 200 OK\r\n" on, each with its line end, Content-Length
  /// among them, the empty line not. Head and body live as long as `holder` does.
  void useStored(std::string_view head, std::string_view body, Holder holder) noexcept;

  /// 200 to 599; anything else makes the answer a 500.
  void setStatus(int status) noexcept;
  /// One more line, for stored pages too. Whatever but ok makes the answer a 500.
  HeaderStatus addHeader(std::string_view name, std::string_view value);
  void setBody(std::string body) noexcept;
  /// A body kept alive by `holder`.
  void setBody(std::string_view body, Holder holder) noexcept;
  /// The connection is closed after this answer.
  void closeConnection() noexcept { close_ = true; }

  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] bool stored() const noexcept { return !stored_head_.empty(); }
  [[nodiscard]] std::string_view storedHead() const noexcept { return stored_head_; }
  /// The lines of addHeader().
  [[nodiscard]] std::string_view lines() const noexcept { return lines_; }
  [[nodiscard]] std::string_view body() const noexcept {
    return own_body_.empty() ? body_ : std::string_view(own_body_);
  }
  [[nodiscard]] bool closesConnection() const noexcept { return close_; }
  /// A header or status was refused; nothing that was set may be sent.
  [[nodiscard]] bool broken() const noexcept { return broken_; }

  void makeDurable() noexcept { holder_.makeDurable(); }
  /// Gives the body's owner away; body() stays valid as long as that lives.
  [[nodiscard]] Holder takeHolder() noexcept { return std::move(holder_); }
  [[nodiscard]] std::string takeOwnBody() noexcept { return std::move(own_body_); }
  /// Back to an empty 200; keeps the memory.
  void clear() noexcept;

 private:
  std::string_view stored_head_;
  std::string_view body_;
  std::string lines_;
  std::string own_body_;
  Holder holder_;
  int status_ = 200;
  bool close_ = false;
  bool broken_ = false;
};

}  // namespace larder::http
