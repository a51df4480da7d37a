// RAMCache: the object cache in this process, bounded by bytes.
//
//   [[manager]]
//   id = "fast"
//   type = "RAMCache"
//   max_size = "256M"
//
// Look-ups take no lock, allocate nothing and write nothing that another thread writes (hazard.h);
// what they return is the shared, immutable entry itself. Writers lock one of up to 16 shards, and
// allocate and free outside of it. Entries are evicted by a policy (policy.h), expired ones are
// found by a background sweep.
//
// Thread-safe. References given out may outlive the cache (hazard.h); calls may not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "larder/plugin.h"
#include "read_counters.h"
#include "shard.h"
#include "sweeper.h"

namespace larder {

class RAMCache final : public Cache {
 public:
  /// Throws std::invalid_argument, whose text names the setting.
  RAMCache(Host& host, const Settings& settings);
  ~RAMCache() override;
  RAMCache(const RAMCache&) = delete;
  RAMCache& operator=(const RAMCache&) = delete;

  Lookup get(const CacheKey& key, Deadline deadline) noexcept override;
  /// Reason::exists when the entry that is there was made from a later state of the content.
  Stored put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept override;
  Stored erase(const CacheKey& key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  bool sweep(const Expendable& expendable, std::size_t budget) noexcept override;
  [[nodiscard]] Stats stats() const noexcept override;
  [[nodiscard]] Health health() const noexcept override;

 private:
  class Session;
  /// A shard and a node in it.
  struct Place {
    std::uint32_t shard = 0;
    ram::NodeIndex node = 0;
  };

  /// The number of shards that suits these limits.
  static std::size_t shardsFor(std::size_t max_bytes, std::size_t max_entries) noexcept;
  [[nodiscard]] std::size_t shardOf(ram::Hash hash) const noexcept {
    return (hash >> 32U) & shard_mask_;
  }
  /// Evicts until the cache is within its limits.
  void makeRoom() noexcept;
  [[nodiscard]] bool isOver(std::size_t bytes, std::size_t entries) const noexcept {
    return bytes > max_bytes_ || (max_entries_ != 0 && entries > max_entries_);
  }
  /// Looks at some nodes for expired entries; false at the end.
  bool expireSome() noexcept;
  Lookup getCounted(const CacheKey& key, ram::Hash hash) noexcept;
  Lookup missed(Reason reason, const ram::HazardRecord* me) noexcept;
  /// Coarse time since the cache was made, for EntryNode::expires.
  [[nodiscard]] std::uint32_t tickOf(Millis at) const noexcept;

  const Clock& clock_;
  const Millis start_;
  ram::Common common_;
  std::size_t shard_mask_ = 0;
  std::unique_ptr<ram::TableCell[]> tables_;
  std::vector<std::unique_ptr<ram::Shard>> shards_;
  std::size_t max_bytes_ = 0;
  std::size_t max_entries_ = 0;
  std::size_t max_entry_bytes_ = 0;
  ram::ReadCounters reads_;

  alignas(64) std::atomic<std::uint32_t> next_victim_{0};
  std::atomic<std::uint64_t> too_large_{0};
  std::atomic<std::uint64_t> no_memory_{0};
  /// Where the next sweep goes on: shard and node.
  std::atomic<std::uint64_t> sweep_at_{0};
  Place expire_at_;  // of the sweeper alone
  std::shared_ptr<ram::Sweeper> sweeper_;
};

}  // namespace larder
