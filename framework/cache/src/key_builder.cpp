#include "larder/cache/key_builder.h"

#include <algorithm>
#include <bit>

#include "larder/cache/normaliser.h"

namespace larder {

namespace {

constexpr char kVersion = 2;
constexpr std::uint32_t kMaxValues = 1U << 20U;

/// Reads key bytes from the front; `ok` turns false at the first thing that is no key.
class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}

  std::uint64_t number(std::size_t width) noexcept {
    std::uint64_t v = 0;
    if (rest_.size() < width) {
      ok_ = false;
      return 0;
    }
    for (std::size_t i = 0; i < width; ++i)
      v |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(width);
    return v;
  }
  std::string_view sized() noexcept {
    const auto n = number(4);
    if (!ok_ || rest_.size() < n) {
      ok_ = false;
      return {};
    }
    const auto text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool more() const noexcept { return ok_ && !rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

// A key is a dozen small pieces: inline, they are a dozen stores.
inline void KeyBuilder::raw(const void* data, std::size_t size) {
  if (size_ + size > capacity_) [[unlikely]]
    grow(size);
  if (size != 0) std::memcpy(data_ + size_, data, size);
  size_ += size;
}

void KeyBuilder::grow(std::size_t size) {
  const auto bigger = std::max(2 * capacity_, size_ + size);
  auto heap = std::make_unique_for_overwrite<char[]>(bigger);
  std::memcpy(heap.get(), data_, size_);
  heap_ = std::move(heap);
  data_ = heap_.get();
  capacity_ = bigger;
}

inline void KeyBuilder::number(std::uint64_t value, std::size_t width) {
  static_assert(std::endian::native == std::endian::little);
  raw(&value, width);
}

inline void KeyBuilder::sized(std::string_view text) {
  number(text.size(), 4);
  raw(text.data(), text.size());
}

void KeyBuilder::typed(char type, std::string_view value) {
  raw(&type, 1);
  sized(value);
}

void KeyBuilder::begin(std::string_view site, std::string_view path, std::string_view view,
                       std::uint64_t revision, std::string_view definition) {
  size_ = 0;
  raw(&kVersion, 1);
  sized(site);
  sized(path);
  sized(view);
  number(revision, 8);
  sized(definition);
}

void KeyBuilder::input(std::string_view name, std::size_t values) {
  sized(name);
  number(values + 1, 4);
}

void KeyBuilder::absent(std::string_view name) {
  sized(name);
  number(0, 4);
}

void KeyBuilder::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  typed('i', {reinterpret_cast<const char*>(&bits), sizeof bits});
}

// One typed value whose bytes are the pre-order walk of the tree; containers carry their count, so
// the walk is injective.
void KeyBuilder::node(const Node& value) {
  const char type = 'n';
  raw(&type, 1);
  const auto length_at = size_;
  number(0, 4);
  encode(value);
  const auto length = static_cast<std::uint32_t>(size_ - length_at - 4);
  std::memcpy(data_ + length_at, &length, sizeof length);
}

void KeyBuilder::encode(const Node& value) {
  number(static_cast<std::uint64_t>(value.type()), 1);
  switch (value.type()) {
    case Node::Type::null:
      return;
    case Node::Type::boolean:
      number(value.boolean() ? 1 : 0, 1);
      return;
    case Node::Type::integer:
      number(static_cast<std::uint64_t>(value.integer()), 8);
      return;
    case Node::Type::real:
      number(std::bit_cast<std::uint64_t>(value.real()), 8);
      return;
    case Node::Type::text:
    case Node::Type::bytes:
      sized(value.text());
      return;
    case Node::Type::list:
      number(value.size(), 4);
      for (std::size_t i = 0; i < value.size(); ++i) encode(value.at(i));
      return;
    case Node::Type::map:
      number(value.size(), 4);
      for (std::size_t i = 0; i < value.size(); ++i) {
        sized(value.keyAt(i));
        encode(value.valueAt(i));
      }
      return;
  }
}

std::string_view enumerationOf(std::string_view name) noexcept {
  const auto input = plainInput(name);
  if (input.starts_with("param:")) return "params";
  if (input.starts_with("header:")) return "headers";
  if (input.starts_with("cookie:")) return "cookies";
  return name;
}

bool keyHasInput(std::string_view key_bytes, std::string_view name) noexcept {
  Reader r(key_bytes);
  r.number(1);
  for (int i = 0; i < 3; ++i) r.sized();
  r.number(8);
  r.sized();
  while (r.more()) {
    const auto input = r.sized();
    auto values = r.number(4);
    if (!r.ok() || values > kMaxValues) return false;
    if (input == name || input == enumerationOf(name)) return true;
    for (; values > 1 && r.ok(); --values) {
      r.number(1);
      r.sized();
    }
  }
  return false;
}

std::vector<KeyPart> keyParts(std::string_view key_bytes) {
  Reader r(key_bytes);
  if (r.number(1) != static_cast<std::uint64_t>(kVersion)) return {};
  std::vector<KeyPart> parts;
  for (const char* name : {"site", "path", "view"})
    parts.push_back({name, {std::string(r.sized())}});
  r.number(8);
  if (const auto definition = r.sized(); !definition.empty())
    parts.push_back({"definition", {std::string(definition)}});
  while (r.more()) {
    KeyPart part{std::string(r.sized()), {}};
    auto values = r.number(4);
    if (!r.ok() || values > kMaxValues) return {};
    part.absent = values == 0;
    for (; values > 1 && r.ok(); --values) {
      const bool is_text = static_cast<char>(r.number(1)) == 't';
      const auto value = r.sized();
      part.values.push_back(is_text ? std::string(value)
                                    : "<" + std::to_string(value.size()) + " bytes>");
    }
    parts.push_back(std::move(part));
  }
  return r.ok() ? parts : std::vector<KeyPart>();
}

std::string describeKey(std::string_view key_bytes) {
  std::string out;
  for (const KeyPart& part : keyParts(key_bytes)) {
    out.append(out.empty() ? "" : ", ").append(part.name);
    if (part.absent) out.append(" absent");
    const bool fixed = part.name == "site" || part.name == "path" || part.name == "view" ||
                       part.name == "definition";
    const char* quote = fixed ? "" : "\"";
    for (const auto& value : part.values) out.append("=").append(quote).append(value).append(quote);
  }
  return out;
}

}  // namespace larder
