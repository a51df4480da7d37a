#include "larder/cache/codec.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <msgpack.hpp>
#include <type_traits>
#include <utility>
#include <vector>

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
// One pass. A list's or map's nodes are claimed when its head is read: never more in all than there
// are bytes, since each item is at least one byte long; what blocks leave unused is less than what
// is claimed. Written by hand, because the parser of
// msgpack-cxx makes its own object tree or calls a visitor for each item, without the limits that
// untrusted bytes need.

struct Item {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, bytes, list, map, bad };
  Kind kind = Kind::bad;
  std::uint64_t number = 0;  ///< the value, its bits, or the size
};

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) noexcept
      : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] bool atEnd() const noexcept { return p_ == end_; }
  [[nodiscard]] bool holds(std::uint64_t size) const noexcept {
    return size <= static_cast<std::uint64_t>(end_ - p_);
  }
  /// Precondition: holds(size).
  std::string_view take(std::uint64_t size) noexcept {
    const std::string_view v(p_, static_cast<std::size_t>(size));
    p_ += size;
    return v;
  }

  /// The next item without what it contains.
  Item item() noexcept {
    if (!holds(1)) return {};
    const auto tag = static_cast<unsigned char>(*p_++);
    // Most items are short texts: a map's keys, if nothing else.
    if (tag >= 0xa0 && tag < 0xc0) return {Item::Kind::text, tag & 0x1fu};
    return other(tag);
  }

 private:
  [[gnu::noinline]] Item other(unsigned char tag) noexcept {
    using namespace msgpack_format;
    using Kind = Item::Kind;
    if (tag < 0x80) return {Kind::integer, tag};
    if (tag < 0x90) return {Kind::map, tag & 0x0fu};
    if (tag < 0xa0) return {Kind::list, tag & 0x0fu};
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
    const unsigned unused = (64 - 8 * width) & 63U;  // the widths are 1, 2, 4 and 8
    return {bits.kind,
            static_cast<std::uint64_t>(static_cast<std::int64_t>(bits.number << unused) >> unused)};
  }

  const char* p_;
  const char* end_;
};

/// What a decoded document keeps alive. Nodes lie in bare memory: making them null first would be a
/// tenth of the work.
struct Decoded {
  using Block = std::unique_ptr<std::byte[]>;
  std::shared_ptr<const void> bytes;
  Block nodes;
  std::vector<Block> more_nodes;
};
static_assert(std::is_trivially_copyable_v<Node> && std::is_trivially_destructible_v<Node>);
static_assert(alignof(Node) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

class Decoder {
 public:
  /// `storage` gets the nodes.
  Decoder(std::string_view bytes, Decoded& storage)
      : in_(bytes), storage_(storage), unclaimed_(bytes.size()), block_(bytes.size() / 24 + 8) {}

  /// The one value that the bytes are; problem() says whether they are one.
  Node decode() {
    const Node root = value(0);
    if (!problem_ && !in_.atEnd()) problem_ = "something follows the value";
    return root;
  }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t nodeBytes() const noexcept { return taken_ * sizeof(Node); }

 private:
  Node value(std::size_t depth) {
    using Kind = Item::Kind;
    const Item item = in_.item();
    switch (item.kind) {
      case Kind::null:
        return Node::ofNull();
      case Kind::boolean:
        return Node::ofBoolean(item.number != 0);
      case Kind::integer:
        return Node::ofInteger(static_cast<std::int64_t>(item.number));
      case Kind::real:
        return Node::ofReal(std::bit_cast<double>(item.number));
      case Kind::text:
        return Node::ofText(take(item.number));
      case Kind::bytes:
        return Node::ofBytes(take(item.number));
      case Kind::list:
        return list(item.number, depth);
      case Kind::map:
        return map(item.number, depth);
      case Kind::bad:
        break;
    }
    return fail("ends too early or holds a type that has no place in a value");
  }

  Node list(std::uint64_t count, std::size_t depth) {
    Node* const nodes = claim(count, depth);
    for (std::uint64_t i = 0; i < count && !problem_; ++i) nodes[i] = value(depth + 1);
    return problem_ ? Node() : Node::ofList(nodes, static_cast<std::uint32_t>(count));
  }

  Node map(std::uint64_t count, std::size_t depth) {
    Node* const nodes = claim(2 * count, depth);
    for (std::uint64_t i = 0; i < count && !problem_; ++i) {
      const Item key = in_.item();
      if (key.kind != Item::Kind::text) return fail("a key of a map is missing or no text");
      nodes[2 * i] = Node::ofText(take(key.number));
      nodes[2 * i + 1] = value(depth + 1);
    }
    return problem_ ? Node() : Node::ofMap(nodes, static_cast<std::uint32_t>(count));
  }

  std::string_view take(std::uint64_t size) {
    if (in_.holds(size)) return in_.take(size);
    fail("a text is longer than what is left");
    return {};
  }

  Node* claim(std::uint64_t count, std::size_t depth) {
    if (depth == kMaxValueDepth) {
      fail("nested too deep");
      return nullptr;
    }
    if (count > unclaimed_) {
      fail("a list or map has more items than bytes are left");
      return nullptr;
    }
    unclaimed_ -= count;
    if (count > left_) {
      auto& block = storage_.nodes ? storage_.more_nodes.emplace_back() : storage_.nodes;
      left_ = std::max<std::size_t>(count, block_);
      block = std::make_unique_for_overwrite<std::byte[]>(left_ * sizeof(Node));
      next_ = reinterpret_cast<Node*>(block.get());
      taken_ += left_;
    }
    left_ -= count;
    return std::exchange(next_, next_ + count);
  }

  Node fail(const char* problem) noexcept {
    if (!problem_) problem_ = problem;
    return Node::ofNull();
  }

  Cursor in_;
  Decoded& storage_;
  std::uint64_t unclaimed_;  ///< bytes that no item has been promised for
  const std::size_t block_;  ///< nodes that are taken at a time: as many as values usually have
  Node* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t taken_ = 0;
  const char* problem_ = nullptr;
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
  auto storage = std::make_shared<Decoded>();
  storage->bytes = std::move(bytes.owner);
  Decoder decoder(bytes.data, *storage);
  const Node root = decoder.decode();
  if (decoder.problem()) return Error{std::string("damaged MessagePack: ") + decoder.problem()};
  return Document(std::move(storage), root,
                  sizeof(Decoded) + bytes.data.size() + decoder.nodeBytes());
}

Result<> encodePage(const PageView& page, std::string& out) {
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
  for (const HeaderView header : page.headers) {
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
  if (!in.complete() || page.etag.size() > Page::kMaxEtag)
    return Error{"damaged page: it ends too early or something follows it"};
  return page;
}

}  // namespace larder
