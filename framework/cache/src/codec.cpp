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

/// Each step takes the place where it begins to read and gives the one behind it, null after a
/// problem: so it stays in a register. Half of what a hit costs is spent here.
class Decoder {
 public:
  /// `storage` gets the nodes.
  Decoder(std::string_view bytes, Decoded& storage)
      : begin_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        storage_(storage),
        unclaimed_(bytes.size()),
        block_(bytes.size() / 24 + 8) {}

  /// The one value that the bytes are; problem() says whether they are one.
  Node decode() {
    Node root;
    const Place behind = value(begin_, root, 0);
    if (behind && behind != end_) problem_ = "something follows the value";
    return root;
  }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  [[nodiscard]] std::size_t nodeBytes() const noexcept { return taken_ * sizeof(Node); }

 private:
  using Place = const char*;

  [[nodiscard]] bool holds(Place at, std::uint64_t size) const noexcept {
    return size <= static_cast<std::uint64_t>(end_ - at);
  }

  [[gnu::always_inline]] Place value(Place at, Node& out, std::size_t depth) {
    using namespace msgpack_format;
    if (at == end_) return fail(kIncomplete);
    const auto tag = static_cast<unsigned char>(*at++);
    // Most items are texts: a map's keys, if nothing else.
    if (tag >= 0xa0 && tag < 0xc0) return text(at, tag & 0x1fu, out);
    if (tag == kStr8) return sized<std::uint8_t>(at, Node::Type::text, out);
    if (tag < 0x80) return integer(at, tag, out);
    if (tag < 0x90) return map(at, tag & 0x0fu, out, depth);
    if (tag < 0xa0) return list(at, tag & 0x0fu, out, depth);
    if (tag == kUint32) return integer<std::uint32_t>(at, out);
    return other(at, tag, out, depth);
  }

  [[gnu::noinline]] Place other(Place at, unsigned char tag, Node& out, std::size_t depth) {
    using namespace msgpack_format;
    using Type = Node::Type;
    if (tag >= 0xe0) return integer(at, static_cast<std::int8_t>(tag), out);
    switch (tag) {
      case kNil:
        out = Node::ofNull();
        return at;
      case kFalse:
      case kTrue:
        out = Node::ofBoolean(tag == kTrue);
        return at;
      case kFloat32:
        return real<std::uint32_t, float>(at, out);
      case kFloat64:
        return real<std::uint64_t, double>(at, out);
      case kUint8:
        return integer<std::uint8_t>(at, out);
      case kUint16:
        return integer<std::uint16_t>(at, out);
      case kUint32:
        return integer<std::uint32_t>(at, out);
      case kUint64:
        // What has no sign and its highest bit set fits into no integer.
        if (at != end_ && static_cast<signed char>(*at) < 0) return fail(kNoPlace);
        return integer<std::uint64_t>(at, out);
      case kInt8:
        return integer<std::int8_t>(at, out);
      case kInt16:
        return integer<std::int16_t>(at, out);
      case kInt32:
        return integer<std::int32_t>(at, out);
      case kInt64:
        return integer<std::int64_t>(at, out);
      case kStr8:
        return sized<std::uint8_t>(at, Type::text, out);
      case kStr16:
        return sized<std::uint16_t>(at, Type::text, out);
      case kStr32:
        return sized<std::uint32_t>(at, Type::text, out);
      case kBin8:
        return sized<std::uint8_t>(at, Type::bytes, out);
      case kBin16:
        return sized<std::uint16_t>(at, Type::bytes, out);
      case kBin32:
        return sized<std::uint32_t>(at, Type::bytes, out);
      case kArray16:
        return counted<std::uint16_t>(at, Type::list, out, depth);
      case kArray32:
        return counted<std::uint32_t>(at, Type::list, out, depth);
      case kMap16:
        return counted<std::uint16_t>(at, Type::map, out, depth);
      case kMap32:
        return counted<std::uint32_t>(at, Type::map, out, depth);
      default:
        return fail(kNoPlace);
    }
  }

  /// The number that follows the tag.
  template <class T>
  Place number(Place at, T& number) noexcept {
    if (!holds(at, sizeof(T))) return fail(kIncomplete);
    number = msgpack_format::loadBig<T>(at);
    return at + sizeof(T);
  }
  template <class T>
  Place integer(Place at, Node& out) noexcept {
    T value;
    at = number(at, value);
    return at ? integer(at, static_cast<std::int64_t>(value), out) : nullptr;
  }
  static Place integer(Place at, std::int64_t value, Node& out) noexcept {
    out = Node::ofInteger(value);
    return at;
  }
  template <class Bits, class Real>
  Place real(Place at, Node& out) noexcept {
    Bits bits;
    at = number(at, bits);
    if (at) out = Node::ofReal(static_cast<double>(std::bit_cast<Real>(bits)));
    return at;
  }
  template <class Size>
  Place sized(Place at, Node::Type type, Node& out) noexcept {
    Size size;
    at = number(at, size);
    if (!at) return nullptr;
    at = text(at, size, out);
    if (at && type == Node::Type::bytes) out = Node::ofBytes(out.text());
    return at;
  }
  Place text(Place at, std::size_t size, Node& out) noexcept {
    if (!holds(at, size)) return fail(kTooLong);
    out = Node::ofText({at, size});
    return at + size;
  }
  template <class Count>
  Place counted(Place at, Node::Type type, Node& out, std::size_t depth) {
    Count count;
    at = number(at, count);
    if (!at) return nullptr;
    return type == Node::Type::map ? map(at, count, out, depth) : list(at, count, out, depth);
  }

  [[gnu::always_inline]] Place key(Place at, Node& out, std::size_t depth) {
    using namespace msgpack_format;
    if (at == end_) return fail(kIncomplete);
    const auto tag = static_cast<unsigned char>(*at++);
    if (tag >= 0xa0 && tag < 0xc0) return text(at, tag & 0x1fu, out);
    if (tag >= kStr8 && tag <= kStr32) return other(at, tag, out, depth);
    return fail("a key of a map is no text");
  }

  Place list(Place at, std::uint64_t count, Node& out, std::size_t depth) {
    Node* const nodes = claim(count, depth);
    if (problem_) return nullptr;
    for (Node* node = nodes; at && node != nodes + count; ++node) at = value(at, *node, depth + 1);
    if (at) out = Node::ofList(nodes, static_cast<std::uint32_t>(count));
    return at;
  }

  Place map(Place at, std::uint64_t count, Node& out, std::size_t depth) {
    Node* const nodes = claim(2 * count, depth);
    if (problem_) return nullptr;
    for (Node* node = nodes; at && node != nodes + 2 * count; node += 2) {
      at = key(at, node[0], depth);
      if (at) at = value(at, node[1], depth + 1);
    }
    if (at) out = Node::ofMap(nodes, static_cast<std::uint32_t>(count));
    return at;
  }

  Node* claim(std::uint64_t count, std::size_t depth) {
    if (depth == kMaxValueDepth || count > unclaimed_) {
      fail(depth == kMaxValueDepth ? "nested too deep"
                                   : "a list or map has more items than bytes are left");
      return nullptr;
    }
    unclaimed_ -= count;
    if (count > left_) addBlock(count);
    left_ -= count;
    return std::exchange(next_, next_ + count);
  }
  [[gnu::noinline]] void addBlock(std::uint64_t count) {
    auto& block = storage_.nodes ? storage_.more_nodes.emplace_back() : storage_.nodes;
    left_ = std::max<std::size_t>(count, block_);
    block = std::make_unique_for_overwrite<std::byte[]>(left_ * sizeof(Node));
    next_ = reinterpret_cast<Node*>(block.get());
    taken_ += left_;
  }

  Place fail(const char* problem) noexcept {
    if (!problem_) problem_ = problem;
    return nullptr;
  }

  static constexpr const char* kIncomplete = "ends too early";
  static constexpr const char* kNoPlace = "holds a type that has no place in a value";
  static constexpr const char* kTooLong = "a text is longer than what is left";

  const Place begin_;
  const Place end_;
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
