#include "larder/value.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "heap_size.h"
#include "larder/ignore_case.h"

namespace larder {

namespace {

constexpr std::string_view kColon = ": ";

/// Where `head` has a line of this header; npos if it has none.
std::size_t lineOf(const Header& header, std::string_view head) noexcept {
  const auto size = header.name.size() + kColon.size() + header.value.size();
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at)) {
    const auto line = head.substr(++at, size);
    if (line.starts_with(header.name) && line.ends_with(header.value) && line.size() == size &&
        line.substr(header.name.size(), kColon.size()) == kColon &&
        head.substr(at + size, 2) == "\r\n")
      return at;
  }
  return std::string_view::npos;
}

std::uint32_t narrow(std::size_t size) {
  if (size > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("a part of the page is larger than 4 GiB");
  return static_cast<std::uint32_t>(size);
}

char* append(char* to, std::string_view text) noexcept {
  return std::copy(text.begin(), text.end(), to);
}

}  // namespace

const std::string* Page::header(std::string_view name) const noexcept {
  for (const auto& h : headers) {
    if (equalsIgnoringCase(h.name, name)) return &h.value;
  }
  return nullptr;
}

void Page::setHeader(std::string_view name, std::string value) {
  for (auto& h : headers) {
    if (equalsIgnoringCase(h.name, name)) {
      h.value = std::move(value);
      return;
    }
  }
  headers.push_back({std::string(name), std::move(value)});
}

bool operator==(const HeaderList& a, const HeaderList& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::optional<std::string_view> PageView::header(std::string_view name) const noexcept {
  for (const auto& h : headers) {
    if (equalsIgnoringCase(h.name, name)) return h.value;
  }
  return std::nullopt;
}

Page PageView::copy() const {
  Page page;
  page.status = status;
  for (const auto& h : headers) page.headers.push_back({std::string(h.name), std::string(h.value)});
  page.body = body;
  page.gzip = gzip;
  page.etag = etag;
  page.last_modified = last_modified;
  page.head = head;
  page.gzip_head = gzip_head;
  return page;
}

/// Behind it lie a HeaderList::Span for each header, then the text: head, gzip_head, what of etag
/// and headers the head does not contain, body, gzip.
struct Value::PageBlock : Block {
  PageBlock() noexcept : Block(true) {}

  std::uint8_t etag_size = 0;
  int status = 0;
  std::uint32_t headers = 0;
  std::uint32_t head = 0;
  std::uint32_t gzip_head = 0;
  std::uint32_t extra = 0;
  std::uint32_t body = 0;
  std::uint32_t gzip = 0;
  std::uint32_t etag_at = 0;
  Millis last_modified = 0;

  HeaderList::Span* spans() noexcept { return reinterpret_cast<HeaderList::Span*>(this + 1); }
  [[nodiscard]] const HeaderList::Span* spans() const noexcept {
    return reinterpret_cast<const HeaderList::Span*>(this + 1);
  }
  char* text() noexcept { return reinterpret_cast<char*>(spans() + headers); }
  [[nodiscard]] const char* text() const noexcept {
    return reinterpret_cast<const char*>(spans() + headers);
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return sizeof(PageBlock) + headers * sizeof(HeaderList::Span) + std::size_t{head} + gzip_head +
           extra + body + gzip;
  }
};

struct Value::DocumentBlock : Block {
  explicit DocumentBlock(Document held) noexcept : Block(false), document(std::move(held)) {}
  Document document;
};

Value::Value(Document document) {
  if (document.bytes() == 0 && document.root().isNull()) return;
  block_ = std::make_unique<DocumentBlock>(std::move(document)).release();
}

Value::Value(const Page& page) {
  const auto heads = page.head.size() + page.gzip_head.size();
  auto text_size = heads;
  std::vector<HeaderList::Span> spans;
  spans.reserve(page.headers.size());
  for (const auto& h : page.headers) {
    auto at = lineOf(h, page.head);
    if (at == std::string_view::npos)
      at = std::exchange(text_size, text_size + h.name.size() + kColon.size() + h.value.size());
    spans.push_back({narrow(at), narrow(h.name.size()), narrow(h.value.size())});
  }
  auto etag_at = page.head.find(page.etag);
  if (etag_at == std::string::npos)
    etag_at = std::exchange(text_size, text_size + page.etag.size());
  static_assert(Page::kMaxEtag <= std::numeric_limits<std::uint8_t>::max());
  if (page.etag.size() > Page::kMaxEtag) throw std::length_error("the page's etag is too long");
  (void)narrow(text_size);
  const auto body = narrow(page.body.size());
  const auto gzip = narrow(page.gzip.size());

  const auto size = sizeof(PageBlock) + spans.size() * sizeof(HeaderList::Span) + text_size +
                    page.body.size() + page.gzip.size();
  auto* block = ::new (::operator new(size)) PageBlock;
  block->etag_size = static_cast<std::uint8_t>(page.etag.size());
  block->etag_at = static_cast<std::uint32_t>(etag_at);
  block->status = page.status;
  block->headers = static_cast<std::uint32_t>(spans.size());
  block->head = static_cast<std::uint32_t>(page.head.size());
  block->gzip_head = static_cast<std::uint32_t>(page.gzip_head.size());
  block->extra = static_cast<std::uint32_t>(text_size - heads);
  block->body = body;
  block->gzip = gzip;
  block->last_modified = page.last_modified;
  std::copy(spans.begin(), spans.end(), block->spans());
  char* end = append(append(block->text(), page.head), page.gzip_head);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].at < block->head) continue;
    end = append(append(append(end, page.headers[i].name), kColon), page.headers[i].value);
  }
  if (etag_at >= block->head) end = append(end, page.etag);
  append(append(end, page.body), page.gzip);
  block_ = block;
}

void Value::destroy(Block* block) noexcept {
  if (!block->is_page) {
    delete static_cast<DocumentBlock*>(block);
    return;
  }
  auto* page = static_cast<PageBlock*>(block);
  page->~PageBlock();
  ::operator delete(page);
}

std::optional<PageView> Value::page() const noexcept {
  if (!isPage()) return std::nullopt;
  const auto& block = static_cast<const PageBlock&>(*block_);
  PageView page;
  const char* text = block.text();
  page.status = block.status;
  page.headers = {block.spans(), block.headers, text};
  page.etag = {text + block.etag_at, block.etag_size};
  page.last_modified = block.last_modified;
  page.head = {text, block.head};
  page.gzip_head = {text + block.head, block.gzip_head};
  page.body = {text + block.head + block.gzip_head + block.extra, block.body};
  page.gzip = {page.body.data() + block.body, block.gzip};
  return page;
}

const Document& Value::document() const noexcept {
  static const Document kNone{};
  return !block_ || block_->is_page ? kNone : static_cast<const DocumentBlock*>(block_)->document;
}

std::size_t Value::bytes() const noexcept {
  if (!block_) return 0;
  if (block_->is_page) return heapBytes(static_cast<const PageBlock*>(block_)->size());
  return heapBytes(sizeof(DocumentBlock)) + document().bytes();
}

}  // namespace larder
