#include "store_writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <utility>

#include "content_tables.h"

namespace larder::site {

namespace {

constexpr std::uint32_t kCheckpointPages = 2'000;  // 8 MB
constexpr Millis kEmptyingPatience = 100;
constexpr Millis kClosingPatience = 1'000;
constexpr std::size_t kErasKept = 64;

std::uint64_t randomId() {
  std::random_device random;
  const auto id = std::uint64_t{random()} << 32U | random();
  return id != 0 ? id : 1;
}

struct FileState {
  std::int64_t size = 0;
  std::int64_t modified = 0;  // ns
  std::int64_t log_size = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState fileState(const std::filesystem::path& file) noexcept {
  FileState state;
  struct stat s {};
  if (stat(file.c_str(), &s) == 0) {
    state.size = s.st_size;
    state.modified = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  }
  if (stat((file.string() + "-wal").c_str(), &s) == 0) state.log_size = s.st_size;
  return state;
}

}  // namespace

/// What the lock file remembers of the last commit, so that the next process notices a backup that
/// was restored meanwhile, even if it has grown past that commit.
struct Writer::Note {
  static constexpr std::uint64_t kMagic = 0x3130'6574'6f6e'4c52;
  std::uint64_t magic = kMagic;
  std::uint64_t seq = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t clean = 0;  ///< closed by the last process; then `state` is how it left the file
  FileState state;
};

struct Writer::Connected {
  explicit Connected(sqlite::ConnectionOptions options)
      : connection([&] {
          options.access = &access;
          return options;
        }()) {}
  WriteAccess access;
  sqlite::Connection connection;
  // Prepared when the tables are there.
  std::optional<LedgerHeadQuery> head;
  std::optional<sqlite::Statement> append;
  sqlite::StatementCache<sqlite::Statement> statements;
};

/// How long statements of a connection wait for writers that do not know our lock, until its end.
class BusyTimeout {
 public:
  BusyTimeout(sqlite3* handle, Millis patience, Millis usual) noexcept
      : handle_(handle), usual_(static_cast<int>(usual)) {
    sqlite3_busy_timeout(handle_, static_cast<int>(patience));
  }
  BusyTimeout(const BusyTimeout&) = delete;
  BusyTimeout& operator=(const BusyTimeout&) = delete;
  ~BusyTimeout() { sqlite3_busy_timeout(handle_, usual_); }

 private:
  sqlite3* handle_;
  int usual_;
};

/// The lock, and the mark that this thread has it.
class Writer::Holding {
 public:
  Holding(Writer& writer, std::shared_ptr<WriterLock> lock, WriterLock::Held held)
      : writer_(&writer), lock_(std::move(lock)), held_(std::move(held)) {
    writer_->owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  Holding(Holding&& other) noexcept
      : writer_(std::exchange(other.writer_, nullptr)),
        lock_(std::move(other.lock_)),
        held_(std::move(other.held_)) {}
  Holding& operator=(Holding&&) = delete;
  ~Holding() {
    if (writer_) writer_->owner_.store({}, std::memory_order_relaxed);
  }
  [[nodiscard]] WriterLock& lock() noexcept { return *lock_; }

 private:
  Writer* writer_;
  std::shared_ptr<WriterLock> lock_;
  WriterLock::Held held_;
};

Writer::Writer(Database& database, SqliteLedger& ledger)
    : database_(database), ledger_(ledger), checkpoint_at_(kCheckpointPages) {}

Writer::~Writer() = default;

// The lock is that of the file which is at the path now: the folder may have been replaced.
Writer::Holding Writer::hold(Millis patience) {
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
    throw StoreError("an edit inside an edit; make all changes in one");
  for (;;) {
    std::shared_ptr<WriterLock> lock;
    {
      const std::lock_guard guard(lock_mutex_);
      if (!lock_) lock_ = std::make_shared<WriterLock>(database_.lock_file);
      lock = lock_;
    }
    auto held = lock->acquire(patience);
    if (!held) {
      throw StoreError(database_.file.string() + ": another writer has been at work for " +
                       std::to_string(patience) +
                       " ms; nothing was changed, try again, or look for a process that hangs "
                       "with the folder open");
    }
    if (!lock->moved()) {
      if (connected_ && !lock->entered()) lock->enterAlone();
      return Holding(*this, std::move(lock), std::move(*held));
    }
    const std::lock_guard guard(lock_mutex_);
    if (lock_ == lock) lock_.reset();
  }
}

void Writer::open() {
  auto holding = hold(database_.options.writer_wait);
  const bool alone = holding.lock().enterAlone();
  connected_ = std::make_unique<Connected>(database_.connection(false));
  auto& connection = connected_->connection;
  const bool fresh = checkFormat(connection, database_.file);
  auto note = readNote(holding.lock());
  if (fresh) {
    sqlite::Transaction transaction(connection, true);
    createContentTables(connection, database_.options.clock->wall());
    transaction.commit();
  } else if (alone && !(note && note->clean != 0)) {
    checkIntegrity();
  }
  const auto state = fileState(database_.file);
  ledger_.attach();
  ledger_.drain();
  const bool lost = note && (fresh || lostHistory(*note));
  if (note) last_seq_ = note->seq;
  const bool unlogged = note && note->clean != 0 && alone && !lost &&
                        note->seq == ledger_.known().as_of && !(state == note->state);
  commitHeld({}, nullptr, lost ? EraChoice::begin_anew : EraChoice::begin, unlogged);
  ledger_.drain();
  writeNote(holding.lock(), false);
}

void Writer::close() noexcept {
  try {
    auto holding = hold(kClosingPatience);
    if (!connected_ || !holding.lock().alone() || connected_->connection.moved()) return;
    checkpointHeld(true);
    noteHead();
    connected_.reset();
    writeNote(holding.lock(), true);
  } catch (const std::exception& error) {
    database_.log(LogLevel::warning, std::string("closing: ") + error.what());
  }
}

// Other processes and programs may have written the last row.
void Writer::noteHead() {
  sqlite::Statement newest(connected_->connection,
                           "SELECT seq, scope, coalesce(at, 0), coalesce(by, '') FROM larder_log "
                           "ORDER BY seq DESC LIMIT 1");
  if (auto row = newest.run(); row.next()) {
    last_seq_ = static_cast<std::uint64_t>(row.integer(0));
    last_fingerprint_ = logRowFingerprint(row.text(1), row.integer(2), row.text(3));
  }
}

void Writer::checkIntegrity() {
  const auto result = connected_->connection.text("PRAGMA quick_check(1)");
  if (result != "ok") {
    throw StoreError(database_.file.string() + ": damaged (" + result +
                     "); restore a backup, or salvage what can be read with: sqlite3 " +
                     database_.file.string() + " .recover | sqlite3 NEW");
  }
}

bool Writer::lostHistory(const Note& note) {
  auto& connection = connected_->connection;
  if (LedgerHeadQuery(connection).read().seq < note.seq) return true;
  sqlite::Statement find(connection,
                         "SELECT scope, coalesce(at, 0), coalesce(by, '') FROM larder_log "
                         "WHERE seq = ?1");
  if (auto row = find.run(note.seq); row.next())
    return logRowFingerprint(row.text(0), row.integer(1), row.text(2)) != note.fingerprint;
  const auto folded = connection.integer("SELECT max(seq) FROM larder_floor WHERE bucket = " +
                                         std::to_string(kFoldedRow));
  return static_cast<std::uint64_t>(folded) < note.seq;
}

// The file at the path may have been replaced since the last write.
void Writer::followFile() {
  if (connected_ && !connected_->connection.moved()) {
    if (!ledger_.attached()) ledger_.attach();
    return;
  }
  if (!std::filesystem::exists(database_.file)) {
    ledger_.detach();
    throw StoreError(database_.file.string() + ": gone; put the file back or restart the server");
  }
  database_.log(LogLevel::warning, database_.file.string() +
                                       ": replaced while running; everything cached is forgotten");
  ledger_.detach();
  connected_.reset();
  auto connected = std::make_unique<Connected>(database_.connection(false));
  if (checkFormat(connected->connection, database_.file)) {
    sqlite::Transaction transaction(connected->connection, true);
    createContentTables(connected->connection, database_.options.clock->wall());
    transaction.commit();
  }
  connected_ = std::move(connected);
  database_.generation.fetch_add(1, std::memory_order_acq_rel);
  ledger_.attach();
}

Receipt Writer::commit(std::string_view by, const Work& work) {
  Receipt receipt;
  {
    auto holding = hold(database_.options.writer_wait);
    followFile();
    receipt = commitHeld(by, work, EraChoice::keep, false);
    if (receipt.seq == last_seq_) writeNote(holding.lock(), false);
    try {
      if (checkpointDue()) checkpointHeld(false);
    } catch (const StoreError& error) {
      database_.log(LogLevel::error, error.what());  // what was committed stays acknowledged
    }
  }
  // If the ledger cannot follow now, it says so and caches stay unused.
  (void)ledger_.observe();
  return receipt;
}

bool Writer::repair(Millis patience) {
  auto holding = hold(patience);
  followFile();
  const BusyTimeout timeout(connected_->connection.handle(), patience,
                            database_.options.writer_wait);
  const auto receipt = commitHeld({}, nullptr, EraChoice::keep, false);
  if (receipt.seq == last_seq_) writeNote(holding.lock(), false);
  return ledger_.drain() == SqliteLedger::Finding::none;
}

Receipt Writer::commitHeld(std::string_view by, const Work& work, EraChoice choice, bool unlogged) {
  auto& c = *connected_;
  sqlite::Transaction transaction(c.connection, true);
  if (!c.head) {
    c.head.emplace(c.connection);
    c.append.emplace(c.connection, "INSERT INTO larder_log(scope, at, by) VALUES(?1, ?2, ?3)");
  }
  // From here on nobody else can commit: what is known now is all that there is.
  const auto finding = ledger_.drain();
  const auto head = c.head->read();
  const auto changes = sqlite3_total_changes64(c.connection.handle());
  WriteTransaction t{c.connection, c.access, c.statements, database_.options.clock->wall(),
                     head.seq,     false};
  auto first = head.seq + 1;
  auto era = head.era.id;
  if (finding == SqliteLedger::Finding::rewound || choice == EraChoice::begin_anew) {
    first = std::max({head.seq, ledger_.known().as_of, last_seq_}) + 1;
    era = beginEra(first, true);
  } else if (choice == EraChoice::begin) {
    era = beginEra(first, false);
  }
  if (unlogged || finding == SqliteLedger::Finding::unexplained) {
    database_.unlogged.fetch_add(1, std::memory_order_relaxed);
    appendRow(kSiteScope, {}, t.now);
  }
  // What this transaction changes must be seen by the ledger (L3).
  if (c.head->schemaMoved()) repairTriggers(t, database_);
  if (work) work(t);
  if (!t.schema_changed && sqlite3_total_changes64(c.connection.handle()) == changes) {
    c.head->noteSchema();
    return {era, head.seq};
  }
  const auto marker = commitMarker(first);
  const auto seq = appendRow(marker, by, t.now);
  transaction.commit();
  if (!t.schema_changed) c.head->noteSchema();
  last_seq_ = seq;
  last_fingerprint_ = logRowFingerprint(marker, t.now, by);
  return {era, seq};
}

// An era that follows a lost history starts past every seq of it, and all entries of earlier eras
// become invalid: nobody can tell any more which of them saw what was lost.
std::uint64_t Writer::beginEra(std::uint64_t start, bool forget_others) {
  auto& connection = connected_->connection;
  const auto id = randomId();
  if (forget_others) connection.exec("DELETE FROM larder_era");
  sqlite::Statement(connection,
                    "DELETE FROM larder_era WHERE start NOT IN "
                    "(SELECT start FROM larder_era ORDER BY start DESC LIMIT ?1)")
      .execute(static_cast<std::int64_t>(kErasKept));
  sqlite::Statement(connection, "INSERT INTO larder_log(seq, scope, at) VALUES(?1, ?2, ?3)")
      .execute(start, "era:" + std::to_string(id), database_.options.clock->wall());
  sqlite::Statement(connection, "INSERT INTO larder_era(start, id) VALUES(?1, ?2)")
      .execute(start, id);
  return id;
}

std::uint64_t Writer::appendRow(std::string_view scope, std::string_view by, Millis at) {
  auto& c = *connected_;
  c.append->execute(scope, at, by);
  return static_cast<std::uint64_t>(sqlite3_last_insert_rowid(c.connection.handle()));
}

std::optional<Writer::Note> Writer::readNote(WriterLock& lock) {
  std::array<std::byte, sizeof(Note)> bytes{};
  if (lock.readNote(bytes) != bytes.size()) return {};
  Note note;
  std::memcpy(&note, bytes.data(), sizeof note);
  if (note.magic != Note::kMagic) return {};
  return note;
}

// Never fails what has been committed.
void Writer::writeNote(WriterLock& lock, bool clean) noexcept {
  Note note;
  note.seq = last_seq_;
  note.fingerprint = last_fingerprint_;
  note.clean = clean ? 1 : 0;
  if (clean) note.state = fileState(database_.file);
  std::array<std::byte, sizeof(Note)> bytes{};
  std::memcpy(bytes.data(), &note, sizeof note);
  if (!lock.writeNote(bytes)) {
    database_.log(LogLevel::warning,
                  database_.lock_file.string() + ": cannot be written; free some disk space");
  }
}

void repairTriggers(WriteTransaction& t, Database& database) {
  const auto schema = database.schemas.get(t.connection);
  for (const auto& sql : schema->repairs()) t.connection.exec(sql);
  if (schema->repairs().empty()) return;
  t.schema_changed = true;
  database.log(LogLevel::info, "the ledger watches tables that were made or changed");
}

void Writer::checkpointIfDue() {
  if (ledger_.walPages() < kCheckpointPages) return;
  auto holding = hold(database_.options.writer_wait);
  followFile();
  if (checkpointDue()) checkpointHeld(false);
}

void Writer::emptyLog() {
  auto holding = hold(database_.options.writer_wait);
  followFile();
  checkpointHeld(true);
}

// A reader may keep the log from being written over; then only what has come since is worth it.
bool Writer::checkpointDue() noexcept {
  const auto pages = ledger_.walPages();
  if (pages < last_pages_) checkpoint_at_ = kCheckpointPages;
  last_pages_ = pages;
  return pages >= checkpoint_at_;
}

void Writer::checkpointHeld(bool whole) {
  sqlite3* handle = connected_->connection.handle();
  const auto usual = database_.options.writer_wait;
  const BusyTimeout timeout(handle, whole ? kEmptyingPatience : usual, usual);
  const int code = sqlite3_wal_checkpoint_v2(
      handle, "main", whole ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, nullptr,
      nullptr);
  // A reader in the way is no failure: the next checkpoint goes on from there.
  if (code != SQLITE_OK && code != SQLITE_BUSY) connected_->connection.fail(code, "checkpoint");
  checkpoint_at_ = ledger_.walPages() + kCheckpointPages;
}

}  // namespace larder::site
