// Value: what a cached call yields: a page (status, headers, body) or a structured document.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/document.h"

namespace larder {

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

/// A response while a view makes it, plus what is derived from it once, when it is made and not at
/// each hit. A Value takes it over, and hands out PageViews.
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
  static constexpr std::size_t kMaxEtag = 255;
  std::string etag;
  /// Wall clock, 0 if unknown.
  Millis last_modified = 0;
  /// Complete header lines from the status line on, for the identity and the gzip body.
  std::string head;
  std::string gzip_head;

  /// Value of a header (name compared without case), or null.
  [[nodiscard]] const std::string* header(std::string_view name) const noexcept;
  void setHeader(std::string_view name, std::string value);
};

struct HeaderView {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const HeaderView&, const HeaderView&) = default;
  friend bool operator==(const HeaderView& a, const Header& b) noexcept {
    return a.name == b.name && a.value == b.value;
  }
};

/// The headers of a page that a Value holds.
class HeaderList {
 public:
  using value_type = HeaderView;
  /// Where "name: value" stands in a text.
  struct Span {
    std::uint32_t at;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = HeaderView;
    using difference_type = std::ptrdiff_t;
    using pointer = const HeaderView*;
    using reference = HeaderView;

    const_iterator() noexcept = default;
    const_iterator(const Span* span, const char* text) noexcept : span_(span), text_(text) {}
    HeaderView operator*() const noexcept {
      const char* name = text_ + span_->at;
      return {{name, span_->name_size}, {name + span_->name_size + 2, span_->value_size}};
    }
    const_iterator& operator++() noexcept {
      ++span_;
      return *this;
    }
    const_iterator operator++(int) noexcept { return {span_++, text_}; }
    friend bool operator==(const const_iterator& a, const const_iterator& b) noexcept {
      return a.span_ == b.span_;
    }

   private:
    const Span* span_ = nullptr;
    const char* text_ = nullptr;
  };
  using iterator = const_iterator;

  HeaderList() noexcept = default;
  HeaderList(const Span* spans, std::size_t size, const char* text) noexcept
      : spans_(spans), size_(size), text_(text) {}
  [[nodiscard]] const_iterator begin() const noexcept { return {spans_, text_}; }
  [[nodiscard]] const_iterator end() const noexcept { return {spans_ + size_, text_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  friend bool operator==(const HeaderList& a, const HeaderList& b) noexcept;

 private:
  const Span* spans_ = nullptr;
  std::size_t size_ = 0;
  const char* text_ = nullptr;
};

/// A page that a Value holds, member for member; valid as long as a Value that shares it.
struct PageView {
  int status = 200;
  HeaderList headers;
  std::string_view body;
  std::string_view gzip;
  std::string_view etag;
  Millis last_modified = 0;
  std::string_view head;
  std::string_view gzip_head;

  /// Value of a header (name compared without case), or nothing.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept;
  /// To make another page of it.
  [[nodiscard]] Page copy() const;
};

/// Shares what it holds, which is immutable; copying is cheap.
class Value {
 public:
  /// The null document.
  Value() noexcept = default;
  Value(Document document);
  /// One block holds all of the page. Throws std::length_error for parts of 4 GiB, or an etag of
  /// more than kMaxEtag bytes.
  Value(const Page& page);
  Value(const Value& other) noexcept : block_(other.block_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Value(Value&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Value() {
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(block_);
  }

  [[nodiscard]] bool isPage() const noexcept { return block_ && block_->is_page; }
  /// The page, or nothing when this is a document.
  [[nodiscard]] std::optional<PageView> page() const noexcept;
  /// The document; the null document when this is a page.
  [[nodiscard]] const Document& document() const noexcept;
  /// Bytes on the heap, the allocator's share included.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Block {
    explicit Block(bool of_page) noexcept : is_page(of_page) {}
    std::atomic<std::uint32_t> references{1};
    const bool is_page;
  };
  struct PageBlock;
  struct DocumentBlock;
  static void destroy(Block* block) noexcept;

  Block* block_ = nullptr;
};

}  // namespace larder
