// Table: the index of a shard: digests to entries, 64-byte buckets of eight slots, linear probing
// from bucket to bucket. Many readers and one writer at a time; readers never wait.
//
// A slot is one word: 16 bits of the hash (the tag) above the entry's address, so a look-up leaves
// the bucket's cache line only for an entry that is very probably the right one. An entry never
// moves within a table; a larger table is a new one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hash.h"
#include "larder/entry.h"
#include "node_pool.h"

namespace larder::ram {

struct alignas(64) Bucket {
  using Slot = std::atomic<std::uint64_t>;
  static constexpr std::size_t kWays = 8;

  static constexpr std::uint64_t kEmpty = 0;
  /// Something was here, look further. Its tag is 0, which no hash has.
  static constexpr std::uint64_t kErased = 1;
  static constexpr unsigned kTagShift = 48;
  static constexpr std::uint64_t kAddress = (std::uint64_t{1} << kTagShift) - 1;

  static std::uint64_t wordOf(Hash hash, const CacheEntry* entry) noexcept {
    return tagOf(hash) << kTagShift | reinterpret_cast<std::uint64_t>(entry);
  }
  static const CacheEntry* entryOf(std::uint64_t word) noexcept {
    return reinterpret_cast<const CacheEntry*>(word & kAddress);
  }
  static std::uint64_t tagOf(Hash hash) noexcept { return hash >> kTagShift | 0x8000U; }

  [[nodiscard]] bool hasEmpty() const noexcept {
    return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) {
      return slot.load(std::memory_order_relaxed) == kEmpty;
    });
  }
  /// A bit for each slot with this tag. Without a branch: which slot it is cannot be predicted.
  [[nodiscard]] unsigned matches(std::uint64_t tag) const noexcept {
    unsigned bits = 0;
#pragma GCC unroll 8
    for (unsigned i = 0; i < kWays; ++i) {
      const auto word = slots[i].load(std::memory_order_relaxed);
      bits |= static_cast<unsigned>(word >> kTagShift == tag) << i;
    }
    return bits;
  }

  std::array<Slot, kWays> slots;
};

/// A table as its readers see it: one word, the buckets' address and below it the logarithm of
/// their number.
class TableView {
 public:
  using Word = std::uintptr_t;

  explicit TableView(Word word) noexcept : word_(word) {}
  TableView(const Bucket* buckets, std::size_t count) noexcept
      : word_(reinterpret_cast<Word>(buckets) | static_cast<Word>(std::countr_zero(count))) {}
  [[nodiscard]] Word word() const noexcept { return word_; }

  /// Calls visit(slot, word) for each slot that has the hash's tag, until it returns true or there
  /// is none left. `word` is what the slot held.
  template <class Visit>
  void probe(Hash hash, Visit&& visit) const {
    const auto* buckets = reinterpret_cast<const Bucket*>(word_ & ~kLogarithm);
    const auto mask = (std::size_t{1} << (word_ & kLogarithm)) - 1;
    const auto tag = Bucket::tagOf(hash);
    for (std::size_t b = hash & mask;; b = (b + 1) & mask) {
      const Bucket& bucket = buckets[b];
      for (unsigned found = bucket.matches(tag); found != 0; found &= found - 1) {
        const auto& slot = bucket.slots[static_cast<unsigned>(std::countr_zero(found))];
        const auto word = slot.load(std::memory_order_acquire);
        if (word >> Bucket::kTagShift == tag && visit(slot, word)) return;
      }
      if (bucket.hasEmpty()) return;
    }
  }

 private:
  static constexpr Word kLogarithm = alignof(Bucket) - 1;
  Word word_;
};

/// What the writer sees.
class Table {
 public:
  /// `buckets` is a power of two.
  explicit Table(std::size_t buckets);

  [[nodiscard]] TableView view() const noexcept { return {buckets_.get(), mask_ + 1}; }

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
    return slots() * (sizeof(Bucket::Slot) + sizeof(NodeIndex));
  }

  /// Links tables that have been replaced and may still be read.
  std::unique_ptr<Table> next_old;

 private:
  [[nodiscard]] std::size_t slots() const noexcept { return (mask_ + 1) * Bucket::kWays; }
  Bucket::Slot& slotAt(std::size_t slot) noexcept {
    return buckets_[slot / Bucket::kWays].slots[slot % Bucket::kWays];
  }
  [[nodiscard]] std::size_t numberOf(const Bucket::Slot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - &buckets_[0].slots[0]);
  }

  std::unique_ptr<Bucket[]> buckets_;
  std::size_t mask_;
  /// Slots that are not empty, erased ones included.
  std::size_t used_ = 0;
  std::unique_ptr<NodeIndex[]> nodes_;
};

}  // namespace larder::ram
