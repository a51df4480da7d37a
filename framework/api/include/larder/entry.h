// CacheEntry: one stored result with what decides its validity; EntryPtr and EntryRef: how it is
// held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "larder/clock.h"
#include "larder/key.h"
#include "larder/name_list.h"
#include "larder/value.h"

namespace larder {

/// A scope is named by text ("obj:/a", "table:comment", "tag:news"); in entries and the ledger's
/// map it is the 64-bit hash of that text. Two scopes of one hash can only make an entry look
/// invalid, never valid.
using ScopeId = std::uint64_t;

/// Why an entry of this key may still be served: everything here is compared with the ledger, never
/// with the cache.
struct Stamp {
  /// The ledger's seq in the read snapshot of the render.
  std::uint64_t as_of = 0;
  /// The era of that snapshot (L9).
  std::uint64_t era = 0;
  /// Hash of the database schema (L8).
  std::uint64_t schema = 0;
};

/// Points in time, milliseconds of the monotonic clock of this process.
struct Lifetime {
  Millis created = 0;
  Millis fresh_until = 0;
  /// Served while one refresh runs.
  Millis stale_until = 0;
  /// Served only if the render fails.
  Millis error_until = 0;
  /// The last instant at which the entry is of any use.
  [[nodiscard]] Millis end() const noexcept {
    return error_until > stale_until ? error_until : stale_until;
  }
};

/// What a render read. The ids of its scopes are those of their names: hash64().
struct Reads {
  std::span<const std::string> scopes = {};
  /// "param:page", sorted; all of them are among the key's names.
  std::span<const std::string> inputs = {};
};

/// Immutable but for its reference count, its use count and the memo of its last validation.
///
///   auto entry = CacheEntry::make(key, {.scopes = scopes, .inputs = inputs});
///   entry->value = page;
///   cache.put(key, EntryPtr(std::move(entry)), deadline);
///
/// One block on the heap: the object, then the key, the ids of the scopes and the names. What a
/// look-up reads is the end of the object and the key behind it, so a hit of a large cache pays for
/// little more than one access to the index and one to the entry.
class CacheEntry {
 public:
  /// An entry of this key, which read this; both are copied, all else is unset. Throws
  /// std::bad_alloc, std::length_error for 4 GiB.
  [[nodiscard]] static std::unique_ptr<CacheEntry> make(const CacheKey& key, Reads reads = {});
  static void operator delete(void* block) noexcept;
  CacheEntry(const CacheEntry&) = delete;
  CacheEntry& operator=(const CacheEntry&) = delete;

  [[nodiscard]] std::string_view key() const noexcept { return {behind(), key_size_}; }
  [[nodiscard]] std::span<const ScopeId> scopes() const noexcept {
    return {reinterpret_cast<const ScopeId*>(behind() + scopesAt(key_size_)), scope_count_};
  }
  /// For people, and for stores that outlive the process.
  [[nodiscard]] NameList scopeNames() const noexcept {
    return NameList({names(), scope_names_size_});
  }
  [[nodiscard]] NameList inputs() const noexcept {
    return NameList({names() + scope_names_size_, inputs_size_});
  }
  /// Bytes on the heap that the entry keeps alive, itself and the allocator's share included.
  [[nodiscard]] std::size_t weight() const noexcept;

  const Digest digest;
  Stamp stamp;
  /// Wall clock of the render's start, for `Age` across processes.
  Millis created_wall = 0;
  const std::uint32_t partition;

 private:
  const std::uint32_t scope_count_;
  const std::uint32_t scope_names_size_;
  const std::uint32_t inputs_size_;

 public:
  // From here on what a hit reads or writes.
  Value value;
  /// The ledger version at which this entry was last found valid; 0 never. Relaxed: a lost update
  /// costs one check.
  mutable std::atomic<std::uint64_t> validated_at{0};
  /// What making it cost, microseconds.
  std::uint32_t cost_us = 0;

 private:
  friend class EntryPtr;
  friend class EntryRef;
  mutable std::atomic<std::uint32_t> references_{0};

 public:
  /// Set by the engine when a refresh has been started, so that one is enough.
  mutable std::atomic<bool> refreshing{false};
  /// Reading the user or a session made it private: never published, `Cache-Control: private`.
  bool is_private = false;
  /// For the cache that holds the entry: re-uses that its eviction still has to honour. Relaxed,
  /// and written only while it is small, so that the hits of a popular entry write nothing.
  mutable std::atomic<std::uint8_t> uses{0};

 private:
  const std::uint32_t key_size_;

 public:
  Lifetime lifetime;

 private:
  CacheEntry(const CacheKey& key, const Reads& reads) noexcept;
  [[nodiscard]] const char* behind() const noexcept {
    return reinterpret_cast<const char*>(this + 1);
  }
  [[nodiscard]] const char* names() const noexcept {
    return behind() + scopesAt(key_size_) + scope_count_ * sizeof(ScopeId);
  }
  /// Behind a key of this size.
  static constexpr std::size_t scopesAt(std::size_t key_size) noexcept {
    return (key_size + alignof(ScopeId) - 1) / alignof(ScopeId) * alignof(ScopeId);
  }
};
static_assert(sizeof(CacheEntry) == 128);

/// Counted, shared ownership of an immutable entry.
class EntryPtr {
 public:
  EntryPtr() noexcept = default;
  EntryPtr(std::nullptr_t) noexcept {}
  /// Takes a freshly made entry.
  explicit EntryPtr(std::unique_ptr<CacheEntry> entry) noexcept : entry_(entry.release()) {
    retain();
  }
  /// Another reference to an entry that somebody else keeps alive during this call.
  explicit EntryPtr(const CacheEntry* entry) noexcept : entry_(entry) { retain(); }
  EntryPtr(const EntryPtr& other) noexcept : entry_(other.entry_) { retain(); }
  EntryPtr(EntryPtr&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  EntryPtr& operator=(EntryPtr other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryPtr() { drop(entry_); }

  [[nodiscard]] const CacheEntry* get() const noexcept { return entry_; }
  const CacheEntry& operator*() const noexcept { return *entry_; }
  const CacheEntry* operator->() const noexcept { return entry_; }
  explicit operator bool() const noexcept { return entry_ != nullptr; }
  /// Gives the counted reference away; whoever takes it ends it by adopt().
  [[nodiscard]] const CacheEntry* detach() noexcept { return std::exchange(entry_, nullptr); }
  [[nodiscard]] static EntryPtr adopt(const CacheEntry* entry) noexcept {
    EntryPtr p;
    p.entry_ = entry;
    return p;
  }

 private:
  friend class EntryRef;
  static void drop(const CacheEntry* entry) noexcept {
    if (entry && entry->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(entry);
  }
  static void destroy(const CacheEntry* entry) noexcept;
  void retain() noexcept {
    if (entry_) entry_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  const CacheEntry* entry_ = nullptr;
};

/// What a look-up hands out: either a counted reference, or a borrowed one that occupies a hazard
/// slot of the calling thread, so that a hit writes nothing shared. Move-only; a borrowed one must
/// be destroyed on the thread that got it: call share() before handing it to another thread or
/// keeping it beyond the call.
class EntryRef {
 public:
  EntryRef() noexcept = default;
  EntryRef(EntryPtr entry) noexcept : entry_(entry.detach()) {}
  /// Borrowed: destroying it stores null into `hazard`.
  EntryRef(const CacheEntry* entry, std::atomic<const CacheEntry*>* hazard) noexcept
      : entry_(entry), hazard_(hazard) {}
  EntryRef(EntryRef&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)),
        hazard_(std::exchange(other.hazard_, nullptr)) {}
  EntryRef& operator=(EntryRef&& other) noexcept {
    if (this != &other) {
      reset();
      entry_ = std::exchange(other.entry_, nullptr);
      hazard_ = std::exchange(other.hazard_, nullptr);
    }
    return *this;
  }
  ~EntryRef() { reset(); }

  [[nodiscard]] const CacheEntry* get() const noexcept { return entry_; }
  const CacheEntry& operator*() const noexcept { return *entry_; }
  const CacheEntry* operator->() const noexcept { return entry_; }
  explicit operator bool() const noexcept { return entry_ != nullptr; }
  /// A counted reference to the same entry.
  [[nodiscard]] EntryPtr share() const noexcept { return EntryPtr(entry_); }
  /// Turns a borrowed reference into a counted one in place.
  void makeDurable() noexcept {
    if (hazard_) *this = EntryRef(share());
  }

 private:
  void reset() noexcept {
    if (hazard_) {
      hazard_->store(nullptr, std::memory_order_release);
    } else {
      EntryPtr::drop(entry_);
    }
    entry_ = nullptr;
    hazard_ = nullptr;
  }
  const CacheEntry* entry_ = nullptr;
  std::atomic<const CacheEntry*>* hazard_ = nullptr;
};

}  // namespace larder
