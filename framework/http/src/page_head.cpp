#include "larder/http/page_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gzip.h"
#include "larder/http/http_date.h"
#include "larder/key.h"

namespace larder::http {
namespace {

constexpr std::string_view kGzipSuffix = "-gzip";
constexpr std::size_t kTagDigits = 32;

std::string hexOf(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(kTagDigits);
  for (const std::uint64_t half : {digest.high, digest.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[(half >> shift) & 15]);
  }
  return text;
}

// Types whose bodies are text, and so worth compressing.
bool isText(std::string_view type) {
  const std::string_view name = type.substr(0, type.find_first_of("; \t"));
  const auto has_suffix = [name](std::string_view suffix) {
    return name.size() > suffix.size() &&
           equalsIgnoringCase(name.substr(name.size() - suffix.size()), suffix);
  };
  return equalsIgnoringCase(name.substr(0, 5), "text/") || has_suffix("+xml") ||
         has_suffix("+json") || has_suffix("/json") || has_suffix("/javascript") ||
         has_suffix("/xml");
}

bool hasValidators(int status) {
  return status == 200;
}

// Preconditions count only where the answer would be a success (RFC 9110, 13.2.1), and before what
// they are for is done: of an action, it has been done by now.
bool isConditional(const Request& request, int status) {
  return hasValidators(status) &&
         (request.method() == Method::get || request.method() == Method::head);
}

// Headers whose values do not reach the head.
bool isReplaced(std::string_view name) {
  return equalsIgnoringCase(name, "etag") || equalsIgnoringCase(name, "last-modified") ||
         equalsIgnoringCase(name, "content-length") || equalsIgnoringCase(name, "date");
}

// Headers that the head's writer sets itself.
bool isDerived(std::string_view name) {
  return isReplaced(name) || equalsIgnoringCase(name, "vary");
}

bool isTag(std::string_view etag) {
  return etag.size() == kTagDigits &&
         etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void appendLine(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// The names of all lists together, each once.
std::string joinVary(const Page& page, std::string_view learned, bool by_encoding) {
  std::string joined;
  const auto add = [&joined](std::string_view name) {
    const bool present = !forEachListElement(
        joined, [name](std::string_view other) { return !equalsIgnoringCase(name, other); });
    if (!present) joined.append(joined.empty() ? "" : ", ").append(name);
    return true;
  };
  for (const Header& header : page.headers) {
    if (equalsIgnoringCase(header.name, "vary")) forEachListElement(header.value, add);
  }
  forEachListElement(learned, add);
  if (by_encoding) add("Accept-Encoding");
  return joined;
}

std::string makeHead(const Page& page, Coding coding, std::string_view vary) {
  std::string head = "HTTP/1.1 ";
  head.append(std::to_string(page.status)).append(" ").append(reasonPhrase(page.status));
  head.append("\r\n");
  for (const Header& header : page.headers) {
    if (!isDerived(header.name)) appendLine(head, header.name, header.value);
  }
  if (coding != Coding::identity) appendLine(head, "Content-Encoding", codingName(coding));
  if (page.status != 204 && page.status != 304) {
    const std::string& body = coding == Coding::gzip ? page.gzip : page.body;
    appendLine(head, "Content-Length", std::to_string(body.size()));
  }
  if (hasValidators(page.status)) {
    appendLine(head, "ETag", PageTag(page.status, page.etag, coding).text());
    if (page.last_modified > 0) {
      appendLine(head, "Last-Modified", formatHttpDate(page.last_modified / 1000));
    }
  }
  if (!vary.empty()) appendLine(head, "Vary", vary);
  return head;
}

// The lines of a head that a 304 repeats (RFC 9110, 15.4.5), and Last-Modified.
void copyNotModifiedLines(std::string_view head, Response& response) {
  constexpr std::array<std::string_view, 6> kRepeated = {
      "cache-control", "content-location", "etag", "expires", "last-modified", "vary"};
  head.remove_prefix(head.find('\n') + 1);
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    const bool repeated =
        std::any_of(kRepeated.begin(), kRepeated.end(),
                    [name](std::string_view other) { return equalsIgnoringCase(name, other); });
    if (repeated) response.addHeader(name, line.substr(colon + 2));
  }
}

Result<> checkPage(const Page& page) {
  if (page.status < 200 || page.status > 599) {
    return Error{"the page's status is " + std::to_string(page.status) + ": use 200 to 599"};
  }
  for (const Header& header : page.headers) {
    if (isReplaced(header.name)) continue;
    if (const HeaderStatus status = checkHeader(header.name, header.value);
        status != HeaderStatus::ok) {
      return Error{"the page's header '" + header.name +
                   "' cannot be sent: " + std::string(describe(status))};
    }
  }
  return Done{};
}

void makeHeads(Page& page, std::string_view learned_vary) {
  const std::string vary = joinVary(page, learned_vary, !page.gzip.empty());
  page.head = makeHead(page, Coding::identity, vary);
  page.gzip_head = page.gzip.empty() ? std::string() : makeHead(page, Coding::gzip, vary);
}

}  // namespace

PageTag::PageTag(int status, std::string_view etag, Coding coding) noexcept {
  if (!hasValidators(status) || etag.size() != kTagDigits) return;
  char* out = text_.data();
  *out++ = '"';
  out = std::copy(etag.begin(), etag.end(), out);
  if (coding == Coding::gzip) out = std::copy(kGzipSuffix.begin(), kGzipSuffix.end(), out);
  *out++ = '"';
  size_ = static_cast<std::size_t>(out - text_.data());
}

Result<> finishPage(Page& page, const PageHeadOptions& options) {
  if (auto fit = checkPage(page); !fit) return fit;
  page.etag = hexOf(digestOf(page.body));
  page.gzip.clear();
  const std::string* const type = page.header("Content-Type");
  if (options.compress && page.body.size() >= options.compress_from && type != nullptr &&
      isText(*type) && page.header("Content-Encoding") == nullptr) {
    page.gzip = detail::gzipIfSmaller(page.body);
  }
  makeHeads(page, options.vary);
  return Done{};
}

Result<> finishStoredPage(Page& page) {
  if (auto fit = checkPage(page); !fit) return fit;
  if (!isTag(page.etag)) return Error{"the page's tag is none of a finished page"};
  makeHeads(page, {});
  return Done{};
}

Precondition answerWithPage(const Request& request, const PageView& page, Holder holder,
                            Response& response) {
  const bool has_gzip = !page.gzip.empty();
  const Coding coding =
      has_gzip ? acceptedCodings(request.head()).best({.gzip = true}) : Coding::identity;
  const std::string_view head = coding == Coding::gzip ? page.gzip_head : page.head;
  const std::string_view body = coding == Coding::gzip ? page.gzip : page.body;
  const PageTag tag(page.status, page.etag, coding);
  Validators current{.etag = tag.text(), .last_modified = std::nullopt};
  if (page.last_modified > 0) current.last_modified = page.last_modified / 1000;
  const Precondition precondition = isConditional(request, page.status)
                                        ? evaluatePreconditions(request.head(), current)
                                        : Precondition::proceed;
  switch (precondition) {
    case Precondition::proceed:
      response.useStored(head, body, std::move(holder));
      break;
    case Precondition::not_modified:
      response.setStatus(304);
      copyNotModifiedLines(head, response);
      break;
    case Precondition::failed:
      response.setStatus(412);
      response.addHeader("Content-Type", "text/plain; charset=utf-8");
      response.setBody("412 Precondition Failed: the page is another by now\n");
      break;
  }
  return precondition;
}

}  // namespace larder::http
