#include "envelope_format.h"

#include <sodium.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <msgpack.hpp>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codec_reader.h"
#include "larder/cache/codec.h"
#include "larder/cache/key_builder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace larder {

namespace {

constexpr std::string_view kMagic = "LRDE";
constexpr char kVersion = 1;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kFlagsAt = 5;
constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kHeadSize = 16;
constexpr std::size_t kFields = 14;
constexpr std::size_t kMaxInputs = 1024;
constexpr std::size_t kMaxScopes = 65'536;
constexpr int kCompressionLevel = 1;

void storeLittle(char* to, std::uint64_t value) noexcept {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t loadLittle(const char* from) noexcept {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return value;
}

std::uint64_t checksum(std::string_view envelope) noexcept {
  const auto covered = envelope.substr(kHeadSize);
  return XXH3_64bits_withSeed(covered.data(), covered.size(), loadLittle(envelope.data()));
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// A context costs more to make than a small value to compress: each thread keeps its own.
ZSTD_CCtx* compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  return context.get();
}
ZSTD_DCtx* decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  return context.get();
}

/// `expected` bytes, or nothing.
Buffer decompressed(std::string_view frame, std::size_t expected) {
  auto owner = std::make_shared_for_overwrite<char[]>(expected);
  const auto got =
      ZSTD_decompressDCtx(decompressor(), owner.get(), expected, frame.data(), frame.size());
  if (ZSTD_isError(got) || got != expected) return {};
  const std::string_view data(owner.get(), expected);
  return {std::move(owner), data};
}

Millis span(Millis from, Millis until) noexcept {
  if (until == kForever) return kForever;
  return until > from ? until - from : 0;
}

/// Names on their way into an entry. Each thread keeps the memory for the next one, up to a limit.
class Names {
 public:
  void begin() {
    if (held_ > kMostHeld) *this = {};
    count_ = 0;
  }
  void add(std::string_view name) {
    if (count_ == texts_.size()) texts_.emplace_back();
    std::string& text = texts_[count_++];
    const auto before = text.capacity();
    text.assign(name);
    held_ += text.capacity() - before;
  }
  /// False if there are more than `most`: they would take many times the memory of their bytes.
  [[nodiscard]] bool addLines(std::string_view lines, std::size_t most) {
    if (lines.empty()) return true;
    while (count_ < most) {
      const auto end = lines.find('\n');
      add(lines.substr(0, end));
      if (end == std::string_view::npos) return true;
      lines.remove_prefix(end + 1);
    }
    return false;
  }
  [[nodiscard]] std::span<const std::string> all() const noexcept {
    return std::span(texts_).first(count_);
  }

 private:
  static constexpr std::size_t kMostHeld = std::size_t{64} << 10U;
  std::vector<std::string> texts_;
  std::size_t count_ = 0;
  std::size_t held_ = 0;
};

struct Sink {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

}  // namespace

EnvelopeFormat::EnvelopeFormat(const Digest& name_space, Options options)
    : options_(std::move(options)) {
  storeLittle(name_space_.data(), name_space.high);
  storeLittle(name_space_.data() + 8, name_space.low);
  if (options_.secret.empty()) return;
  if (sodium_init() < 0) throw std::runtime_error("libsodium could not be initialised");
  static constexpr std::string_view kContext = "larder envelope 1";
  crypto_generichash(mac_key_.data(), mac_key_.size(),
                     reinterpret_cast<const unsigned char*>(options_.secret.data()),
                     options_.secret.size(),
                     reinterpret_cast<const unsigned char*>(kContext.data()), kContext.size());
}

EnvelopeFormat::Mac EnvelopeFormat::macOf(std::string_view head,
                                          std::string_view body) const noexcept {
  crypto_generichash_state state;
  crypto_generichash_init(&state, mac_key_.data(), mac_key_.size(), sizeof(Mac));
  for (const auto part : {std::string_view(name_space_.data(), name_space_.size()), head, body}) {
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  }
  Mac mac;
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(mac.data()), mac.size());
  return mac;
}

Result<std::string> EnvelopeFormat::encode(const CacheEntry& entry,
                                           std::string_view key_bytes) const {
  if (entry.scopes().size() > kMaxScopes) {
    return Error{"it depends on " + std::to_string(entry.scopes().size()) + " scopes, more than " +
                 std::to_string(kMaxScopes)};
  }
  std::string scopes;
  for (const auto name : entry.scopeNames()) {
    if (name.empty() || name.find('\n') != std::string_view::npos)
      return Error{"a scope has no name, or a name of several lines"};
    if (!scopes.empty()) scopes += '\n';
    scopes += name;
  }
  std::string body;
  body.reserve(key_bytes.size() + scopes.size() + entry.value.bytes() + 256);
  Sink sink{body};
  msgpack::packer<Sink> packer(sink);
  const auto text = [&](std::string_view v) {
    const auto size = static_cast<std::uint32_t>(v.size());
    packer.pack_str(size).pack_str_body(v.data(), size);
  };
  const auto key_size = static_cast<std::uint32_t>(key_bytes.size());
  const Lifetime& life = entry.lifetime;
  packer.pack_array(kFields);
  packer.pack_bin(key_size).pack_bin_body(key_bytes.data(), key_size);
  packer.pack_uint64(entry.stamp.as_of)
      .pack_uint64(entry.stamp.era)
      .pack_uint64(entry.stamp.schema)
      .pack_int64(std::max<Millis>(entry.created_wall, 0))
      .pack_int64(span(life.created, life.fresh_until))
      .pack_int64(span(life.created, life.stale_until))
      .pack_int64(span(life.created, life.error_until))
      .pack_uint32(entry.cost_us);
  entry.is_private ? packer.pack_true() : packer.pack_false();
  text(scopes);
  const auto inputs = entry.inputs();
  packer.pack_array(static_cast<std::uint32_t>(inputs.size()));
  for (const auto name : inputs) text(name);
  const auto page = entry.value.page();
  packer.pack_uint8(page ? 1 : 0);
  const auto done =
      page ? encodePage(*page, body) : encodeDocument(entry.value.document().root(), body);
  if (!done) return done.error();
  return body;
}

std::string EnvelopeFormat::seal(std::string_view body, std::uint8_t flags) const {
  const bool authenticated = !options_.secret.empty();
  if (authenticated) flags |= kAuthenticated;
  const std::size_t start = kHeadSize + (authenticated ? sizeof(Mac) : 0);
  std::string envelope(start, '\0');
  if (body.size() > options_.compress_above) {
    envelope.resize(start + body.size() - 1);  // no room for a frame that does not save a byte
    const auto size = ZSTD_compressCCtx(compressor(), envelope.data() + start, body.size() - 1,
                                        body.data(), body.size(), kCompressionLevel);
    if (!ZSTD_isError(size)) {
      flags |= kCompressed;
      envelope.resize(start + size);
    }
  }
  if ((flags & kCompressed) == 0) {
    envelope.resize(start);
    envelope += body;
  }
  kMagic.copy(envelope.data(), kMagic.size());
  envelope[kVersionAt] = kVersion;
  envelope[kFlagsAt] = static_cast<char>(flags);
  const std::string_view sealed = envelope;
  if (authenticated) {
    const Mac mac = macOf(sealed.substr(0, kChecksumAt), sealed.substr(start));
    std::copy(mac.begin(), mac.end(), envelope.begin() + kHeadSize);
  }
  storeLittle(envelope.data() + kChecksumAt, checksum(sealed));
  return envelope;
}

EnvelopeFormat::Opened EnvelopeFormat::unseal(const Buffer& envelope) const {
  const auto refused = [](Reason reason) { return Opened{reason, 0, {}}; };
  std::string_view data = envelope.data;
  if (data.size() < kHeadSize || !data.starts_with(kMagic)) return refused(Reason::damaged);
  if (data[kVersionAt] != kVersion) return refused(Reason::old_format);
  if (loadLittle(data.data() + kChecksumAt) != checksum(data)) return refused(Reason::damaged);

  const auto flags = static_cast<std::uint8_t>(data[kFlagsAt]);
  const bool authenticated = (flags & kAuthenticated) != 0;
  const bool known = (flags & ~(kCompressed | kAuthenticated | kParts)) == 0;
  if (!known || authenticated == options_.secret.empty()) return refused(Reason::damaged);
  const auto head = data.substr(0, kChecksumAt);
  data.remove_prefix(kHeadSize);
  if (authenticated) {
    if (data.size() < sizeof(Mac)) return refused(Reason::damaged);
    const auto claimed = data.substr(0, sizeof(Mac));
    data.remove_prefix(sizeof(Mac));
    const Mac mac = macOf(head, data);
    if (sodium_memcmp(mac.data(), claimed.data(), sizeof(Mac)) != 0)
      return refused(Reason::damaged);
  }
  if ((flags & kCompressed) == 0) {
    if (data.size() > options_.max_body) return refused(Reason::too_large);
    return {Reason::none, flags, {envelope.owner, data}};
  }
  const auto size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    return refused(Reason::damaged);
  }
  if (size > options_.max_body) return refused(Reason::too_large);
  Buffer body = decompressed(data, static_cast<std::size_t>(size));
  if (!body.owner) return refused(Reason::damaged);
  return {Reason::none, flags, std::move(body)};
}

EnvelopeFormat::Decoded EnvelopeFormat::decode(const Buffer& body, const CacheKey& key, Millis now,
                                               Millis wall,
                                               const std::function<Result<>(Page&)>& finish) const {
  MessagePackReader in(body.data);
  const bool shape = in.array() == kFields;
  const auto key_bytes = in.bytes();
  if (!shape || in.failed()) return {Reason::damaged, nullptr};
  if (key_bytes != key.bytes) return {Reason::other_key, nullptr};

  Stamp stamp;
  stamp.as_of = in.unsignedInteger();
  stamp.era = in.unsignedInteger();
  stamp.schema = in.unsignedInteger();
  const Millis created_wall = in.natural();
  const Millis fresh = in.natural();
  const Millis stale = in.natural();
  const Millis error = in.natural();
  const auto cost_us =
      std::min<std::uint64_t>(in.unsignedInteger(), std::numeric_limits<std::uint32_t>::max());
  const bool is_private = in.boolean();
  thread_local Names scopes;
  thread_local Names inputs;
  scopes.begin();
  inputs.begin();
  const bool few_scopes = scopes.addLines(in.text(), kMaxScopes);
  const std::size_t input_count = in.array();
  if (in.failed() || !few_scopes || input_count > kMaxInputs) return {Reason::damaged, nullptr};
  for (std::size_t i = 0; i < input_count; ++i) {
    const auto name = in.text();
    // L15: a result that depends on what the key does not tell is another key's.
    if (!in.failed() && !keyHasInput(key.bytes, name)) return {Reason::other_key, nullptr};
    inputs.add(name);
  }
  const auto kind = in.unsignedInteger();
  if (in.failed() || kind > 1) return {Reason::damaged, nullptr};

  const Millis created = now - std::max<Millis>(wall - created_wall, 0);
  const Lifetime lifetime{created, addMillis(created, fresh), addMillis(created, stale),
                          addMillis(created, error)};
  if (lifetime.end() <= now) return {Reason::expired, nullptr};

  auto entry = CacheEntry::make(key, {.scopes = scopes.all(), .inputs = inputs.all()});
  entry->stamp = stamp;
  entry->lifetime = lifetime;
  entry->created_wall = created_wall;
  entry->cost_us = static_cast<std::uint32_t>(cost_us);
  entry->is_private = is_private;
  if (kind == 1) {
    auto page = decodePage(in.rest());
    if (!page) return {Reason::damaged, nullptr};
    if (finish && !finish(*page)) return {Reason::damaged, nullptr};
    entry->value = *page;
  } else {
    auto document = decodeDocument({body.owner, in.rest()});
    if (!document) return {Reason::damaged, nullptr};
    entry->value = std::move(*document);
  }
  return {Reason::none, std::move(entry)};
}

}  // namespace larder
