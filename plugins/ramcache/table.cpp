#include "table.h"

namespace larder::ram {

Table::Table(std::size_t buckets)
    : buckets_(std::make_unique<Bucket[]>(buckets)),
      mask_(buckets - 1),
      nodes_(std::make_unique_for_overwrite<NodeIndex[]>(buckets * Bucket::kWays)) {}

bool Table::find(Hash hash, const Digest& digest, Position& found) const noexcept {
  bool is_there = false;
  view().probe(hash, [&](const Bucket::Slot& slot, std::uint64_t word) {
    if (Bucket::entryOf(word)->digest != digest) return false;
    const auto number = numberOf(slot);
    found = {number, nodes_[number]};
    is_there = true;
    return true;
  });
  return is_there;
}

std::size_t Table::slotOf(Hash hash, const CacheEntry* entry) const noexcept {
  std::size_t number = 0;
  view().probe(hash, [&](const Bucket::Slot& slot, std::uint64_t word) {
    number = numberOf(slot);
    return Bucket::entryOf(word) == entry;
  });
  return number;
}

void Table::insert(Hash hash, const CacheEntry* entry, NodeIndex node) noexcept {
  for (std::size_t b = hash & mask_;; b = (b + 1) & mask_) {
    for (auto& slot : buckets_[b].slots) {
      const auto word = slot.load(std::memory_order_relaxed);
      if (word > Bucket::kErased) continue;
      if (word == Bucket::kEmpty) ++used_;
      nodes_[numberOf(slot)] = node;
      slot.store(Bucket::wordOf(hash, entry));
      return;
    }
  }
}

void Table::replace(std::size_t slot, const CacheEntry* entry) noexcept {
  const auto tag = slotAt(slot).load(std::memory_order_relaxed) & ~Bucket::kAddress;
  slotAt(slot).store(tag | reinterpret_cast<std::uint64_t>(entry));
}

// A bucket with an empty slot ends every probe anyway, so nothing need mark that one was here.
void Table::erase(std::size_t slot) noexcept {
  const bool ends_probes = buckets_[slot / Bucket::kWays].hasEmpty();
  if (ends_probes) --used_;
  slotAt(slot).store(ends_probes ? Bucket::kEmpty : Bucket::kErased);
}

std::size_t Table::nextBuckets(std::size_t entries) const noexcept {
  const auto buckets = mask_ + 1;
  return (entries + 1) * 2 > slots() ? buckets * 2 : buckets;
}

void Table::insertAll(const Table& other, const NodePool& nodes) noexcept {
  for (std::size_t b = 0; b <= other.mask_; ++b) {
    for (const auto& slot : other.buckets_[b].slots) {
      const auto word = slot.load(std::memory_order_relaxed);
      if (word <= Bucket::kErased) continue;
      const auto node = other.nodes_[other.numberOf(slot)];
      insert((word & ~Bucket::kAddress) | nodes[node].hash, Bucket::entryOf(word), node);
    }
  }
}

}  // namespace larder::ram
