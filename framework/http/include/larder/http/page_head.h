// From a page to the bytes that leave for it: everything that can be made once, when the page is
// made, and not at each hit; and how a hit answers a request from it.
//
//   Page page = render();
//   if (auto done = finishPage(page); !done) return fail(done.error());
//   ...                                                       // stored, found again
//   answerWithPage(request, page, Holder(std::move(entry)), response);
//
// Safe from any thread; a page is finished by one.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "larder/http/accept_encoding.h"
#include "larder/http/conditional.h"
#include "larder/http/request.h"
#include "larder/http/response.h"
#include "larder/result.h"
#include "larder/value.h"

namespace larder::http {

struct PageHeadOptions {
  /// Request header names that the page depends on, comma-separated: they go into Vary.
  std::string_view vary = {};
  /// Also make a gzip form, if the type is text and the form is smaller. Off for a page that holds
  /// secrets beside what a visitor sent: its compressed length would tell about them.
  bool compress = true;
  /// Bytes of body from which on that is tried.
  std::size_t compress_from = 256;
};

/// Fills the derived members: etag, gzip, head, gzip_head. Content-Length, ETag and Last-Modified
/// are written by this function; what the page says about them itself is left out. Fails, naming
/// the header, when the page has one that must not be sent.
Result<> finishPage(Page& page, const PageHeadOptions& options = {});

/// For a page that comes from a shared store with its etag and gzip: derives the heads alone.
/// Compressing and hashing it again would cost more than the round trip. Fails as finishPage()
/// does, and for a tag that finishPage() does not make: whoever can write into the store can forge
/// pages.
Result<> finishStoredPage(Page& page);

/// Entity tag of one form of a page, quotes included; empty when the page has none. The forms have
/// different tags, since they are different bytes (RFC 9110, 8.8.3.3).
class PageTag {
 public:
  PageTag(int status, std::string_view etag, Coding coding) noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 48> text_{};
  std::size_t size_ = 0;
};

/// Answers with the form that suits the request, or with 304 or 412 as the preconditions of a GET
/// or HEAD ask; those of other methods are ignored. Only a finished page; `holder` keeps it alive.
/// Returns what the preconditions came to.
Precondition answerWithPage(const Request& request, const PageView& page, Holder holder,
                            Response& response);

}  // namespace larder::http
