// Store: the site's content and the tables of its apps, with the ledger, in one SQLite file.
//
//   auto store = site::Store::open({.data_dir = "var", .clock = &clock});
//   Receipt receipt = store->edit([](Edit& edit) { edit.create(page); }, "anna");
//   auto snapshot = store->read();
//   ObjectPtr page = snapshot->object("/handbook/dpkg", recorder);
//
// Every change commits together with what the ledger's log says about it, also when another program
// makes it: triggers write the log. Reads happen in snapshots, one connection each; writes happen
// one at a time across all processes that share the folder, under a lock file. A process opens its
// store after it was forked: neither SQLite nor its locks outlive a fork.
//
// Thread-safe. Throws StoreError, whose text says what happened, in which file, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "larder/app.h"
#include "larder/cache/ledger.h"
#include "larder/cache/recorder.h"
#include "larder/clock.h"
#include "larder/executor.h"
#include "larder/host.h"
#include "larder/view.h"

namespace larder::site {

struct StoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using LogFunction = std::function<void(LogLevel, std::string_view)>;

struct StoreOptions {
  /// Made if it is missing; holds site.db, its -wal and -shm, and site.lock.
  std::filesystem::path data_dir = {};
  /// Outlives the store.
  const Clock* clock = nullptr;
  /// With one, which outlives the store, the store calls maintain() on it once a second.
  Executor* executor = nullptr;
  LogFunction log = {};
  /// Each commit waits for the disk (0.3 ms instead of 0.03 ms). Without it a power loss may take
  /// back the last commits, never the file's integrity; what was cached of them becomes invalid.
  bool full_sync = false;
  /// Scopes that the ledger keeps apart in memory.
  std::size_t map_scopes = 1'000'000;
  /// How long an edit waits for other writers, ms.
  Millis writer_wait = 5'000;
  /// How long one snapshot may live, ms: a long one keeps the write-ahead log from shrinking.
  Millis snapshot_limit = 30'000;
  /// Snapshots open at a time.
  std::size_t max_snapshots = 256;
  /// Log rows that stay exact; older ones are folded into floors once there are twice as many.
  std::size_t keep_log = 100'000;
  /// Off: other processes' commits are noticed by PRAGMA data_version instead of the wal-index.
  bool use_wal_index = true;
};

/// One read transaction of one render: everything read from it is of one moment, its stamp. What is
/// read is told to the sink, also what is absent. Used by one thread.
class ReadSnapshot : public Snapshot {
 public:
  /// Null when there is none.
  virtual ObjectPtr object(std::string_view path, ScopeSink& sink) = 0;
  virtual std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query,
                                          ScopeSink& sink) = 0;
  /// All that match, whatever offset and limit.
  virtual std::size_t countChildren(std::string_view path, const ChildrenQuery& query,
                                    ScopeSink& sink) = 0;
  /// The row whose INTEGER PRIMARY KEY is `id` as a map, or a null node. Depends on that row alone
  /// where the table allows it (L2), else on the table.
  virtual Document row(std::string_view table, std::int64_t id, ScopeSink& sink) = 0;
  /// One read-only statement; a list of maps. Arguments bind to `:name`, nameless ones to the next
  /// `?`; a list or map is bound as JSON text. More rows or time than the limits: StoreError.
  virtual Document query(std::string_view sql, const Arguments& arguments, ScopeSink& sink,
                         const QueryLimits& limits = {}) = 0;
};

/// What brings an app's tables from version - 1 to version.
struct SchemaStep {
  int version = 0;
  std::string sql;
};

/// One row of the ledger's log.
struct LogRow {
  std::uint64_t seq = 0;
  std::string scope;  ///< scope.h; "commit:N" closes an edit whose first row is N
  Hardness hardness = Hardness::hard;
  Millis at = 0;  ///< wall clock; 0 for a row that a trigger wrote
  std::string by;
};

struct LogPage {
  std::vector<LogRow> rows;
  std::uint64_t head = 0;
  /// Rows after the asked one have been folded into floors: their scopes are no longer known.
  bool gap = false;
};

struct StoreStats {
  std::uint64_t edits = 0;
  std::uint64_t drains = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t unlogged = 0;  ///< commits of other programs that the log did not explain
  std::uint64_t rewinds = 0;   ///< times that history went back: a backup restored, a file replaced
  std::uint64_t log_rows = 0;
  std::uint64_t wal_bytes = 0;
};

class Store final : public SnapshotSource {
 public:
  [[nodiscard]] static std::unique_ptr<Store> open(StoreOptions options);
  ~Store() override;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] Ledger& ledger() noexcept;

  /// A snapshot of now; `limit` ms to live, 0 for the option's.
  [[nodiscard]] std::unique_ptr<ReadSnapshot> read(Millis limit = 0);
  [[nodiscard]] std::unique_ptr<Snapshot> openSnapshot() override { return read(); }

  /// Runs `work` in one write transaction and commits. When it returns, the ledger knows it: no
  /// request that starts later is served anything older (semantics 20). Throws what `work` throws,
  /// after rolling back. `work` must not call edit() or append() of the same store.
  Receipt edit(const std::function<void(Edit&)>& work, std::string_view by = {});

  /// Runs the steps that are missing, each in one transaction, and watches the tables they make.
  /// Steps count from 1 without gaps.
  void installSchema(std::string_view app, std::span<const SchemaStep> steps);

  /// Rows after `after`, at most `limit`: what the publisher's cursor walks, and what people look
  /// at.
  [[nodiscard]] LogPage log(std::uint64_t after, std::size_t limit);

  /// What has to happen now and then: notices a replaced file, watches tables that another program
  /// made, compacts the log, checkpoints. Never throws; reports to the log.
  void maintain() noexcept;

  [[nodiscard]] StoreStats stats() const;
  [[nodiscard]] const std::filesystem::path& file() const noexcept;

 private:
  class Impl;
  explicit Store(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace larder::site
