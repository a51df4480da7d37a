#include "larder/cache/envelope.h"

#include <algorithm>
#include <cstring>
#include <msgpack.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "codec_reader.h"
#include "envelope_format.h"

namespace larder {

namespace {

constexpr SettingSpec kSettings[] = {
    {"prefix", SettingType::text, "larder:", "What every key on the servers begins with."},
    {"secret", SettingType::text, "",
     "Entries carry a MAC made with it; those without the right one are misses."},
    {"compress_above", SettingType::size, "32K", "Larger entries are compressed if that helps."},
    {"max_entry_size", SettingType::size, "16M", "Larger entries are not stored."},
    {"chunk", SettingType::boolean, "false",
     "Split entries that are over the server's own limit instead of refusing them."},
};

/// Writes the 22 characters of 16 bytes in base64url without padding.
char* writeBase64(char* to, const Digest& digest) noexcept {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (int i = 0; i < 21; ++i) {
    // 128 bits, six at a time from the top.
    const int low = 122 - 6 * i;
    const std::uint64_t bits = low >= 64  ? digest.high >> (low - 64)
                               : low > 58 ? digest.high << (64 - low) | digest.low >> low
                                          : digest.low >> low;
    *to++ = kAlphabet[bits & 63];
  }
  *to++ = kAlphabet[(digest.low & 3) << 4];
  return to;
}

std::string_view bytesOf(const Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(&digest), sizeof(digest)};
}

}  // namespace

std::span<const SettingSpec> envelopeSettings() noexcept {
  return kSettings;
}

EnvelopeOptions envelopeOptions(const Settings& settings, std::string name_space) {
  return {.prefix = settings.text("prefix"),
          .name_space = std::move(name_space),
          .secret = settings.text("secret"),
          .compress_above = settings.size("compress_above"),
          .max_value = settings.size("max_entry_size"),
          .chunk = settings.boolean("chunk")};
}

EnvelopeCache::EnvelopeCache(std::shared_ptr<ByteCache> store, const Clock& clock,
                             EnvelopeOptions options, Finish finish, Log log)
    : store_(std::move(store)),
      clock_(clock),
      options_(std::move(options)),
      name_space_(digestOf(options_.name_space)),
      format_(std::make_unique<EnvelopeFormat>(
          name_space_,
          EnvelopeFormat::Options{options_.secret, options_.compress_above, options_.max_value})),
      finish_(std::move(finish)),
      log_(std::move(log)) {
  if (options_.prefix.size() > EnvelopeOptions::kMaxPrefix) {
    throw std::invalid_argument("prefix: it has " + std::to_string(options_.prefix.size()) +
                                " bytes, more than " + std::to_string(EnvelopeOptions::kMaxPrefix));
  }
  const auto printable = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::all_of(options_.prefix.begin(), options_.prefix.end(), printable)) {
    throw std::invalid_argument(
        "prefix: only printable ASCII characters without blanks can be part of a key");
  }
}

EnvelopeCache::~EnvelopeCache() = default;

EnvelopeCache::WireKey EnvelopeCache::wireKey(const Digest& digest, Use use, const Digest& id,
                                              std::uint64_t number) const noexcept {
  struct {
    Digest name_space, digest, id;
    std::uint64_t use, number;
  } const named{name_space_, digest, id, static_cast<std::uint64_t>(use), number};
  WireKey key;
  options_.prefix.copy(key.chars.data(), options_.prefix.size());
  char* end = writeBase64(key.chars.data() + options_.prefix.size(),
                          digestOf({reinterpret_cast<const char*>(&named), sizeof(named)}));
  key.size = static_cast<std::size_t>(end - key.chars.data());
  return key;
}

Lookup EnvelopeCache::get(const CacheKey& key, Deadline deadline) noexcept {
  const WireKey wire_key = wireKey(key.digest, Use::value);
  return open(key, wire_key.view(), store_->get(wire_key.view(), deadline), deadline);
}

void EnvelopeCache::getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
                            Deadline deadline) noexcept {
  std::vector<WireKey> wire_keys(keys.size());
  std::vector<std::string_view> names(keys.size());
  std::vector<ByteLookup> found(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    wire_keys[i] = wireKey(keys[i].digest, Use::value);
    names[i] = wire_keys[i].view();
  }
  store_->getMany(names, found, deadline);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = open(keys[i], names[i], std::move(found[i]), deadline);
  }
}

Lookup EnvelopeCache::open(const CacheKey& key, std::string_view wire_key, ByteLookup&& found,
                           Deadline deadline) noexcept {
  if (found.status != Status::hit) return {found.status, {}, found.reason};
  const auto miss = [this](Reason reason) {
    count(reason);
    return Lookup{Status::miss, {}, reason};
  };
  auto opened = format_->unseal(found.value);
  if (opened.reason == Reason::none && (opened.flags & EnvelopeFormat::kParts) != 0) {
    const auto whole = gather(key, opened.body.data, deadline);
    if (whole.status != Status::hit) return {whole.status, {}, whole.reason};
    opened = format_->unseal(whole.value);
    if ((opened.flags & EnvelopeFormat::kParts) != 0) return miss(Reason::damaged);
  }
  if (opened.reason != Reason::none) return miss(opened.reason);
  auto decoded = format_->decode(opened.body, key, clock_.monotonic(), clock_.wall(), finish_);
  if (decoded.reason == Reason::other_key) store_->distrust(wire_key);
  if (!decoded.entry) return miss(decoded.reason);
  return {Status::hit, EntryPtr(std::move(decoded.entry)), Reason::none};
}

Stored EnvelopeCache::put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept {
  const WireKey wire_key = wireKey(key.digest, Use::value);
  const Millis now = clock_.monotonic();
  const Millis end = entry->lifetime.end();
  if (end <= now) return refuse(wire_key.view(), Reason::expired, deadline);
  const Millis ttl = end == kForever ? kForever : end - now;

  const auto body = format_->encode(*entry, key.bytes);
  if (!body) {
    if (log_) log_(body.error().message);
    return refuse(wire_key.view(), Reason::unsupported, deadline);
  }
  if (body->size() > options_.max_value) {
    return refuse(wire_key.view(), Reason::too_large, deadline);
  }
  const std::string envelope = format_->seal(*body);
  if (envelope.size() < body->size()) {
    counters_.compressed.fetch_add(1, std::memory_order_relaxed);
  }
  const std::size_t limit = store_->maxValueBytes();
  if (envelope.size() <= limit) return store_->put(wire_key.view(), envelope, ttl, deadline);
  if (!options_.chunk || limit == 0) return refuse(wire_key.view(), Reason::too_large, deadline);
  return split(key, envelope, limit, ttl, deadline);
}

/// Parts first, so that whoever sees the list can find them; the id changes with the content, so
/// that parts of two values never come together.
Stored EnvelopeCache::split(const CacheKey& key, std::string_view envelope, std::size_t part_size,
                            Millis ttl, Deadline deadline) noexcept {
  const WireKey wire_key = wireKey(key.digest, Use::value);
  const Digest id = digestOf(envelope);
  for (std::size_t at = 0, number = 0; at < envelope.size(); at += part_size, ++number) {
    const WireKey part_key = wireKey(key.digest, Use::part, id, number);
    const Stored stored =
        store_->put(part_key.view(), envelope.substr(at, part_size), ttl, deadline);
    if (stored.ok) continue;
    const bool refused = stored.reason == Reason::too_large || stored.reason == Reason::full;
    return refused ? refuse(wire_key.view(), stored.reason, deadline) : stored;
  }
  msgpack::sbuffer list;
  msgpack::packer<msgpack::sbuffer> packer(list);
  packer.pack_array(3).pack_uint64(envelope.size()).pack_uint64(part_size);
  packer.pack_bin(sizeof(id)).pack_bin_body(bytesOf(id).data(), sizeof(id));
  counters_.split.fetch_add(1, std::memory_order_relaxed);
  return store_->put(wire_key.view(),
                     format_->seal({list.data(), list.size()}, EnvelopeFormat::kParts), ttl,
                     deadline);
}

ByteLookup EnvelopeCache::gather(const CacheKey& key, std::string_view list,
                                 Deadline deadline) noexcept {
  const auto miss = [this](Reason reason) {
    count(reason);
    return ByteLookup{Status::miss, {}, reason};
  };
  MessagePackReader in(list);
  const bool shape = in.array() == 3;
  const std::uint64_t size = in.unsignedInteger();
  const std::uint64_t part_size = in.unsignedInteger();
  const std::string_view id_bytes = in.bytes();
  Digest id;
  if (!shape || !in.complete() || size == 0 || part_size == 0 || id_bytes.size() != sizeof(id)) {
    return miss(Reason::damaged);
  }
  std::memcpy(&id, id_bytes.data(), sizeof(id));
  static constexpr std::size_t kMaxParts = 4096;
  const std::uint64_t parts = (size - 1) / part_size + 1;
  if (size > options_.max_value + format_->overhead() || parts > kMaxParts) {
    return miss(Reason::too_large);
  }
  std::vector<WireKey> wire_keys(parts);
  std::vector<std::string_view> names(parts);
  std::vector<ByteLookup> found(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    wire_keys[i] = wireKey(key.digest, Use::part, id, i);
    names[i] = wire_keys[i].view();
  }
  store_->getMany(names, found, deadline);
  auto whole = std::make_shared_for_overwrite<char[]>(size);
  std::size_t at = 0;
  for (const ByteLookup& part : found) {
    if (part.status == Status::error) return {Status::error, {}, part.reason};
    if (part.status == Status::miss) {
      counters_.incomplete.fetch_add(1, std::memory_order_relaxed);
      return {Status::miss, {}, part.reason};
    }
    const std::string_view data = part.value.data;
    if (data.size() != std::min<std::uint64_t>(part_size, size - at)) return miss(Reason::damaged);
    std::memcpy(whole.get() + at, data.data(), data.size());
    at += data.size();
  }
  const std::string_view data(whole.get(), size);
  return {Status::hit, {std::move(whole), data}, Reason::none};
}

Stored EnvelopeCache::refuse(std::string_view wire_key, Reason reason, Deadline deadline) noexcept {
  count(reason);
  store_->erase(wire_key, deadline);
  return {false, reason};
}

Stored EnvelopeCache::erase(const CacheKey& key, Deadline deadline) noexcept {
  return store_->erase(wireKey(key.digest, Use::value).view(), deadline);
}

Stored EnvelopeCache::clear(Deadline deadline) noexcept {
  return store_->clear(deadline);
}

Stored EnvelopeCache::lease(const CacheKey& key, std::string_view token, Millis ttl,
                            Deadline deadline) noexcept {
  return store_->add(wireKey(key.digest, Use::lease).view(), token, std::max(ttl, kMinLease),
                     deadline);
}

Stored EnvelopeCache::endLease(const CacheKey& key, std::string_view token,
                               Deadline deadline) noexcept {
  return store_->release(wireKey(key.digest, Use::lease).view(), token, deadline);
}

void EnvelopeCache::count(Reason reason) noexcept {
  std::atomic<std::uint64_t>* counter = nullptr;
  switch (reason) {
    case Reason::other_key:
      counter = &counters_.other_key;
      break;
    case Reason::damaged:
      counter = &counters_.damaged;
      break;
    case Reason::old_format:
      counter = &counters_.old_format;
      break;
    case Reason::expired:
      counter = &counters_.expired;
      break;
    case Reason::too_large:
      counter = &counters_.too_large;
      break;
    case Reason::unsupported:
      counter = &counters_.unencodable;
      break;
    default:
      return;  // the store's own, counted there
  }
  counter->fetch_add(1, std::memory_order_relaxed);
}

std::vector<ServerReport> EnvelopeCache::servers(Deadline deadline) noexcept {
  auto* const list = dynamic_cast<ServerList*>(store_.get());
  return list ? list->servers(deadline) : std::vector<ServerReport>();
}

Stats EnvelopeCache::stats() const noexcept {
  Stats stats = store_->stats();
  const auto add = [&stats](const char* name, const std::atomic<std::uint64_t>& counter) {
    stats.emplace_back(name, counter.load(std::memory_order_relaxed));
  };
  add("envelope_other_key", counters_.other_key);
  add("envelope_damaged", counters_.damaged);
  add("envelope_old_format", counters_.old_format);
  add("envelope_expired", counters_.expired);
  add("envelope_too_large", counters_.too_large);
  add("envelope_unencodable", counters_.unencodable);
  add("envelope_incomplete", counters_.incomplete);
  add("envelope_compressed", counters_.compressed);
  add("envelope_split", counters_.split);
  return stats;
}

}  // namespace larder
