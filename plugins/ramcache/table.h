// Table: the index of a shard: digests to entries, 64-byte buckets of eight slots, linear probing
// from bucket to bucket. Many readers and one writer at a time; readers never wait.
//
// A slot is one word: 16 bits of the hash (the tag) above the entry's address, so a look-up leaves
// the bucket's cache line only for an entry that is very probably the right one. An entry never
// moves within a table; a larger table is a new one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hash.h"
#include "larder/entry.h"
#include "node_pool.h"

namespace larder::ram {

class Table {
 public:
  using Slot = std::atomic<std::uint64_t>;

  /// `buckets` is a power of two.
  explicit Table(std::size_t buckets);

  /// Links tables that have been replaced and may still be read.
  std::unique_ptr<Table> next_old;

  // For readers.

  static const CacheEntry* entryOf(std::uint64_t word) noexcept {
    return reinterpret_cast<const CacheEntry*>(word & kAddress);
  }
  /// Calls visit(slot, word) for each slot that has the hash's tag, until it returns true or there
  /// is none left. `word` is what the slot held.
  template <class Visit>
  void probe(Hash hash, Visit&& visit) const {
    const std::uint64_t tag = tagOf(hash);
    for (std::size_t b = hash & mask_;; b = (b + 1) & mask_) {
      bool last = false;
      for (const Slot& slot : buckets_[b].slots) {
        const std::uint64_t word = slot.load(std::memory_order_acquire);
        if ((word & ~kAddress) == tag && visit(slot, word)) return;
        last |= word == kEmpty;
      }
      if (last) return;
    }
  }
  void prefetch(Hash hash) const noexcept { __builtin_prefetch(&buckets_[hash & mask_]); }

  // For the writer.

  struct Position {
    std::size_t slot;
    NodeIndex node;
  };
  /// The slot that holds an entry of this digest; false if there is none.
  bool find(Hash hash, const Digest& digest, Position& found) const noexcept;
  /// The slot that holds this very entry; precondition: there is one.
  [[nodiscard]] std::size_t slotOf(Hash hash, const CacheEntry* entry) const noexcept;
  /// Precondition: hasRoom() and nothing with this digest is there.
  void insert(Hash hash, const CacheEntry* entry, NodeIndex node) noexcept;
  void replace(std::size_t slot, const CacheEntry* entry) noexcept;
  void erase(std::size_t slot) noexcept;
  /// False when one more would make probing long.
  [[nodiscard]] bool hasRoom() const noexcept { return (used_ + 1) * 4 <= slots() * 3; }
  /// Buckets of the table that should follow this one when it has no room for `entries`.
  [[nodiscard]] std::size_t nextBuckets(std::size_t entries) const noexcept;
  /// Inserts all of another table; the nodes know the rest of their hashes.
  void insertAll(const Table& other, const NodePool& nodes) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept {
    return slots() * (sizeof(Slot) + sizeof(NodeIndex));
  }

 private:
  static constexpr std::size_t kWays = 8;
  static constexpr std::uint64_t kEmpty = 0;
  /// Something was here, look further. Its tag is 0, which no hash has.
  static constexpr std::uint64_t kErased = 1;
  static constexpr std::uint64_t kAddress = (std::uint64_t{1} << 48U) - 1;

  struct alignas(64) Bucket {
    std::array<Slot, kWays> slots;
  };

  static std::uint64_t tagOf(Hash hash) noexcept {
    return (hash & ~kAddress) | (std::uint64_t{1} << 63U);
  }
  [[nodiscard]] std::size_t slots() const noexcept { return (mask_ + 1) * kWays; }
  Slot& slotAt(std::size_t slot) noexcept { return buckets_[slot / kWays].slots[slot % kWays]; }
  [[nodiscard]] std::size_t numberOf(const Slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - &buckets_[0].slots[0]);
  }

  std::unique_ptr<Bucket[]> buckets_;
  std::size_t mask_;
  /// Slots that are not empty, erased ones included.
  std::size_t used_ = 0;
  std::unique_ptr<NodeIndex[]> nodes_;
};

}  // namespace larder::ram
