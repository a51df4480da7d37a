// find(): how a reader looks a key up, without a lock and without writing anything that another
// thread writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "hash.h"
#include "hazard.h"
#include "larder/entry.h"
#include "table.h"

namespace larder::ram {

/// Where a shard's readers find its table.
using TableCell = std::atomic<TableView::Word>;

enum class Found : std::uint8_t { nothing, other_key, entry };

/// On Found::entry, `slot` announces *entry; otherwise it is empty.
inline Found find(const TableCell& cell, const CacheKey& key, Hash hash, HazardRecord& me,
                  HazardSlot& slot, const CacheEntry*& entry) noexcept {
  for (;;) {
    const auto table = cell.load(std::memory_order_acquire);
    // Releases what was read in the table that was announced before.
    me.table.store(table, std::memory_order_release);
    // The kernel's barrier, when a table is freed, stands for the fence that is not here.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (cell.load(std::memory_order_acquire) != table) continue;

    auto found = Found::nothing;
    bool moved = false;
    TableView(table).probe(hash, [&](const Bucket::Slot& place, std::uint64_t word) {
      const CacheEntry* candidate = Bucket::entryOf(word);
      // What a hit reads: the end of the object, and the key behind it.
      const char* key_at = reinterpret_cast<const char*>(candidate + 1);
      __builtin_prefetch(key_at - 48);
      __builtin_prefetch(key_at);
      __builtin_prefetch(key_at + key.bytes.size());
      slot.exchange(candidate);
      moved = place.load() != word || cell.load() != table;
      if (moved) [[unlikely]]
        return true;
      if (candidate->key() == key.bytes) [[likely]] {
        found = Found::entry;
      } else if (candidate->digest == key.digest) {
        found = Found::other_key;
      } else {
        return false;
      }
      entry = candidate;
      return true;
    });
    if (moved) [[unlikely]]
      continue;
    if (found != Found::entry) slot.store(nullptr, std::memory_order_release);
    me.table.store(0, std::memory_order_release);
    return found;
  }
}

}  // namespace larder::ram
