#include "larder/http/head_parser.h"

#include <algorithm>
#include <cstring>

#include "chars.h"

namespace larder::http {
namespace {

using detail::isDigit;
using detail::isHexDigit;

Extent extent(std::size_t at, std::size_t size) {
  return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size)};
}

Method methodOf(std::string_view name) {
  switch (name.size()) {
    case 3:
      if (name == "GET") return Method::get;
      if (name == "PUT") return Method::put;
      break;
    case 4:
      if (name == "HEAD") return Method::head;
      if (name == "POST") return Method::post;
      break;
    case 5:
      if (name == "PATCH") return Method::patch;
      break;
    case 6:
      if (name == "DELETE") return Method::del;
      break;
    case 7:
      if (name == "OPTIONS") return Method::options;
      break;
    default:
      break;
  }
  return Method::other;
}

// host [ ":" port ] of RFC 3986, 3.2, without userinfo and never empty.
bool isAuthority(std::string_view text) {
  std::size_t host = 0;
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close == 1) return false;
    for (const char c : text.substr(1, close - 1)) {
      if (!isHexDigit(c) && c != ':' && c != '.') return false;
    }
    host = close + 1;
  } else {
    while (host < text.size() && text[host] != ':') {
      if (text[host] == '%') {
        if (text.size() - host < 3 || !isHexDigit(text[host + 1]) || !isHexDigit(text[host + 2])) {
          return false;
        }
        host += 3;
        continue;
      }
      if (!detail::kHostBytes[static_cast<unsigned char>(text[host])]) return false;
      ++host;
    }
    if (host == 0) return false;
  }
  if (host == text.size()) return true;
  if (text[host] != ':') return false;
  const std::string_view port = text.substr(host + 1);
  if (!std::all_of(port.begin(), port.end(), isDigit) || port.size() > 5) return false;
  int number = 0;
  for (const char c : port) number = number * 10 + (c - '0');
  return number <= 65535;
}

// Length of "http://" or "https://" at the start of the target, any case; else 0.
std::size_t schemeSize(std::string_view target) {
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (equalsIgnoringCase(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

std::string_view splitField(std::string_view line, std::string_view& name,
                            std::string_view& value) noexcept {
  std::size_t colon = 0;
  while (colon < line.size() && detail::isTokenByte(line[colon])) ++colon;
  if (colon == line.size()) return "a field line without a colon";
  if (line[colon] != ':') {
    const char c = line[colon];
    if (c == ' ' || c == '\t') {
      return colon == 0 ? "a folded field line" : "white space before a field's colon";
    }
    return "a byte that a field name may not hold";
  }
  if (colon == 0) return "a field without a name";
  std::size_t from = colon + 1;
  std::size_t to = line.size();
  while (from < to && (line[from] == ' ' || line[from] == '\t')) ++from;
  while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\t')) --to;
  name = line.substr(0, colon);
  value = line.substr(from, to - from);
  if (!detail::isFieldContent(value)) return "a control byte in a field value";
  return {};
}

void HeadParser::reset() noexcept {
  failure_ = {};
  seen_ = {};
  line_ = 0;
  scanned_ = 0;
}

bool HeadParser::fail(int status, std::string_view reason) noexcept {
  failure_ = {status, reason};
  return false;
}

ParseStatus HeadParser::parse(std::string_view bytes, RequestHead& head) {
  head.rebase(bytes.data());
  for (;;) {
    const std::size_t limit = seen_.request_line ? limits_.head : limits_.request_line;
    const char* const from = bytes.data() + scanned_;
    const void* const feed = std::memchr(from, '\n', bytes.size() - scanned_);
    const std::size_t end =
        feed == nullptr ? bytes.size()
                        : static_cast<std::size_t>(static_cast<const char*>(feed) - bytes.data());
    if (end > limit) {
      if (seen_.request_line) {
        fail(431, "the head is larger than the limit");
      } else {
        fail(414, "the request line is longer than the limit");
      }
      return ParseStatus::failed;
    }
    if (feed == nullptr) {
      scanned_ = bytes.size();
      return ParseStatus::incomplete;
    }
    if (end == line_ || bytes[end - 1] != '\r') {
      fail(400, "a line that ends without a carriage return");
      return ParseStatus::failed;
    }
    const std::size_t at = line_;
    const std::string_view line = bytes.substr(at, end - 1 - at);
    line_ = scanned_ = end + 1;
    if (!seen_.request_line) {
      // RFC 9112, 2.2: an empty line before a request is skipped; two, since some clients end a
      // body with one of their own.
      if (line.empty() && line_ <= 4) continue;
      if (!parseRequestLine(line, at, head)) return ParseStatus::failed;
      seen_.request_line = true;
    } else if (!line.empty()) {
      if (!parseField(line, at, head)) return ParseStatus::failed;
    } else {
      head.size_ = line_;
      return finish(head) ? ParseStatus::complete : ParseStatus::failed;
    }
  }
}

bool HeadParser::parseRequestLine(std::string_view line, std::size_t at, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return fail(400, "the request line is not: method, target, version");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  head.method_name_ = extent(at, first);
  head.target_ = extent(at + first + 1, target.size());
  return parseVersion(line.substr(last + 1), head) && parseMethod(line.substr(0, first), head) &&
         parseTarget(target, at + first + 1, head);
}

bool HeadParser::parseMethod(std::string_view name, RequestHead& head) {
  head.method_ = methodOf(name);
  if (head.method_ == Method::other) {
    if (!detail::isToken(name)) return fail(400, "the method is not a token");
    if (name == "CONNECT") return fail(501, "CONNECT is not implemented");
  }
  return true;
}

bool HeadParser::parseVersion(std::string_view version, RequestHead& head) {
  if (version.size() != 8 || !version.starts_with("HTTP/") || !isDigit(version[5]) ||
      version[6] != '.' || !isDigit(version[7])) {
    return fail(400, "the request line does not end in an HTTP version");
  }
  if (version[5] != '1') return fail(505, "this server speaks HTTP/1.0 and HTTP/1.1");
  head.minor_version_ = version[7] == '0' ? 0 : 1;
  return true;
}

bool HeadParser::parseTarget(std::string_view target, std::size_t at, RequestHead& head) {
  if (!detail::isTarget(target)) {
    return fail(400, "a byte that a request target may not hold");
  }
  std::size_t path = 0;
  if (target.front() != '/') {
    if (target == "*" && head.method_ == Method::options) {
      head.path_ = head.target_;
      return true;
    }
    path = schemeSize(target);
    if (path == 0) return fail(400, "the request target is neither a path nor an http URI");
    const std::size_t authority = path;
    path = std::min(target.find_first_of("/?", authority), target.size());
    if (!isAuthority(target.substr(authority, path - authority))) {
      return fail(400, "the request target's host is malformed");
    }
    head.authority_ = extent(at + authority, path - authority);
    seen_.absolute_target = true;
  }
  const std::size_t mark = std::min(target.find('?', path), target.size());
  head.path_ = extent(at + path, mark - path);
  if (mark < target.size()) head.query_ = extent(at + mark + 1, target.size() - mark - 1);
  return true;
}

bool HeadParser::parseField(std::string_view line, std::size_t at, RequestHead& head) {
  std::string_view name;
  std::string_view value;
  if (const std::string_view problem = splitField(line, name, value); !problem.empty()) {
    return fail(400, problem);
  }
  if (head.fields_.size() >= limits_.fields) return fail(431, "more fields than the limit");
  const std::size_t value_at = at + static_cast<std::size_t>(value.data() - line.data());
  head.fields_.push_back({extent(at, name.size()), extent(value_at, value.size())});
  return noteField(name, value, value_at, head);
}

// Remembers what decides where the message ends and for whom it is.
bool HeadParser::noteField(std::string_view name, std::string_view value, std::size_t value_at,
                           RequestHead& head) {
  switch (name.size()) {
    case 4:
      if (equalsIgnoringCase(name, "host")) {
        if (seen_.host) return fail(400, "more than one Host field");
        if (!isAuthority(value)) return fail(400, "the Host field is malformed");
        seen_.host = true;
        if (!seen_.absolute_target) head.authority_ = extent(value_at, value.size());
      }
      break;
    case 6:
      if (equalsIgnoringCase(name, "expect")) {
        forEachListElement(value, [this](std::string_view expectation) {
          const bool is_continue = equalsIgnoringCase(expectation, "100-continue");
          (is_continue ? seen_.expect_continue : seen_.expect_other) = true;
          return true;
        });
      }
      break;
    case 10:
      if (equalsIgnoringCase(name, "connection")) {
        forEachListElement(value, [this](std::string_view option) {
          if (equalsIgnoringCase(option, "close")) seen_.close = true;
          if (equalsIgnoringCase(option, "keep-alive")) seen_.keep_alive = true;
          return true;
        });
      }
      break;
    case 14:
      if (equalsIgnoringCase(name, "content-length")) return noteContentLength(value, head);
      break;
    case 17:
      if (equalsIgnoringCase(name, "transfer-encoding")) return noteTransferEncoding(value);
      break;
    default:
      break;
  }
  return true;
}

bool HeadParser::noteContentLength(std::string_view value, RequestHead& head) {
  if (seen_.content_length) return fail(400, "more than one Content-Length field");
  seen_.content_length = true;
  // 18 digits always fit; nobody has a reason to write more.
  if (value.empty() || value.size() > 18 || !std::all_of(value.begin(), value.end(), isDigit)) {
    return fail(400, "Content-Length is not a plain number");
  }
  std::uint64_t length = 0;
  for (const char c : value) length = length * 10 + static_cast<std::uint64_t>(c - '0');
  head.content_length_ = length;
  return true;
}

bool HeadParser::noteTransferEncoding(std::string_view value) {
  seen_.transfer_encoding = true;
  bool any = false;
  const bool good = forEachListElement(value, [this, &any](std::string_view coding) {
    any = true;
    // Nothing may follow chunked, chunked itself included (RFC 9112, 6.1).
    if (seen_.chunked) return fail(400, "a transfer coding after chunked");
    if (equalsIgnoringCase(coding, "chunked")) {
      seen_.chunked = true;
      return true;
    }
    const std::string_view name = coding.substr(0, coding.find_first_of("; \t"));
    if (!detail::isToken(name) || equalsIgnoringCase(name, "chunked")) {
      return fail(400, "Transfer-Encoding is malformed");
    }
    seen_.unknown_coding = true;
    return true;
  });
  return good && (any || fail(400, "Transfer-Encoding is empty"));
}

bool HeadParser::finish(RequestHead& head) {
  if (!seen_.host && head.minor_version_ > 0) return fail(400, "no Host field");
  if (seen_.transfer_encoding) {
    if (seen_.content_length) return fail(400, "Content-Length together with Transfer-Encoding");
    if (head.minor_version_ == 0) return fail(400, "Transfer-Encoding in HTTP/1.0");
    if (seen_.unknown_coding) return fail(501, "a transfer coding that is not implemented");
    head.framing_ = Framing::chunked;
  } else if (seen_.content_length && head.content_length_ > 0) {
    if (head.content_length_ > limits_.body) return fail(413, "the body is larger than the limit");
    head.framing_ = Framing::length;
  }
  head.keep_alive_ = !seen_.close && (head.minor_version_ > 0 || seen_.keep_alive);
  if (head.minor_version_ > 0) {
    if (seen_.expect_other) return fail(417, "an expectation that is not implemented");
    head.expects_continue_ = seen_.expect_continue && head.framing_ != Framing::none;
  }
  return true;
}

}  // namespace larder::http
