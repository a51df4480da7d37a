// SqliteLedger: the ledger over the log in site.db, shared by all processes that have the file
// open.
//
// observe() compares the header of the wal-index, which every commit of every process changes, with
// the one last drained: a few loads from shared memory (L10). When it differs, drain() reads the
// new rows of the log in one snapshot and publishes them. Writing is the Writer's: repairs and
// manual invalidations go through the functions given at construction.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "larder/cache/ledger.h"
#include "ledger_expand.h"
#include "ledger_schema.h"
#include "sqlite.h"
#include "store_database.h"

namespace larder::site {

/// The state of history as one snapshot sees it.
struct LedgerHead {
  std::uint64_t seq = 0;
  Era era;  ///< the current one; id 0 when the table is empty
};

/// The statement that reads it, kept per connection. The first read of a transaction (L7); when
/// SQLite had to prepare it again, the schema has changed (L8). After INSERT OR FAIL the log is
/// ahead of its AUTOINCREMENT sequence.
class LedgerHeadQuery {
 public:
  explicit LedgerHeadQuery(sqlite::Connection& connection);
  [[nodiscard]] LedgerHead read();
  /// Whether the schema may have changed since noteSchema().
  [[nodiscard]] bool schemaMoved() const noexcept { return statement_.reprepares() != reprepares_; }
  /// What depends on the schema is up to date.
  void noteSchema() noexcept { reprepares_ = statement_.reprepares(); }

 private:
  sqlite::Statement statement_;
  int reprepares_ = -1;
};

class SqliteLedger final : public Ledger {
 public:
  enum class Finding : std::uint8_t {
    none,
    unexplained,  ///< somebody committed without a row in the log: everything may have changed (L3)
    detached,     ///< no file is open
    rewound,      ///< history went back and nobody has begun a new era yet (L9)
  };
  struct Repairs {
    /// Appends what drain() found missing, and waits at most so long (ms) for other writers; true
    /// when afterwards nothing is.
    std::function<bool(Millis)> repair;
    std::function<Result<std::uint64_t>(std::span<const Change>)> append;
  };

  SqliteLedger(Database& database, Repairs repairs);
  ~SqliteLedger() override;

  /// While another program writes for long, what it hides cannot be repaired: false, soon.
  [[nodiscard]] bool observe() noexcept override;
  [[nodiscard]] Result<std::uint64_t> append(std::span<const Change> changes) override {
    return repairs_.append(changes);
  }

  /// Opens the file and, the first time, reads all of the log; after that history counts as rewound
  /// until a new era begins.
  void attach();
  /// Until attach(): nothing can be observed.
  void detach() noexcept;
  [[nodiscard]] bool attached();
  /// Makes all that is committed known. Throws StoreError.
  Finding drain();
  /// observe() for those who can wait for writers. Throws StoreError.
  [[nodiscard]] bool catchUp();
  /// The file that is open is no longer the one at the path.
  [[nodiscard]] bool fileMoved();
  /// Triggers are missing or not what they should be.
  [[nodiscard]] bool wantsTriggers() const noexcept {
    return wants_triggers_.load(std::memory_order_relaxed);
  }
  /// Pages in the write-ahead log.
  [[nodiscard]] std::uint32_t walPages() const noexcept;
  [[nodiscard]] std::uint64_t drains() const noexcept {
    return drains_.load(std::memory_order_relaxed);
  }

 private:
  /// What tells one commit from the next: the wal-index header, or data_version without one.
  struct Mark {
    std::uint64_t sum = 0;
    std::uint32_t changes = 0;  ///< commits, counted by SQLite
    std::uint32_t frames = 0;   ///< of the write-ahead log
    std::uint64_t salt = 0;     ///< of the write-ahead log
    bool stable = false;        ///< both copies of the header agree
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  struct Connected;
  struct Batch;

  [[nodiscard]] bool observeSlowly() noexcept;
  [[nodiscard]] static Mark markOf(Connected& connected);
  void noteMark(const Mark& mark) noexcept;
  Finding apply(const LedgerHead& head, const Mark& mark, bool exact);
  [[nodiscard]] std::optional<Batch> readRows(std::uint64_t head);
  [[nodiscard]] bool explained(const Batch& batch, const Mark& mark, bool exact);
  [[nodiscard]] bool eachAppended(std::int64_t commits, const Mark& mark);
  Finding adoptNewEra(const LedgerHead& head, std::vector<Era> eras);
  [[nodiscard]] std::vector<Era> readEras();
  /// Raises the floors that a compaction left behind; the newest seq that was folded.
  std::uint64_t loadFloors();
  void refreshSchema();
  void report(std::string_view problem) noexcept;

  Database& database_;
  Repairs repairs_;
  std::atomic<const std::uint32_t*> wal_index_{nullptr};
  std::atomic<std::uint64_t> noted_sum_{0};
  std::atomic<std::uint32_t> noted_changes_{0};
  std::atomic<bool> wants_triggers_{false};
  std::atomic<std::uint64_t> drains_{0};
  std::atomic<Millis> repair_again_at_{0};

  std::mutex mutex_;  // guards all below
  std::unique_ptr<Connected> connected_;
  std::vector<std::unique_ptr<Connected>> retired_;  // observe() may still look at their wal-index
  std::optional<Mark> noted_;
  bool counts_ = false;  // noted_ was taken from exactly the snapshot that was drained
  bool unexplained_ = false;
  bool rewound_ = false;
  bool loaded_ = false;
  std::uint64_t last_row_ = 0;  // fingerprint of the row at known()
  std::vector<Era> eras_;
  std::string problem_;
  Millis problem_at_ = 0;
};

/// What tells a row of the log from another row of that seq in another history.
[[nodiscard]] std::uint64_t logRowFingerprint(std::string_view scope, std::int64_t at,
                                              std::string_view by);
/// A row that says nothing about content.
[[nodiscard]] bool isBookkeeping(std::string_view scope) noexcept;
/// Marks the end of an own transaction whose first row is `first`.
[[nodiscard]] std::string commitMarker(std::uint64_t first);

inline constexpr std::size_t kFloorBuckets = 16'384;
/// The floor row that says up to which seq the log was folded.
inline constexpr std::int64_t kFoldedRow = -1;

}  // namespace larder::site
