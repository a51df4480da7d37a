// HeadParser: a strict, incremental parser of request heads (RFC 9112).
//
//   HeadParser parser(limits);
//   RequestHead head;
//   switch (parser.parse(bytes, head)) {          // all bytes of the message so far
//     case ParseStatus::incomplete: read more, append, call again; break;
//     case ParseStatus::complete:   the body begins at bytes[head.size()]; break;
//     case ParseStatus::failed:     answer parser.failure().status, close; break;
//   }
//
// What is ambiguous is refused, never repaired: bare line feeds, folded lines, space before a
// colon, control bytes, several or odd Content-Length fields, Content-Length with
// Transfer-Encoding, any transfer coding but one `chunked`, a missing, double or malformed Host,
// userinfo in a target. The outcome does not depend on how the bytes were split, and the work is
// linear in their number. Limits are checked on what has arrived, so a caller need never buffer
// much more than they allow.
//
// No allocation beyond the head's list of fields. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "larder/http/message.h"

namespace larder::http {

struct ParserLimits {
  std::size_t request_line = 16 * 1024UL;  ///< bytes; more is 414
  std::size_t head = 32 * 1024UL;          ///< bytes of request line and fields; more is 431
  std::size_t fields = 100;                ///< more is 431
  std::uint64_t body = 2UL * 1024 * 1024;  ///< bytes, declared or received; more is 413
};

enum class ParseStatus : std::uint8_t { incomplete, complete, failed };

/// Why a message was refused: the status to answer with, and static text for page and log.
struct ParseFailure {
  int status = 400;
  std::string_view reason;
};

class HeadParser {
 public:
  explicit HeadParser(const ParserLimits& limits = {}) noexcept : limits_(limits) {}

  /// `bytes` begins with the first byte of the message and holds at least what it held at the call
  /// before; it may lie elsewhere. After `complete` or `failed`, reset() comes first.
  ParseStatus parse(std::string_view bytes, RequestHead& head);
  [[nodiscard]] const ParseFailure& failure() const noexcept { return failure_; }
  /// True once the request line has been read.
  [[nodiscard]] bool sawRequestLine() const noexcept { return seen_.request_line; }
  void reset() noexcept;

 private:
  struct Seen {
    bool request_line = false;
    bool absolute_target = false;
    bool host = false;
    bool content_length = false;
    bool transfer_encoding = false;
    bool chunked = false;
    bool unknown_coding = false;
    bool close = false;
    bool keep_alive = false;
    bool expect_continue = false;
    bool expect_other = false;
  };

  bool fail(int status, std::string_view reason) noexcept;
  bool parseRequestLine(std::string_view line, std::size_t at, RequestHead& head);
  bool parseMethod(std::string_view name, RequestHead& head);
  bool parseTarget(std::string_view target, std::size_t at, RequestHead& head);
  bool parseVersion(std::string_view version, RequestHead& head);
  bool parseField(std::string_view line, std::size_t at, RequestHead& head);
  bool noteField(std::string_view name, std::string_view value, std::size_t value_at,
                 RequestHead& head);
  bool noteContentLength(std::string_view value, RequestHead& head);
  bool noteTransferEncoding(std::string_view value);
  bool finish(RequestHead& head);

  ParserLimits limits_;
  ParseFailure failure_;
  Seen seen_;
  std::size_t line_ = 0;     // where the line being read begins
  std::size_t scanned_ = 0;  // bytes known to hold no line feed from line_ on
};

/// Splits a field line without its line end into name and value (white space around the value
/// dropped). Static text saying what is wrong, or empty. Used for heads and for trailers.
[[nodiscard]] std::string_view splitField(std::string_view line, std::string_view& name,
                                          std::string_view& value) noexcept;

}  // namespace larder::http
