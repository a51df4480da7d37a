#include "larder/site/store.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "edit.h"
#include "larder/cache/planted_fault.h"
#include "ledger_compact.h"
#include "ledger_sqlite.h"
#include "store_database.h"
#include "store_snapshot.h"
#include "store_writer.h"

namespace larder::site {

namespace {

constexpr Millis kMaintenancePeriod = 1'000;
constexpr std::size_t kFoldAtOnce = 50'000;
constexpr std::uintmax_t kLargeLog = 64u << 20U;

std::unique_ptr<Database> makeDatabase(StoreOptions options) {
  if (!options.clock) throw StoreError("a store needs a clock");
  std::error_code error;
  std::filesystem::create_directories(options.data_dir, error);
  if (error) {
    throw StoreError(options.data_dir.string() + ": cannot be made (" + error.message() +
                     "); set site.data to a folder that the server's user may write");
  }
  return std::make_unique<Database>(std::move(options));
}

}  // namespace

class Store::Impl : public std::enable_shared_from_this<Store::Impl> {
 public:
  explicit Impl(StoreOptions options)
      : database_(makeDatabase(std::move(options))),
        ledger_(*database_, {[this](Millis patience) { return writer_.repair(patience); },
                             [this](std::span<const Change> changes) { return append(changes); }}),
        writer_(*database_, ledger_),
        readers_(*database_) {
    writer_.open();
  }
  ~Impl() { writer_.close(); }

  SqliteLedger& ledger() noexcept { return ledger_; }
  const Database& database() const noexcept { return *database_; }

  std::unique_ptr<ReadSnapshot> read(Millis limit);
  Receipt edit(const std::function<void(Edit&)>& work, std::string_view by);
  void installSchema(std::string_view app, std::span<const SchemaStep> steps);
  LogPage log(std::uint64_t after, std::size_t limit);
  void maintain() noexcept;
  void scheduleMaintenance();
  StoreStats stats();

 private:
  [[nodiscard]] bool followedBy(const Reader& reader);
  Result<std::uint64_t> append(std::span<const Change> changes);
  void compact();

  std::unique_ptr<Database> database_;
  SqliteLedger ledger_;
  Writer writer_;
  Readers readers_;
  std::mutex maintaining_;
  std::atomic<bool> scheduled_{false};
};

std::unique_ptr<ReadSnapshot> Store::Impl::read(Millis limit) {
  scheduleMaintenance();
  for (bool waited = false;; waited = true) {
    auto reader = readers_.take();
    try {
      reader->begin(database_->schemas);
      if (followedBy(*reader)) {
        database_->snapshots.fetch_add(1, std::memory_order_relaxed);
        return std::make_unique<StoreSnapshot>(
            shared_from_this(), readers_, std::move(reader), *database_->options.clock,
            limit > 0 ? limit : database_->options.snapshot_limit);
      }
    } catch (...) {
      if (reader) readers_.giveBack(std::move(reader));
      throw;
    }
    readers_.giveBack(std::move(reader));
    if (waited || !ledger_.catchUp()) {
      throw StoreError(database_->file.string() +
                       ": the ledger cannot be brought up to date; see the log for the reason");
    }
  }
}

// What the snapshot sees must be in the ledger's map before anything is looked up in a cache (L7).
bool Store::Impl::followedBy(const Reader& reader) {
  const auto& head = reader.head();
  const auto known = ledger_.known();
  const bool behind = head.seq > known.as_of && !planted(Fault::l7_map_behind_snapshot);
  const bool other_era = head.era.id != known.era;
  if (!behind && !other_era && reader.schema().hash() == known.schema) return true;
  const bool observed = ledger_.observe();
  return head.seq <= ledger_.known().as_of && (observed || !other_era);
}

Receipt Store::Impl::edit(const std::function<void(Edit&)>& work, std::string_view by) {
  const auto receipt = writer_.commit(by, [&](WriteTransaction& transaction) {
    EditTransaction edit(transaction);
    work(edit);
  });
  database_->edits.fetch_add(1, std::memory_order_relaxed);
  return receipt;
}

Result<std::uint64_t> Store::Impl::append(std::span<const Change> changes) {
  try {
    return writer_
        .commit({},
                [&](WriteTransaction& t) {
                  sqlite::Statement insert(
                      t.connection,
                      "INSERT INTO larder_log(scope, hardness, at) VALUES(?1, ?2, ?3)");
                  for (const auto& change : changes)
                    insert.execute(change.scope, static_cast<int>(change.hardness), t.now);
                })
        .seq;
  } catch (const std::exception& error) {
    return Error{std::string("nothing was invalidated: ") + error.what()};
  }
}

void Store::Impl::installSchema(std::string_view app, std::span<const SchemaStep> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].version != static_cast<int>(i) + 1) {
      throw StoreError("the app " + std::string(app) + ": schema versions count from 1, but step " +
                       std::to_string(i + 1) + " has version " + std::to_string(steps[i].version));
    }
  }
  const auto current = [&](sqlite::Connection& connection) {
    sqlite::Statement find(connection, "SELECT version FROM larder_app WHERE name = ?1");
    auto row = find.run(app);
    return row.next() ? row.integer(0) : 0;
  };
  for (bool done = false; !done;) {
    writer_.commit("schema " + std::string(app), [&](WriteTransaction& t) {
      const auto version = current(t.connection);
      if (version > static_cast<std::int64_t>(steps.size())) {
        throw StoreError("the app " + std::string(app) + ": the database is at schema version " +
                         std::to_string(version) + ", this app knows " +
                         std::to_string(steps.size()) + "; use the app's newer version");
      }
      done = version == static_cast<std::int64_t>(steps.size());
      if (done) return;
      const auto& step = steps[static_cast<std::size_t>(version)];
      t.schema_changed = true;
      try {
        const WriteAccess::Scope scope(t.access, WriteAccess::Mode::schema);
        t.connection.exec(step.sql);
      } catch (const StoreError& error) {
        throw StoreError("the app " + std::string(app) + ", schema version " +
                         std::to_string(step.version) + ": " + error.what());
      }
      sqlite::Statement(t.connection,
                        "INSERT INTO larder_app(name, version) VALUES(?1, ?2) "
                        "ON CONFLICT(name) DO UPDATE SET version = excluded.version")
          .execute(app, step.version);
      repairTriggers(t, *database_);
    });
  }
}

LogPage Store::Impl::log(std::uint64_t after, std::size_t limit) {
  auto reader = readers_.take();
  LogPage page;
  try {
    reader->begin(database_->schemas);
    page.head = reader->head().seq;
    {
      auto rows = reader
                      ->own(
                          "SELECT seq, scope, hardness, coalesce(at, 0), coalesce(by, '') "
                          "FROM larder_log WHERE seq > ?1 ORDER BY seq LIMIT ?2")
                      .run(after, static_cast<std::int64_t>(limit));
      while (rows.next()) {
        page.rows.push_back({static_cast<std::uint64_t>(rows.integer(0)), std::string(rows.text(1)),
                             rows.integer(2) == 0 ? Hardness::hard : Hardness::soft,
                             rows.integer(3), std::string(rows.text(4))});
      }
    }
    auto folded = reader->own("SELECT seq FROM larder_floor WHERE bucket = ?1").run(kFoldedRow);
    page.gap = folded.next() && static_cast<std::uint64_t>(folded.integer(0)) > after;
  } catch (...) {
    readers_.giveBack(std::move(reader));
    throw;
  }
  readers_.giveBack(std::move(reader));
  return page;
}

void Store::Impl::compact() {
  const auto keep = database_->options.keep_log;
  const auto head = ledger_.known().as_of;
  const auto first = log(0, 1);
  if (first.rows.empty() || head - first.rows.front().seq < 2 * std::uint64_t{keep}) return;
  writer_.commit({}, [&](WriteTransaction& t) {
    if (t.head > keep) foldLog(t.connection, t.head - keep + 1, kFoldAtOnce);
  });
}

void Store::Impl::maintain() noexcept {
  const std::unique_lock lock(maintaining_, std::try_to_lock);
  if (!lock) return;
  try {
    if (ledger_.fileMoved()) writer_.repair(database_->options.writer_wait);
    if (!ledger_.observe()) return;
    if (ledger_.wantsTriggers()) writer_.commit({}, nullptr);
    compact();
    std::error_code none;
    const auto log_size = std::filesystem::file_size(database_->file.string() + "-wal", none);
    if (!none && log_size > kLargeLog) {
      writer_.emptyLog();
    } else {
      writer_.checkpointIfDue();
    }
  } catch (const std::exception& error) {
    database_->log(LogLevel::error, error.what());
  }
}

// An executor may refuse while it is full; the next read or edit tries again.
void Store::Impl::scheduleMaintenance() {
  auto* executor = database_->options.executor;
  if (!executor || scheduled_.load(std::memory_order_relaxed) ||
      scheduled_.exchange(true, std::memory_order_relaxed))
    return;
  const bool accepted = executor->postAt(
      database_->options.clock->monotonic() + kMaintenancePeriod, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
          self->maintain();
          self->scheduled_.store(false, std::memory_order_relaxed);
          self->scheduleMaintenance();
        }
      });
  if (!accepted) scheduled_.store(false, std::memory_order_relaxed);
}

StoreStats Store::Impl::stats() {
  StoreStats stats;
  stats.edits = database_->edits.load(std::memory_order_relaxed);
  stats.drains = ledger_.drains();
  stats.snapshots = database_->snapshots.load(std::memory_order_relaxed);
  stats.unlogged = database_->unlogged.load(std::memory_order_relaxed);
  stats.rewinds = database_->rewinds.load(std::memory_order_relaxed);
  const auto first = log(0, 1);
  if (!first.rows.empty()) stats.log_rows = first.head - first.rows.front().seq + 1;
  std::error_code none;
  const auto log_size = std::filesystem::file_size(database_->file.string() + "-wal", none);
  if (!none) stats.wal_bytes = log_size;
  return stats;
}

std::unique_ptr<Store> Store::open(StoreOptions options) {
  auto impl = std::make_shared<Impl>(std::move(options));
  impl->scheduleMaintenance();
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Store::Store(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Ledger& Store::ledger() noexcept {
  return impl_->ledger();
}
std::unique_ptr<ReadSnapshot> Store::read(Millis limit) {
  return impl_->read(limit);
}
Receipt Store::edit(const std::function<void(Edit&)>& work, std::string_view by) {
  return impl_->edit(work, by);
}
void Store::installSchema(std::string_view app, std::span<const SchemaStep> steps) {
  impl_->installSchema(app, steps);
}
LogPage Store::log(std::uint64_t after, std::size_t limit) {
  return impl_->log(after, limit);
}
void Store::maintain() noexcept {
  impl_->maintain();
}
StoreStats Store::stats() const {
  return impl_->stats();
}
const std::filesystem::path& Store::file() const noexcept {
  return impl_->database().file;
}

}  // namespace larder::site
