#include "ram_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "ram_settings.h"

namespace larder {

using ram::Found;
using ram::HazardRecord;
using ram::HazardSlot;
using ram::NodeIndex;
using ram::ReadCounters;
using ram::Shard;

namespace {

constexpr std::size_t kMaxShards = 256;
/// What one hold of a shard's mutex may remove and look at: the pause of its other writers.
constexpr std::size_t kRemovalsPerTurn = 16;
constexpr NodeIndex kNodesPerTurn = 1024;
/// Nodes that one task of the background sweep looks at.
constexpr NodeIndex kNodesPerSlice = 16 * kNodesPerTurn;
static_assert(kRemovalsPerTurn < ram::Retired::kCapacity);

/// Milliseconds of a tick, as a power of two: 32 bits last for 34 years.
constexpr unsigned kTickBits = 8;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

ReadCounters::What counterOf(Reason reason) noexcept {
  switch (reason) {
    case Reason::expired:
      return ReadCounters::expired;
    case Reason::other_key:
      return ReadCounters::other_key;
    default:
      return ReadCounters::cold;
  }
}

/// Written only while it is small, so that hits of a popular entry do not write.
void noteUse(const CacheEntry& entry) noexcept {
  const auto uses = entry.uses.load(std::memory_order_relaxed);
  if (uses < ram::kMaxUses)
    entry.uses.store(static_cast<std::uint8_t>(uses + 1), std::memory_order_relaxed);
}

std::size_t positive(const Settings& settings, std::string_view name) {
  const auto value = settings.integer(name);
  if (value < 0) throw std::invalid_argument(std::string(name) + " must not be negative");
  return static_cast<std::size_t>(value);
}

void freeUnread(std::unique_ptr<ram::Table> tables, Shard& shard) noexcept {
  if (!tables) return;
  const bool readers_known = ram::processBarrier();
  std::unique_ptr<ram::Table> kept;
  while (tables) {
    auto rest = std::move(tables->next_old);
    if (!readers_known || ram::isTableAnnounced(tables->view().word())) {
      tables->next_old = std::move(kept);
      kept = std::move(tables);
    }
    tables = std::move(rest);
  }
  if (!kept) return;
  auto* last = kept.get();
  while (last->next_old) last = last->next_old.get();
  const std::lock_guard lock(shard.mutex);
  last->next_old = std::move(shard.oldTables());
  shard.oldTables() = std::move(kept);
}

}  // namespace

/// One writer's hold of a shard. At its end the cache's totals are brought up to date, then the
/// mutex is released, then what was removed is freed: not later with more of it, since the
/// allocator gives the memory of the entry before to the next one without a lock of its own.
class RAMCache::Session {
 public:
  Session(RAMCache& cache, Shard& shard) noexcept
      : cache_(cache), shard_(shard), lock_(shard.mutex), bytes_(bytes()), entries_(entries()) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    cache_.common_.bytes.fetch_add(bytes() - bytes_, std::memory_order_relaxed);
    cache_.common_.entries.fetch_add(entries() - entries_, std::memory_order_relaxed);
    garbage_.take(shard_.retired());
    auto tables = std::move(shard_.oldTables());
    lock_.unlock();
    garbage_.reclaim();
    freeUnread(std::move(tables), shard_);
  }

  /// With the changes of this session, which others do not see yet.
  [[nodiscard]] bool isOver() const noexcept {
    const auto& all = cache_.common_;
    return cache_.isOver(all.bytes.load(std::memory_order_relaxed) + bytes() - bytes_,
                         all.entries.load(std::memory_order_relaxed) + entries() - entries_);
  }
  /// False when the shard holds fewer entries than others do.
  [[nodiscard]] bool isFull() const noexcept {
    return entries() * cache_.shards_.size() >=
           cache_.common_.entries.load(std::memory_order_relaxed);
  }
  void evictSome() noexcept {
    for (std::size_t n = 0; n < kRemovalsPerTurn && isOver() && isFull(); ++n) {
      if (!shard_.evict()) return;
    }
  }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept {
    return shard_.entryBytes() + shard_.indexBytes();
  }
  [[nodiscard]] std::size_t entries() const noexcept { return shard_.nodes().count(); }

  ram::Retired garbage_;
  RAMCache& cache_;
  Shard& shard_;
  std::unique_lock<std::mutex> lock_;
  const std::size_t bytes_;
  const std::size_t entries_;
};

RAMCache::RAMCache(Host& host, const Settings& settings)
    : clock_(host.clock()), start_(clock_.monotonic()) {
  max_bytes_ = positive(settings, "max_size");
  max_entries_ = positive(settings, "max_entries");
  max_entry_bytes_ = positive(settings, "max_entry_size");
  if (max_entry_bytes_ == 0) max_entry_bytes_ = max_bytes_ / 16;
  max_entry_bytes_ = std::min<std::size_t>(max_entry_bytes_, kNever);

  const auto& policy = settings.text("policy");
  const auto spelled = std::find(std::begin(ram::kPolicies), std::end(ram::kPolicies), policy);
  if (spelled == std::end(ram::kPolicies))
    throw std::invalid_argument("policy = \"" + policy + "\" is unknown; write s3fifo or sieve");
  common_.policy = *spelled;

  const auto min_share = positive(settings, "min_share");
  const auto max_share = positive(settings, "max_share");
  if (max_share > 100 || min_share > max_share)
    throw std::invalid_argument("min_share and max_share are percentages, the first not larger");
  common_.shares = {static_cast<double>(min_share) / 100, static_cast<double>(max_share) / 100};

  auto shards = positive(settings, "shards");
  if (shards == 0) shards = shardsFor(max_bytes_, max_entries_);
  if (!std::has_single_bit(shards) || shards > kMaxShards)
    throw std::invalid_argument("shards = " + std::to_string(shards) +
                                " is no power of two from 1 to 256; 0 chooses a number");
  shard_mask_ = shards - 1;
  tables_ = std::make_unique<ram::TableCell[]>(shards);
  for (std::size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(common_, tables_[i]));
    common_.bytes += shards_.back()->indexBytes();
  }

  const auto interval = settings.duration("cleanup_interval");
  if (interval < 0) throw std::invalid_argument("cleanup_interval must not be negative");
  if (interval == 0 || interval == kForever) return;
  sweeper_ = std::make_shared<ram::Sweeper>(host, interval, [this] { return expireSome(); });
  sweeper_->arm();
}

RAMCache::~RAMCache() {
  if (sweeper_) sweeper_->stop();
}

// A shard chooses what to evict by what it sees alone: with fewer than 500 entries it chooses
// noticeably worse. Pages are taken to be of 16 KiB.
std::size_t RAMCache::shardsFor(std::size_t max_bytes, std::size_t max_entries) noexcept {
  auto entries = max_bytes / (std::size_t{16} << 10U);
  if (max_entries != 0) entries = std::min(entries, max_entries);
  return std::clamp<std::size_t>(std::bit_floor(entries / 512), 1, 16);
}

std::uint32_t RAMCache::tickOf(Millis at) const noexcept {
  if (at <= start_) return 0;
  const auto ticks = static_cast<std::uint64_t>(at - start_) >> kTickBits;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, kNever));
}

Lookup RAMCache::get(const CacheKey& key, Deadline) noexcept {
  HazardRecord* me = ram::myRecord();
  const auto hash = common_.hash(key.digest);
  if (!me) return getCounted(key, hash);
  HazardSlot& slot = me->vacant();
  const CacheEntry* entry = nullptr;
  switch (ram::find(tables_[shardOf(hash)], key, hash, *me, slot, entry)) {
    case Found::nothing:
      return missed(Reason::cold, me);
    case Found::other_key:
      return missed(Reason::other_key, me);
    case Found::entry:
      break;
  }
  noteUse(*entry);
  if (entry->lifetime.end() < clock_.monotonic()) {
    slot.store(nullptr, std::memory_order_release);
    return missed(Reason::expired, me);
  }
  reads_.count(ReadCounters::hit, me);
  if (!me->isGuard(slot)) return {Status::hit, EntryRef(entry, &slot), Reason::none};
  EntryPtr counted(entry);
  slot.store(nullptr, std::memory_order_release);
  return {Status::hit, EntryRef(std::move(counted)), Reason::none};
}

Lookup RAMCache::getCounted(const CacheKey& key, ram::Hash hash) noexcept {
  Shard& shard = *shards_[shardOf(hash)];
  EntryPtr counted;
  {
    const std::lock_guard lock(shard.mutex);
    const CacheEntry* entry = nullptr;
    const auto found = shard.findLocked(key, hash, entry);
    if (found != Found::entry)
      return missed(found == Found::other_key ? Reason::other_key : Reason::cold, nullptr);
    counted = EntryPtr(entry);
  }
  noteUse(*counted);
  if (counted->lifetime.end() < clock_.monotonic()) return missed(Reason::expired, nullptr);
  reads_.count(ReadCounters::hit, nullptr);
  return {Status::hit, EntryRef(std::move(counted)), Reason::none};
}

Lookup RAMCache::missed(Reason reason, const HazardRecord* me) noexcept {
  reads_.count(counterOf(reason), me);
  return {Status::miss, {}, reason};
}

Stored RAMCache::put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept {
  if (sweeper_) sweeper_->arm();
  const auto weight = entry->weight();
  if (weight > max_entry_bytes_) {
    too_large_.fetch_add(1, std::memory_order_relaxed);
    erase(key, deadline);
    return {false, Reason::too_large};
  }
  const auto hash = common_.hash(entry->digest);
  const auto expires = tickOf(entry->lifetime.end());
  const auto now = tickOf(clock_.monotonic());
  Shard& shard = *shards_[shardOf(hash)];
  try {
    Session session(*this, shard);
    if (shard.put(hash, entry, static_cast<std::uint32_t>(weight), expires, now) ==
        Shard::Put::late)
      return {false, Reason::exists};
    session.evictSome();
  } catch (const std::bad_alloc&) {
    no_memory_.fetch_add(1, std::memory_order_relaxed);
    return {false, Reason::full};
  }
  makeRoom();
  return {true, Reason::none};
}

// The cache is over a limit, so at least one shard holds its share or more.
void RAMCache::makeRoom() noexcept {
  const auto& all = common_;
  while (isOver(all.bytes.load(std::memory_order_relaxed),
                all.entries.load(std::memory_order_relaxed)) &&
         all.entries.load(std::memory_order_relaxed) != 0) {
    Shard& shard = *shards_[next_victim_.fetch_add(1, std::memory_order_relaxed) & shard_mask_];
    Session(*this, shard).evictSome();
  }
}

Stored RAMCache::erase(const CacheKey& key, Deadline) noexcept {
  const auto hash = common_.hash(key.digest);
  Shard& shard = *shards_[shardOf(hash)];
  Session session(*this, shard);
  shard.erase(key, hash);
  return {true, Reason::none};
}

Stored RAMCache::clear(Deadline) noexcept {
  for (auto& shard : shards_) {
    ram::NodePool removed;
    try {
      Session session(*this, *shard);
      removed = shard->clear();
    } catch (const std::bad_alloc&) {
      return {false, Reason::full};
    }
    ram::Retired garbage;
    for (NodeIndex i = 0; i < removed.end(); ++i) {
      if (!removed[i].entry) continue;
      if (garbage.room() == 0) garbage.reclaim();
      garbage.add(removed[i].entry);
    }
  }
  return {true, Reason::none};
}

bool RAMCache::sweep(const Expendable& expendable, std::size_t budget) noexcept {
  struct Candidate {
    NodeIndex node;
    EntryPtr entry;
  };
  while (budget > 0) {
    auto at = sweep_at_.load(std::memory_order_relaxed);
    const auto number = static_cast<std::size_t>(at >> 32U);
    Shard& shard = *shards_[number & shard_mask_];
    std::array<Candidate, kRemovalsPerTurn> batch;
    std::size_t size = 0;
    auto next = at;
    {
      const std::lock_guard lock(shard.mutex);
      auto node = static_cast<NodeIndex>(at);
      const auto end = shard.nodes().end();
      const auto stop = node < end ? node + std::min(end - node, kNodesPerTurn) : end;
      for (; node < stop && size < std::min(batch.size(), budget); ++node) {
        if (const auto* entry = shard.nodes()[node].entry) batch[size++] = {node, EntryPtr(entry)};
      }
      next = node < end ? (at >> 32U << 32U) | node : ((at >> 32U) + 1) << 32U;
    }
    const bool is_last = (next >> 32U) == shards_.size();
    // Another sweep may have taken this part meanwhile.
    if (!sweep_at_.compare_exchange_strong(at, is_last ? 0 : next)) continue;
    budget -= size;
    const auto kept = std::remove_if(batch.begin(), batch.begin() + size,
                                     [&](const Candidate& c) { return !expendable(*c.entry); });
    if (kept != batch.begin()) {
      Session session(*this, shard);
      std::for_each(batch.begin(), kept,
                    [&](const Candidate& c) { shard.eraseNode(c.node, c.entry.get()); });
    }
    if (is_last) return false;
  }
  return true;
}

bool RAMCache::expireSome() noexcept {
  const auto now = tickOf(clock_.monotonic());
  NodeIndex seen = 0;
  while (seen < kNodesPerSlice) {
    Shard& shard = *shards_[expire_at_.shard];
    Session session(*this, shard);
    const auto end = shard.nodes().end();
    const auto stop = std::min(end, expire_at_.node + kNodesPerTurn);
    std::size_t removed = 0;
    for (; expire_at_.node < stop && removed < kRemovalsPerTurn; ++expire_at_.node, ++seen) {
      if (shard.expire(expire_at_.node, now)) ++removed;
    }
    if (expire_at_.node < end) continue;
    expire_at_ = {expire_at_.shard + 1, 0};
    if (expire_at_.shard < shards_.size()) continue;
    expire_at_ = {};
    return false;
  }
  return true;
}

Stats RAMCache::stats() const noexcept {
  ram::WriteCounters writes;
  std::size_t index_bytes = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    const auto& c = shard->counters();
    writes.stored += c.stored;
    writes.replaced += c.replaced;
    writes.late += c.late;
    writes.evicted += c.evicted;
    writes.expired += c.expired;
    writes.erased += c.erased;
    index_bytes += shard->indexBytes();
  }
  const auto cold = reads_.sum(ReadCounters::cold);
  const auto expired = reads_.sum(ReadCounters::expired);
  const auto other_key = reads_.sum(ReadCounters::other_key);
  return {
      {"entries", common_.entries.load(std::memory_order_relaxed)},
      {"bytes", common_.bytes.load(std::memory_order_relaxed)},
      {"max_bytes", max_bytes_},
      {"index_bytes", index_bytes},
      {"hits", reads_.sum(ReadCounters::hit)},
      {"misses", cold + expired + other_key},
      {"misses_cold", cold},
      {"misses_expired", expired},
      {"misses_other_key", other_key},
      {"stores", writes.stored + writes.replaced},
      {"replaced", writes.replaced},
      {"late_stores", writes.late},
      {"too_large", too_large_.load(std::memory_order_relaxed)},
      {"no_memory", no_memory_.load(std::memory_order_relaxed)},
      {"evictions", writes.evicted},
      {"expired", writes.expired},
      {"erased", writes.erased},
  };
}

Health RAMCache::health() const noexcept {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  return {true, std::to_string(common_.entries.load(std::memory_order_relaxed)) + " entries, " +
                    std::to_string(common_.bytes.load(std::memory_order_relaxed) / kMiB) + " of " +
                    std::to_string(max_bytes_ / kMiB) + " MiB"};
}

}  // namespace larder
