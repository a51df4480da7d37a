#include "tiered_manager.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace larder::tiered {

namespace {

/// For erasing one entry during a sweep, ms.
constexpr Millis kEraseTime = 100;

std::shared_ptr<Cache> part(Host& host, const Settings& settings, const char* name) {
  const std::string& id = settings.text(name);
  if (std::shared_ptr<Cache> cache = host.manager(id)) return cache;
  throw std::runtime_error(std::string(name) + ": no other manager '" + id +
                           "' works at this one's path or above; name one by its id");
}

Lookup noTime() noexcept {
  return {.status = Status::error, .entry = {}, .reason = Reason::timeout};
}

bool never(const CacheEntry&) noexcept {
  return false;
}

}  // namespace

TieredManager::TieredManager(Host& host, const Settings& settings)
    : clock_(host.clock()), near_(part(host, settings, "l1")), far_(part(host, settings, "l2")) {
  if (near_ == far_) throw std::runtime_error("l2: must be another manager than l1");
}

void TieredManager::take(const CacheKey& key, Lookup&& far, const Over& over, Lookup& found,
                         Deadline deadline) noexcept {
  if (far.status == Status::error) far_errors_.fetch_add(1, std::memory_order_relaxed);
  const bool replaces = found.status == Status::hit;
  if (replaces && (far.status != Status::hit || over(*far.entry))) {
    found.reason = far.status == Status::error ? far.reason : Reason::none;
    return;
  }
  if (replaces) replaced_.fetch_add(1, std::memory_order_relaxed);
  if (far.status == Status::hit && near_->put(key, far.entry.share(), deadline).ok)
    promoted_.fetch_add(1, std::memory_order_relaxed);
  found = std::move(far);
}

Lookup TieredManager::get(const CacheKey& key, Deadline deadline) noexcept {
  Lookup found = near_->get(key, deadline);
  found.near = found.status == Status::hit;
  if (found.near) return found;
  if (!hasTime(deadline)) return noTime();
  take(key, far_->get(key, deadline), never, found, deadline);
  return found;
}

void TieredManager::getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
                            Deadline deadline) noexcept {
  getBehind(keys, out, never, deadline);
}

void TieredManager::getBehind(std::span<const CacheKey> keys, std::span<Lookup> out,
                              const Over& over, Deadline deadline) noexcept {
  near_->getMany(keys, out, deadline);
  std::vector<std::size_t> places;
  std::vector<CacheKey> rest;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i].near = out[i].status == Status::hit && !over(*out[i].entry);
    if (out[i].near) continue;
    places.push_back(i);
    rest.push_back(keys[i]);
  }
  if (rest.empty()) return;
  if (!hasTime(deadline)) {
    for (const std::size_t place : places) {
      if (out[place].status != Status::hit) out[place] = noTime();
      out[place].reason = Reason::timeout;
    }
    return;
  }
  std::vector<Lookup> far(rest.size());
  far_->getMany(rest, far, deadline);
  for (std::size_t i = 0; i < rest.size(); ++i)
    take(rest[i], std::move(far[i]), over, out[places[i]], deadline);
}

Stored TieredManager::put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept {
  const Stored near = near_->put(key, entry, deadline);
  const Stored far = hasTime(deadline) ? far_->put(key, std::move(entry), deadline)
                                       : Stored{false, Reason::timeout};
  return {near.ok || far.ok, far.reason};
}

Stored TieredManager::erase(const CacheKey& key, Deadline deadline) noexcept {
  const Stored near = near_->erase(key, deadline);
  const Stored far = far_->erase(key, deadline);
  return far.ok ? near : far;
}

Stored TieredManager::clear(Deadline deadline) noexcept {
  const Stored near = near_->clear(deadline);
  const Stored far = far_->clear(deadline);
  return far.ok ? near : far;
}

bool TieredManager::sweep(const Expendable& expendable, std::size_t budget) noexcept {
  std::vector<EntryPtr> removed;
  const bool more = near_->sweep(
      [&](const CacheEntry& entry) {
        if (!expendable(entry)) return false;
        removed.emplace_back(&entry);
        return true;
      },
      budget);
  for (const EntryPtr& entry : removed) {
    const CacheKey key{entry->key(), entry->digest, entry->partition};
    if (!far_->erase(key, clock_.monotonic() + kEraseTime).ok) break;
  }
  return more;
}

Stats TieredManager::stats() const noexcept {
  Stats stats = {{"promoted", promoted_.load(std::memory_order_relaxed)},
                 {"replaced", replaced_.load(std::memory_order_relaxed)},
                 {"l2_errors", far_errors_.load(std::memory_order_relaxed)}};
  for (const auto& [name, number] : near_->stats()) stats.emplace_back("l1 " + name, number);
  for (const auto& [name, number] : far_->stats()) stats.emplace_back("l2 " + name, number);
  return stats;
}

Health TieredManager::health() const noexcept {
  Health health;
  for (const auto& [name, cache] : {std::pair("l1: ", near_.get()), {"l2: ", far_.get()}}) {
    const Health part = cache->health();
    if (part.ok) continue;
    health.ok = false;
    health.detail += (health.detail.empty() ? "" : "; ") + (name + part.detail);
  }
  return health;
}

}  // namespace larder::tiered
