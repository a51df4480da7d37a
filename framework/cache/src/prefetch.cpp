#include "larder/cache/prefetch.h"

#include <algorithm>
#include <utility>

#include "larder/cache/flight.h"

namespace larder {

namespace {

bool isUsedHit(const RequestMemo::Item& item) noexcept {
  return item.used && item.lookup.status == Status::hit;
}

}  // namespace

RequestMemo::Item* RequestMemo::itemOf(const Cache& cache, const Digest& key) {
  const Item* item = find(cache, key);
  return item ? &items_[static_cast<std::size_t>(item - items_.data())] : nullptr;
}

RequestMemo::Item* RequestMemo::add(const std::shared_ptr<Cache>& cache, const Digest& key,
                                    std::size_t bytes) {
  const bool room = items_.size() < kMaxItems && bytes_ + bytes <= kMaxBytes;
  if (!room || !places_.try_emplace(key, items_.size()).second) return nullptr;
  bytes_ += bytes;
  return &items_.emplace_back(Item{cache, {}, 0, false});
}

std::optional<Lookup> RequestMemo::take(const Cache& cache, const CacheKey& key,
                                        std::uint32_t& landings) {
  Item* item = itemOf(cache, key.digest);
  if (!item) return std::nullopt;
  const Lookup& known = item->lookup;
  if (known.status == Status::hit) {
    if (known.entry->key() != key.bytes) return std::nullopt;
    landings = item->landings;
    return Lookup{Status::hit, EntryRef(known.entry.share()), known.reason};
  }
  // Whoever looks again wants to know whether somebody has stored it meanwhile.
  if (std::exchange(item->used, true)) return std::nullopt;
  landings = item->landings;
  return Lookup{known.status, {}, known.reason};
}

void RequestMemo::keep(const std::shared_ptr<Cache>& cache, const EntryRef& entry,
                       std::uint32_t landings) {
  Item* item = itemOf(*cache, entry->digest);
  if (!item) item = add(cache, entry->digest, entry->weight());
  if (!item) return;
  item->used = true;
  if (item->lookup.entry.get() == entry.get()) return;
  item->lookup = {Status::hit, EntryRef(entry.share()), Reason::none};
  item->landings = landings;
}

void RequestMemo::prefetched(const std::shared_ptr<Cache>& cache, const Digest& key,
                             Lookup&& lookup, std::uint32_t landings) {
  Item* item = add(cache, key, lookup.entry ? lookup.entry->weight() : 0);
  if (!item) return;
  item->lookup = std::move(lookup);
  item->lookup.entry.makeDurable();
  item->landings = landings;
}

const RequestMemo::Item* RequestMemo::find(const Cache& cache, const Digest& key) const {
  const auto place = places_.find(key);
  const Item* item = place == places_.end() ? nullptr : &items_[place->second];
  return item && item->cache.get() == &cache ? item : nullptr;
}

bool Manifests::Manifest::names(const RequestMemo& memo) const {
  std::ptrdiff_t asked = 0;
  for (const Part& part : parts) {
    const auto cache = part.cache.lock();
    if (!cache) return false;
    for (const Key& key : part.keys) {
      const auto* item = memo.find(*cache, key.digest);
      if (item && !isUsedHit(*item)) return false;
      asked += item ? 1 : 0;
    }
  }
  return asked == std::ranges::count_if(memo.items(), isUsedHit);
}

bool Manifests::Manifest::add(const std::shared_ptr<Cache>& cache, Key key) {
  if (weight + key.weight > kMaxWeight || keys == kMaxKeys) return false;
  weight += key.weight;
  ++keys;
  bytes += sizeof(Key) + key.bytes.size();
  auto part = std::ranges::find_if(parts, [&](const Part& p) { return p.cache.lock() == cache; });
  if (part == parts.end()) part = parts.insert(part, Part{.cache = cache, .keys = {}});
  part->keys.push_back(std::move(key));
  return true;
}

std::shared_ptr<const Manifests::Manifest> Manifests::manifestOf(const RequestMemo& memo,
                                                                 const Manifest* known) {
  auto manifest = std::make_shared<Manifest>();
  bool room = true;
  for (const RequestMemo::Item& item : memo.items()) {
    if (!room) break;
    if (!isUsedHit(item)) continue;
    const CacheEntry& entry = *item.lookup.entry;
    room = manifest->add(item.cache,
                         {std::string(entry.key()), entry.digest, entry.partition, entry.weight()});
  }
  for (const Part& part : known ? known->parts : std::vector<Part>()) {
    const auto cache = part.cache.lock();
    if (!cache) continue;
    for (const Key& key : part.keys) {
      if (room && !memo.find(*cache, key.digest)) room = manifest->add(cache, key);
    }
  }
  // One key takes one round trip anyway.
  std::erase_if(manifest->parts, [](const Part& part) { return part.keys.size() < 2; });
  return manifest->parts.empty() ? nullptr : manifest;
}

bool Manifests::prefetch(const Digest& page, RequestMemo& memo, const Cache::Over& over,
                         Deadline deadline) {
  const auto manifest = find(page);
  if (!manifest) return true;
  for (const Part& part : manifest->parts) {
    const auto cache = part.cache.lock();
    if (!cache) continue;
    std::vector<CacheKey> keys;
    std::vector<std::uint32_t> landings;
    for (const Key& key : part.keys) {
      if (memo.find(*cache, key.digest)) continue;
      keys.push_back({key.bytes, key.digest, key.partition});
      landings.push_back(flights_.landings(key.digest));
    }
    std::vector<Lookup> found(keys.size());
    cache->getBehind(keys, found, over, deadline);
    bool hangs = false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      hangs |= found[i].reason == Reason::timeout;
      if (!found[i].near) memo.prefetched(cache, keys[i].digest, std::move(found[i]), landings[i]);
    }
    if (hangs) return false;
  }
  return true;
}

void Manifests::learn(const Digest& page, const RequestMemo& memo) {
  // Of a page that was made while a cache could not be asked nothing is learned.
  const bool unanswered = std::ranges::any_of(memo.items(), [](const RequestMemo::Item& item) {
    return item.lookup.status == Status::error;
  });
  if (memo.items().empty() || unanswered) return;
  const auto known = find(page);
  if (known && known->names(memo)) return;
  put(page, manifestOf(memo, known.get()));
}

std::shared_ptr<const Manifests::Manifest> Manifests::find(const Digest& page) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(page);
  if (place == places_.end()) return nullptr;
  pages_.splice(pages_.begin(), pages_, place->second);
  return place->second->manifest;
}

void Manifests::put(const Digest& page, std::shared_ptr<const Manifest> manifest) {
  const std::lock_guard lock(mutex_);
  const auto forget = [this](std::list<Page>::iterator known) {
    bytes_ -= known->manifest->bytes;
    places_.erase(known->digest);
    pages_.erase(known);
  };
  if (const auto place = places_.find(page); place != places_.end()) forget(place->second);
  if (!manifest) return;
  bytes_ += manifest->bytes;
  pages_.push_front({page, std::move(manifest)});
  places_[page] = pages_.begin();
  while (bytes_ > kMaxBytes) forget(std::prev(pages_.end()));
}

}  // namespace larder
