// ChangeMap: when did a scope change last? A bounded in-memory map with floors (L12).
//
// Set-associative: a scope belongs to one bucket of two cache lines, which holds the last changes
// of up to five scopes exactly and a floor that all others of that bucket are taken to have changed
// at. So its size never grows, a bulk import cools only what shares its buckets, and what is
// forgotten can only make an entry look invalid.
//
// Readers take no lock and write nothing. Writers are serialised inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "larder/cache/scope.h"
#include "larder/entry.h"

namespace larder {

class ChangeMap {
 public:
  struct Item {
    ScopeId scope = 0;
    std::uint64_t seq = 0;
    Hardness hardness = Hardness::hard;
  };
  struct Changed {
    std::uint64_t hard = 0;
    std::uint64_t soft = 0;
  };

  /// Room for about this many scopes; untouched room costs no memory.
  explicit ChangeMap(std::size_t scopes = 1'000'000);

  /// Seqs may repeat and come in any order; the largest counts.
  void apply(std::span<const Item> items);
  /// Every scope is taken to have changed at `seq`.
  void raiseFloor(std::uint64_t seq);
  /// The scopes of one bucket of a coarser, persisted floor: those with `scope % buckets ==
  /// bucket`.
  void raiseFloor(std::size_t bucket, std::size_t buckets, std::uint64_t seq);

  [[nodiscard]] Changed changed(ScopeId scope) const noexcept;

 private:
  static constexpr std::size_t kWays = 5;
  struct Slot {
    std::atomic<ScopeId> scope{0};
    std::atomic<std::uint64_t> hard{0};
    std::atomic<std::uint64_t> soft{0};
  };
  struct alignas(128) Bucket {
    std::atomic<std::uint64_t> floor{0};
    Slot slots[kWays];
  };
  struct Free {
    void operator()(void* memory) const noexcept;
  };

  void applyOne(const Item& item) noexcept;

  std::mutex writer_;
  std::atomic<std::uint64_t> floor_{0};
  std::size_t mask_;
  std::unique_ptr<void, Free> memory_;
  Bucket* buckets_;  // in memory_
};

}  // namespace larder
