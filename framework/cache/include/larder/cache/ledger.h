// Ledger: the ordered record of everything that changed, and the only judge of validity.
//
// Each change commits, in the same transaction as the content it describes, as (scope, seq). An
// entry that was rendered from the snapshot at `as_of` is valid as long as none of its scopes
// changed after as_of, and the history it comes from is still the history (eras, L9) and the schema
// the same (L8). The cache is never asked.
//
//   ledger.observe();                                        // at the start of each request
//   switch (ledger.judge(entry)) { ... }
//
// Thread-safe. observe() and judge() take no lock while nothing has changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "larder/cache/change_map.h"
#include "larder/cache/recent_changes.h"
#include "larder/entry.h"
#include "larder/result.h"

namespace larder {

enum class Verdict : std::uint8_t {
  valid,
  soft,     ///< softly invalidated: stale, may be served while it is being refreshed
  changed,  ///< a scope changed after as_of
  history,  ///< another era or schema
};

/// An era: one stretch of history that nobody took back. Random id, and the first seq that belongs
/// to it.
struct Era {
  std::uint64_t id = 0;
  std::uint64_t start = 0;
};

class Ledger {
 public:
  static constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

  virtual ~Ledger() = default;

  /// Makes everything that any process has committed before this call known here (L10). False when
  /// the store cannot be read: then nothing cached may be served.
  [[nodiscard]] virtual bool observe() noexcept = 0;
  /// Commits changes that have no content of their own: manual invalidations. When it returns a
  /// seq, no request that starts later in any process is served anything older (L6: an error means
  /// that nothing is acknowledged).
  [[nodiscard]] virtual Result<std::uint64_t> append(std::span<const Change> changes) = 0;

  /// The stamp of a render that would start now and see just what is known.
  [[nodiscard]] Stamp known() const noexcept {
    return {known_.load(std::memory_order_acquire), era_.load(std::memory_order_acquire),
            schema_.load(std::memory_order_acquire)};
  }
  /// Counts everything that may change a verdict. Read it before judging.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }

  /// With a `limit`, also requires that the scopes did not change after the limit: a child of a
  /// parent whose snapshot is at `limit` (L7).
  [[nodiscard]] Verdict judge(const CacheEntry& entry, std::uint64_t limit = kNoLimit) noexcept {
    return judge(entry.stamp, entry.scopes(), limit, entry.validated_at);
  }
  [[nodiscard]] Verdict judge(const Stamp& stamp, std::span<const ScopeId> scopes,
                              std::uint64_t limit = kNoLimit) noexcept;
  /// The same for what remembers in `validated_at` at which version() it was found valid.
  [[nodiscard]] Verdict judge(const Stamp& stamp, std::span<const ScopeId> scopes,
                              std::uint64_t limit,
                              std::atomic<std::uint64_t>& validated_at) noexcept {
    const auto now = version();
    // One that is not before `as_of` asks for nothing that `as_of` does not.
    const bool limits = limit < stamp.as_of;
    if (!limits && validated_at.load(std::memory_order_relaxed) == now) return Verdict::valid;
    const auto verdict = judge(stamp, scopes, limit);
    if (verdict == Verdict::valid && !limits) validated_at.store(now, std::memory_order_relaxed);
    return verdict;
  }
  /// The first of the scopes that changed after `as_of`, by index; scopes.size() if none.
  [[nodiscard]] std::size_t firstChanged(std::uint64_t as_of,
                                         std::span<const ScopeId> scopes) const noexcept;

  /// The seq at which a scope changed last, 0 for never.
  [[nodiscard]] std::uint64_t changedAt(ScopeId scope) const noexcept;
  /// For people: what happened at a seq, if it is not too long ago.
  [[nodiscard]] const RecentChanges& recent() const noexcept { return recent_; }

 protected:
  explicit Ledger(std::size_t map_scopes = 1'000'000) : map_(map_scopes) {}

  /// One log row, expanded into the map's scopes; publish() makes a batch of them known.
  void note(std::string_view scope, std::uint64_t seq, Hardness hardness,
            std::vector<ChangeMap::Item>& batch);
  void publish(std::span<const ChangeMap::Item> batch, std::uint64_t seq);
  /// Eras in order of their start; the last is the current one.
  void setEras(std::vector<Era> eras);
  void setSchema(std::uint64_t schema) noexcept;
  ChangeMap& map() noexcept { return map_; }
  void remember(RecentChange change) { recent_.add(std::move(change)); }
  /// Makes every memo of an earlier validation void.
  void bumpVersion() noexcept { version_.fetch_add(1, std::memory_order_acq_rel); }
  /// History went back: `known` may go down.
  void resetKnown(std::uint64_t seq) noexcept { known_.store(seq, std::memory_order_release); }

 private:
  [[nodiscard]] bool eraHolds(const Stamp& stamp) const noexcept;

  ChangeMap map_;
  RecentChanges recent_;
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::uint64_t> known_{0};
  std::atomic<std::uint64_t> era_{0};
  std::atomic<std::uint64_t> era_start_{0};
  std::atomic<std::uint64_t> schema_{0};
  std::vector<ScopeId> expanded_;  // scratch of note(), writers only
  mutable std::mutex eras_mutex_;
  std::vector<Era> eras_;
};

/// For library use and tests: history begins with the process.
class MemoryLedger final : public Ledger {
 public:
  explicit MemoryLedger(std::size_t map_scopes = 1'000'000);
  [[nodiscard]] bool observe() noexcept override { return true; }
  [[nodiscard]] Result<std::uint64_t> append(std::span<const Change> changes) override;

 private:
  std::mutex mutex_;
  std::uint64_t seq_ = 0;
};

/// One read transaction of a render. The first thing it read was its stamp, and everything up to
/// that seq is applied to the ledger's map (L7).
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  [[nodiscard]] virtual Stamp stamp() const noexcept = 0;
};

class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  /// Throws std::runtime_error when the store cannot be read.
  [[nodiscard]] virtual std::unique_ptr<Snapshot> openSnapshot() = 0;
};

}  // namespace larder
