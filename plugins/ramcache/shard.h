// Shard: a part of the cache with an index, a policy and a mutex of its own, as its writers see it.
// Readers see no more of it than the TableCell (lookup.h).
//
// All functions are for one writer at a time, who holds `mutex`. What writers remove gathers in
// retired() and oldTables(), to be freed when the mutex has been released.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "hash.h"
#include "hazard.h"
#include "larder/cache.h"
#include "lookup.h"
#include "node_pool.h"
#include "policy.h"
#include "table.h"

namespace larder::ram {

/// The parts of a cache that its shards share; outlives them.
struct Common {
  Hasher hash;
  std::string_view policy;
  /// What each shard begins with.
  Shares shares{0, 1};
  // Of all shards together. On a line of their own: readers need the one above.
  alignas(64) std::atomic<std::size_t> entries{0};
  std::atomic<std::size_t> bytes{0};
};

struct WriteCounters {
  std::uint64_t stored = 0;
  std::uint64_t replaced = 0;
  std::uint64_t late = 0;
  std::uint64_t evicted = 0;
  std::uint64_t expired = 0;
  std::uint64_t erased = 0;
};

class alignas(64) Shard {
 public:
  /// `cell` outlives the shard.
  Shard(const Common& common, TableCell& cell);
  ~Shard();

  std::mutex mutex;

  /// find() for a thread without a hazard record; the caller makes a counted reference.
  Found findLocked(const CacheKey& key, Hash hash, const CacheEntry*& entry) const noexcept;

  enum class Put : std::uint8_t { stored, replaced, late };
  /// Stores the entry, unless there is one of the same key and era that knows a later state of the
  /// content. Times are ticks. Throws std::bad_alloc, and has stored nothing then.
  Put put(Hash hash, EntryPtr& entry, std::uint32_t weight, std::uint32_t expires,
          std::uint32_t now);
  bool erase(const CacheKey& key, Hash hash) noexcept;
  /// Removes the node of this very entry; false if it has another one by now.
  bool eraseNode(NodeIndex node, const CacheEntry* entry) noexcept;
  /// Removes what the policy can best spare; false when there is nothing.
  bool evict() noexcept;
  /// Removes the node's entry if it was of use only until a tick before `now`.
  bool expire(NodeIndex node, std::uint32_t now) noexcept;
  /// Takes all nodes out. Throws std::bad_alloc, and has changed nothing then.
  NodePool clear();

  [[nodiscard]] const NodePool& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::size_t entryBytes() const noexcept { return entry_bytes_; }
  [[nodiscard]] std::size_t indexBytes() const noexcept {
    return table_->bytes() + nodes_.bytes() + policy_->bytes();
  }
  [[nodiscard]] const WriteCounters& counters() const noexcept { return counters_; }
  Retired& retired() noexcept { return retired_; }
  std::unique_ptr<Table>& oldTables() noexcept { return old_tables_; }

 private:
  void makeRoom();
  void publish(std::unique_ptr<Table> table) noexcept;
  void drop(std::size_t slot, NodeIndex node) noexcept;

  const Common& common_;
  TableCell& cell_;
  std::unique_ptr<Table> table_;
  NodePool nodes_;
  Shares shares_;
  std::unique_ptr<Policy> policy_;
  std::size_t entry_bytes_ = 0;
  WriteCounters counters_;
  std::unique_ptr<Table> old_tables_;
  Retired retired_;
};

}  // namespace larder::ram
