// Value: what a cached call yields: a page (status, headers, body) or a structured document.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "larder/clock.h"
#include "larder/document.h"

namespace larder {

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

/// A response as a view made it, plus what is derived from it once, when it is made and not at each
/// hit. Built mutable by one thread, shared immutable afterwards.
struct Page {
  int status = 200;
  /// Content-Type, Location and whatever the view set; without Content-Length, ETag, Last-Modified,
  /// Date.
  std::vector<Header> headers;
  std::string body;

  // Derived by finishing (framework/http's page_head); empty for a page that never leaves over
  // HTTP.
  /// gzip of the body, kept only if smaller; else empty.
  std::string gzip;
  /// Strong validator of the identity body: 32 hexadecimal digits of its digest, without quotes.
  std::string etag;
  /// Wall clock, 0 if unknown.
  Millis last_modified = 0;
  /// Complete header lines from the status line on, for the identity and the gzip body.
  std::string head;
  std::string gzip_head;

  /// Value of a header (name compared without case), or null.
  [[nodiscard]] const std::string* header(std::string_view name) const noexcept;
  void setHeader(std::string_view name, std::string value);
  [[nodiscard]] std::size_t bytes() const noexcept;
};

class Value {
 public:
  /// The null document.
  Value() = default;
  Value(Document document) : value_(std::move(document)) {}
  Value(std::shared_ptr<const Page> page) : value_(std::move(page)) {}
  Value(Page page) : value_(std::make_shared<const Page>(std::move(page))) {}

  /// The page, or null when this is a document.
  [[nodiscard]] const Page* page() const noexcept {
    const auto* p = std::get_if<std::shared_ptr<const Page>>(&value_);
    return p ? p->get() : nullptr;
  }
  /// The shared page, or null when this is a document.
  [[nodiscard]] std::shared_ptr<const Page> sharedPage() const noexcept {
    const auto* p = std::get_if<std::shared_ptr<const Page>>(&value_);
    return p ? *p : nullptr;
  }
  /// The document; the null document when this is a page.
  [[nodiscard]] const Document& document() const noexcept {
    static const Document kNone{};
    const auto* d = std::get_if<Document>(&value_);
    return d ? *d : kNone;
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    const Page* p = page();
    return p ? p->bytes() : document().bytes();
  }

 private:
  std::variant<Document, std::shared_ptr<const Page>> value_;
};

}  // namespace larder
