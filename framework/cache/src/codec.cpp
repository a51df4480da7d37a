#include "larder/cache/codec.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <msgpack.hpp>
#include <utility>

#include "codec_reader.h"

namespace larder {

namespace {

// ---- Encoding

struct Sink {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};
using Packer = msgpack::packer<Sink>;

constexpr std::size_t kMaxLength = std::numeric_limits<std::uint32_t>::max();

void packText(Packer& packer, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  packer.pack_str(size).pack_str_body(text.data(), size);
}

void packBytes(Packer& packer, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  packer.pack_bin(size).pack_bin_body(bytes.data(), size);
}

/// Not pack_double(), which turns 2.0 and -0.0 into integers.
void packReal(Sink& sink, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  char bytes[9] = {static_cast<char>(msgpack_format::kFloat64)};
  for (int i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
  sink.write(bytes, sizeof(bytes));
}

/// False when it is nested too deep.
bool packNode(Sink& sink, Packer& packer, const Node& node, std::size_t depth) {
  switch (node.type()) {
    case Node::Type::null:
      packer.pack_nil();
      return true;
    case Node::Type::boolean:
      node.boolean() ? packer.pack_true() : packer.pack_false();
      return true;
    case Node::Type::integer:
      packer.pack_int64(node.integer());
      return true;
    case Node::Type::real:
      packReal(sink, node.real());
      return true;
    case Node::Type::text:
      packText(packer, node.text());
      return true;
    case Node::Type::bytes:
      packBytes(packer, node.text());
      return true;
    case Node::Type::list:
      if (depth == kMaxValueDepth) return false;
      packer.pack_array(static_cast<std::uint32_t>(node.size()));
      for (std::size_t i = 0; i < node.size(); ++i) {
        if (!packNode(sink, packer, node.at(i), depth + 1)) return false;
      }
      return true;
    case Node::Type::map:
      if (depth == kMaxValueDepth) return false;
      packer.pack_map(static_cast<std::uint32_t>(node.size()));
      for (std::size_t i = 0; i < node.size(); ++i) {
        packText(packer, node.keyAt(i));
        if (!packNode(sink, packer, node.valueAt(i), depth + 1)) return false;
      }
      return true;
  }
  return false;
}

// ---- Decoding
//
// Two passes: the first proves that the bytes are well formed and counts the nodes, the second
// builds them into one block of just that size and checks nothing. Written by hand, because the
// parser of msgpack-cxx makes its own object tree or calls a visitor for each item, without the
// limits that untrusted bytes need; here a list of 25 small maps takes 60 % of its time.

struct Item {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, bytes, list, map, bad };
  Kind kind = Kind::bad;
  std::uint64_t number = 0;  ///< the value, its bits, or the size
};

/// kProven: the bytes went through scan() before.
template <bool kProven>
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) noexcept
      : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool atEnd() const noexcept { return p_ == end_; }
  [[nodiscard]] bool holds(std::uint64_t size) const noexcept {
    return kProven || size <= static_cast<std::uint64_t>(end_ - p_);
  }
  /// Precondition: holds(size).
  std::string_view take(std::uint64_t size) noexcept {
    const std::string_view v(p_, static_cast<std::size_t>(size));
    p_ += size;
    return v;
  }

  /// The next item without what it contains.
  Item item() noexcept {
    using namespace msgpack_format;
    using Kind = Item::Kind;
    if (!holds(1)) return {};
    const auto tag = static_cast<unsigned char>(*p_++);
    if (tag < 0x80) return {Kind::integer, tag};
    if (tag < 0x90) return {Kind::map, tag & 0x0fu};
    if (tag < 0xa0) return {Kind::list, tag & 0x0fu};
    if (tag < 0xc0) return {Kind::text, tag & 0x1fu};
    if (tag >= 0xe0) return signedItem(static_cast<std::int8_t>(tag));
    switch (tag) {
      case kNil:
        return {Kind::null, 0};
      case kFalse:
      case kTrue:
        return {Kind::boolean, tag == kTrue ? 1u : 0u};
      case kBin8:
      case kBin16:
      case kBin32:
        return numbered(Kind::bytes, 1u << (tag - kBin8));
      case kFloat32: {
        const Item bits = numbered(Kind::real, 4);
        const auto value =
            static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits.number)));
        return {bits.kind, std::bit_cast<std::uint64_t>(value)};
      }
      case kFloat64:
        return numbered(Kind::real, 8);
      case kUint8:
      case kUint16:
      case kUint32:
      case kUint64: {
        const Item item = numbered(Kind::integer, 1u << (tag - kUint8));
        return item.number >> 63 ? Item{} : item;
      }
      case kInt8:
        return extended(1);
      case kInt16:
        return extended(2);
      case kInt32:
        return extended(4);
      case kInt64:
        return extended(8);
      case kStr8:
      case kStr16:
      case kStr32:
        return numbered(Kind::text, 1u << (tag - kStr8));
      case kArray16:
      case kArray32:
        return numbered(Kind::list, tag == kArray16 ? 2 : 4);
      case kMap16:
      case kMap32:
        return numbered(Kind::map, tag == kMap16 ? 2 : 4);
      default:
        return {};
    }
  }

 private:
  static Item signedItem(std::int64_t value) noexcept {
    return {Item::Kind::integer, static_cast<std::uint64_t>(value)};
  }
  Item numbered(Item::Kind kind, unsigned width) noexcept {
    if (!holds(width)) return {};
    const std::uint64_t n = msgpack_format::loadBig(p_, width);
    p_ += width;
    return {kind, n};
  }
  Item extended(unsigned width) noexcept {
    const Item bits = numbered(Item::Kind::integer, width);
    const unsigned unused = 64 - 8 * width;
    return {bits.kind,
            static_cast<std::uint64_t>(static_cast<std::int64_t>(bits.number << unused) >> unused)};
  }

  const char* p_;
  const char* end_;
};

struct Scan {
  std::size_t nodes = 0;          ///< below the root
  const char* problem = nullptr;  ///< null when the bytes are one well-formed value
};

/// Each node took at least one byte, so `nodes` never exceeds the size of the input.
Scan scan(std::string_view bytes) noexcept {
  using Kind = Item::Kind;
  struct Level {
    std::uint64_t left;
    bool map;
  };
  std::array<Level, kMaxValueDepth> levels;
  std::size_t depth = 0;
  Scan result;
  Cursor<false> in(bytes);
  for (;;) {
    const Item item = in.item();
    if (item.kind == Kind::bad) {
      result.problem = "ends too early or holds a type that has no place in a value";
      return result;
    }
    const bool is_key = depth > 0 && levels[depth - 1].map && levels[depth - 1].left % 2 == 0;
    if (is_key && item.kind != Kind::text) {
      result.problem = "a key of a map is no text";
      return result;
    }
    if (depth > 0) {
      ++result.nodes;
      --levels[depth - 1].left;
    }
    if (item.kind == Kind::text || item.kind == Kind::bytes) {
      if (!in.holds(item.number)) {
        result.problem = "a text is longer than what is left";
        return result;
      }
      in.take(item.number);
    } else if (item.kind == Kind::list || item.kind == Kind::map) {
      const bool map = item.kind == Kind::map;
      const std::uint64_t items = map ? 2 * item.number : item.number;
      if (!in.holds(items)) {
        result.problem = "a list or map has more items than bytes are left";
        return result;
      }
      if (depth == kMaxValueDepth) {
        result.problem = "nested too deep";
        return result;
      }
      levels[depth++] = {items, map};
    }
    while (depth > 0 && levels[depth - 1].left == 0) --depth;
    if (depth == 0) break;
  }
  if (!in.atEnd()) result.problem = "something follows the value";
  return result;
}

class Builder {
 public:
  Builder(std::string_view bytes, Node* nodes) noexcept : in_(bytes), next_(nodes) {}

  Node build() noexcept {
    using Kind = Item::Kind;
    const Item item = in_.item();
    switch (item.kind) {
      case Kind::boolean:
        return Node::ofBoolean(item.number != 0);
      case Kind::integer:
        return Node::ofInteger(static_cast<std::int64_t>(item.number));
      case Kind::real:
        return Node::ofReal(std::bit_cast<double>(item.number));
      case Kind::text:
        return Node::ofText(in_.take(item.number));
      case Kind::bytes:
        return Node::ofBytes(in_.take(item.number));
      case Kind::list: {
        const auto count = static_cast<std::uint32_t>(item.number);
        return Node::ofList(children(count), count);
      }
      case Kind::map: {
        const auto count = static_cast<std::uint32_t>(item.number);
        return Node::ofMap(children(2 * std::size_t{count}), count);
      }
      case Kind::null:
      case Kind::bad:
        break;
    }
    return Node::ofNull();
  }

 private:
  const Node* children(std::size_t count) noexcept {
    Node* const first = std::exchange(next_, next_ + count);
    for (std::size_t i = 0; i < count; ++i) first[i] = build();
    return first;
  }

  Cursor<true> in_;
  Node* next_;
};

/// What a decoded document keeps alive.
struct Decoded {
  std::shared_ptr<const void> bytes;
  std::unique_ptr<Node[]> nodes;
};

}  // namespace

Result<> encodeDocument(const Node& root, std::string& out) {
  const std::size_t before = out.size();
  Sink sink{out};
  Packer packer(sink);
  if (!packNode(sink, packer, root, 0)) {
    out.resize(before);
    return Error{"the value has lists or maps nested deeper than " +
                 std::to_string(kMaxValueDepth) + " levels"};
  }
  return Done{};
}

Result<Document> decodeDocument(Buffer bytes) {
  const Scan found = scan(bytes.data);
  if (found.problem) return Error{std::string("damaged MessagePack: ") + found.problem};
  auto storage = std::make_shared<Decoded>();
  storage->bytes = std::move(bytes.owner);
  storage->nodes = std::make_unique<Node[]>(found.nodes);
  const Node root = Builder(bytes.data, storage->nodes.get()).build();
  return Document(std::move(storage), root,
                  sizeof(Decoded) + bytes.data.size() + found.nodes * sizeof(Node));
}

Result<> encodePage(const Page& page, std::string& out) {
  if (page.headers.size() > kMaxPageHeaders) {
    return Error{"the page has " + std::to_string(page.headers.size()) + " headers, more than " +
                 std::to_string(kMaxPageHeaders)};
  }
  if (page.status < 100 || page.status > 999) {
    return Error{"the page's status " + std::to_string(page.status) + " is none of HTTP's"};
  }
  if (page.body.size() > kMaxLength || page.gzip.size() > kMaxLength) {
    return Error{"the page's body is larger than 4 GiB"};
  }
  Sink sink{out};
  Packer packer(sink);
  packer.pack_array(6).pack_int(page.status);
  packer.pack_array(static_cast<std::uint32_t>(2 * page.headers.size()));
  for (const Header& header : page.headers) {
    packText(packer, header.name);
    packText(packer, header.value);
  }
  packBytes(packer, page.body);
  packBytes(packer, page.gzip);
  packText(packer, page.etag);
  packer.pack_int64(page.last_modified < 0 ? 0 : page.last_modified);
  return Done{};
}

Result<Page> decodePage(std::string_view bytes) {
  MessagePackReader in(bytes);
  Page page;
  const bool shape = in.array() == 6;
  const std::int64_t status = in.natural();
  const std::size_t names_and_values = in.array();
  if (!shape || status < 100 || status > 999 || names_and_values % 2 != 0 ||
      names_and_values > 2 * kMaxPageHeaders) {
    return Error{"damaged page: its status or headers"};
  }
  page.status = static_cast<int>(status);
  page.headers.resize(names_and_values / 2);
  for (Header& header : page.headers) {
    header.name = in.text();
    header.value = in.text();
  }
  page.body = in.bytes();
  page.gzip = in.bytes();
  page.etag = in.text();
  page.last_modified = in.natural();
  if (!in.complete()) return Error{"damaged page: it ends too early or something follows it"};
  return page;
}

}  // namespace larder
