#include "larder/http/response.h"

#include <array>

#include "chars.h"
#include "larder/http/message.h"

namespace larder::http {
namespace {

// Fields that decide where a message ends or how the connection goes on, and Date.
constexpr std::array<std::string_view, 9> kReserved = {
    "connection", "content-length",    "date",   "keep-alive", "proxy-connection", "te",
    "trailer",    "transfer-encoding", "upgrade"};

}  // namespace

std::string_view describe(HeaderStatus status) noexcept {
  switch (status) {
    case HeaderStatus::ok:
      return "a good header";
    case HeaderStatus::bad_name:
      return "a header's name is made of letters, digits and !#$%&'*+-.^_`|~ only";
    case HeaderStatus::bad_value:
      return "a header's value holds a line end or another control character";
    case HeaderStatus::reserved:
      return "the server sets this header itself";
  }
  return "";
}

HeaderStatus checkHeader(std::string_view name, std::string_view value) noexcept {
  if (!detail::isToken(name)) return HeaderStatus::bad_name;
  for (const std::string_view reserved : kReserved) {
    if (equalsIgnoringCase(name, reserved)) return HeaderStatus::reserved;
  }
  return detail::isFieldContent(value) ? HeaderStatus::ok : HeaderStatus::bad_value;
}

std::string_view reasonPhrase(int status) noexcept {
  switch (status) {
    // clang-format off
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 423: return "Locked";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "";
      // clang-format on
  }
}

void Response::useStored(std::string_view head, std::string_view body, Holder holder) noexcept {
  stored_head_ = head;
  body_ = body;
  holder_ = std::move(holder);
  // "HTTP/1.1 200 ..."
  if (head.size() < 12 || !detail::isDigit(head[9]) || !detail::isDigit(head[10]) ||
      !detail::isDigit(head[11])) {
    broken_ = true;
    return;
  }
  setStatus((head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0'));
}

void Response::setStatus(int status) noexcept {
  if (status < 200 || status > 599) {
    broken_ = true;
  } else {
    status_ = status;
  }
}

HeaderStatus Response::addHeader(std::string_view name, std::string_view value) {
  const HeaderStatus status = checkHeader(name, value);
  if (status != HeaderStatus::ok) {
    broken_ = true;
    return status;
  }
  lines_.append(name).append(": ").append(value).append("\r\n");
  return status;
}

void Response::setBody(std::string body) noexcept {
  own_body_ = std::move(body);
  body_ = {};
  holder_.reset();
}

void Response::setBody(std::string_view body, Holder holder) noexcept {
  own_body_.clear();
  body_ = body;
  holder_ = std::move(holder);
}

void Response::clear() noexcept {
  stored_head_ = {};
  body_ = {};
  lines_.clear();
  own_body_ = std::string();
  holder_.reset();
  status_ = 200;
  close_ = false;
  broken_ = false;
}

}  // namespace larder::http
