#include "ledger_sqlite.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "larder/cache/planted_fault.h"
#include "larder/key.h"
#include "wal_index.h"

namespace larder::site {

namespace {

constexpr std::string_view kCommit = "commit:";
constexpr std::string_view kEra = "era:";
constexpr int kSnapshotAttempts = 30;
constexpr Millis kRepeatProblemAfter = 10'000;
/// Whoever only observes must not wait for a writer, and not often.
constexpr Millis kRepairPatience = 20;
constexpr Millis kRepairPause = 200;

Hardness hardnessOf(std::int64_t stored) noexcept {
  return stored == 0 ? Hardness::hard : Hardness::soft;
}

}  // namespace

LedgerHeadQuery::LedgerHeadQuery(sqlite::Connection& connection)
    : statement_(connection,
                 "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'larder_log'), "
                 "0), coalesce((SELECT max(seq) FROM larder_log), 0)), "
                 "(SELECT start FROM larder_era ORDER BY start DESC LIMIT 1), "
                 "(SELECT id FROM larder_era ORDER BY start DESC LIMIT 1)") {}

LedgerHead LedgerHeadQuery::read() {
  auto rows = statement_.run();
  rows.next();
  return {
      static_cast<std::uint64_t>(rows.integer(0)),
      {static_cast<std::uint64_t>(rows.integer(2)), static_cast<std::uint64_t>(rows.integer(1))}};
}

/// The observer's connection to one file.
struct SqliteLedger::Connected {
  explicit Connected(const sqlite::ConnectionOptions& options)
      : connection(options),
        head(connection),
        rows(connection,
             "SELECT seq, scope, hardness, coalesce(at, 0), coalesce(by, ''), at IS NULL FROM "
             "larder_log "
             "WHERE seq >= ?1 ORDER BY seq"),
        data_version(connection, "PRAGMA data_version"),
        sequence_page(connection,
                      "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_sequence'"),
        page_size(static_cast<std::uint32_t>(connection.integer("PRAGMA page_size"))) {}
  sqlite::Connection connection;
  LedgerHeadQuery head;
  sqlite::Statement rows;
  sqlite::Statement data_version;
  sqlite::Statement sequence_page;
  const std::uint32_t page_size;
  const std::uint32_t* wal_index = nullptr;
};

struct SqliteLedger::Batch {
  LogExpander expander;
  std::uint64_t rows = 0;
  std::uint64_t own_rows = 0;
  std::uint64_t own_commits = 0;
  std::uint64_t last_row = 0;
  bool whole_site = false;
};

SqliteLedger::SqliteLedger(Database& database, Repairs repairs)
    : Ledger(database.options.map_scopes), database_(database), repairs_(std::move(repairs)) {}

SqliteLedger::~SqliteLedger() = default;

bool SqliteLedger::observe() noexcept {
  if (const auto* words = wal_index_.load(std::memory_order_acquire)) {
    if (planted(Fault::l10_no_look_at_others)) return true;
    const WalIndex index(words);
    const auto sum = noted_sum_.load(std::memory_order_acquire);
    if (index.changes() == noted_changes_.load(std::memory_order_relaxed) && index.sum(0) == sum &&
        index.sum(1) == sum)
      return true;
  }
  return observeSlowly();
}

bool SqliteLedger::observeSlowly() noexcept {
  try {
    if (drain() == Finding::none) return true;
    const auto now = database_.options.clock->monotonic();
    auto again_at = repair_again_at_.load(std::memory_order_relaxed);
    if (now < again_at || !repair_again_at_.compare_exchange_strong(again_at, now + kRepairPause,
                                                                    std::memory_order_relaxed))
      return false;
    if (!repairs_.repair(kRepairPatience)) return false;
    repair_again_at_.store(0, std::memory_order_relaxed);
    return true;
  } catch (const std::exception& error) {
    report(error.what());
    return false;
  }
}

bool SqliteLedger::catchUp() {
  return drain() == Finding::none || repairs_.repair(database_.options.writer_wait);
}

void SqliteLedger::attach() {
  auto connected = std::make_unique<Connected>(database_.connection(true));
  connected->connection.begin(false);
  (void)connected->head.read();  // a first read opens the wal-index
  connected->connection.commit();
  if (database_.options.use_wal_index)
    connected->wal_index = WalIndex::map(connected->connection.handle());

  const std::lock_guard lock(mutex_);
  if (connected_) retired_.push_back(std::move(connected_));
  connected_ = std::move(connected);
  rewound_ = loaded_;
  noted_.reset();
  counts_ = false;
  wal_index_.store(nullptr, std::memory_order_release);  // until the first drain
}

void SqliteLedger::detach() noexcept {
  const std::lock_guard lock(mutex_);
  wal_index_.store(nullptr, std::memory_order_release);
  noted_.reset();
  if (connected_) retired_.push_back(std::move(connected_));
}

bool SqliteLedger::attached() {
  const std::lock_guard lock(mutex_);
  return connected_ != nullptr;
}

bool SqliteLedger::fileMoved() {
  const std::lock_guard lock(mutex_);
  return !connected_ || connected_->connection.moved();
}

std::uint32_t SqliteLedger::walPages() const noexcept {
  const auto* words = wal_index_.load(std::memory_order_acquire);
  return words ? WalIndex(words).frames() : 0;
}

SqliteLedger::Mark SqliteLedger::markOf(Connected& connected) {
  if (connected.wal_index) {
    const WalIndex index(connected.wal_index);
    const auto sum = index.sum(0);
    Mark mark{sum, index.changes(), index.frames(), index.salt(), false};
    mark.stable = index.sum(1) == sum && index.changes() == mark.changes &&
                  index.frames() == mark.frames && index.salt() == mark.salt;
    return mark;
  }
  auto rows = connected.data_version.run();
  rows.next();
  const auto version = rows.integer(0);
  return {static_cast<std::uint64_t>(version), static_cast<std::uint32_t>(version), 0, 0, true};
}

void SqliteLedger::noteMark(const Mark& mark) noexcept {
  noted_ = mark;
  noted_changes_.store(mark.changes, std::memory_order_relaxed);
  noted_sum_.store(mark.sum,
                   std::memory_order_release);  // whoever reads it sees what was published
  wal_index_.store(connected_->wal_index, std::memory_order_release);
}

SqliteLedger::Finding SqliteLedger::drain() {
  const std::lock_guard lock(mutex_);
  if (!connected_) return Finding::detached;
  auto& connection = connected_->connection;
  for (int attempt = 0;; ++attempt) {
    // The header is of exactly the snapshot that is read if it is the same before and after the
    // snapshot was taken.
    const Mark before = markOf(*connected_);
    if (noted_ && before == *noted_ && !unexplained_ && !rewound_) return Finding::none;
    sqlite::Transaction snapshot(connection);
    const auto head = connected_->head.read();
    const bool exact = before.stable && markOf(*connected_) == before;
    if (!exact && attempt < kSnapshotAttempts) continue;
    if (connected_->head.schemaMoved()) {
      refreshSchema();
      connected_->head.noteSchema();
    }
    drains_.fetch_add(1, std::memory_order_relaxed);
    const auto finding = apply(head, before, exact);
    snapshot.commit();
    problem_.clear();
    return finding;
  }
}

SqliteLedger::Finding SqliteLedger::apply(const LedgerHead& head, const Mark& mark, bool exact) {
  const auto known_seq = known().as_of;
  const auto mine = eras_.empty() ? 0 : eras_.back().id;
  std::vector<Era> eras;
  const bool new_era = head.era.id != mine;
  if (new_era) eras = readEras();
  const bool mine_holds =
      !new_era || mine == 0 ||
      std::any_of(eras.begin(), eras.end(), [&](const Era& e) { return e.id == mine; });
  const bool continues = !loaded_ || (!rewound_ && head.seq >= known_seq && mine_holds);
  auto batch = continues ? readRows(head.seq) : std::nullopt;
  if (!batch) {
    if (!rewound_) database_.rewinds.fetch_add(1, std::memory_order_relaxed);
    rewound_ = true;
    // Whoever noticed first began an era past everything that this process has ever known.
    if (head.era.start <= known_seq || head.era.id == mine) return Finding::rewound;
    adoptNewEra(head, new_era ? std::move(eras) : readEras());
    counts_ = exact;
    noteMark(mark);
    return Finding::none;
  }
  unexplained_ = (unexplained_ || !explained(*batch, mark, exact)) && !batch->whole_site;
  if (batch->rows > 0) {
    publish(batch->expander.take(), head.seq);
    last_row_ = batch->last_row;
  }
  if (new_era) {
    eras_ = eras;
    setEras(std::move(eras));
  }
  loaded_ = true;
  if (unexplained_) return Finding::unexplained;
  counts_ = exact;
  noteMark(mark);
  return Finding::none;
}

// Reads on from the row at `known`, which must still be what it was: then all that follows is the
// same history.
std::optional<SqliteLedger::Batch> SqliteLedger::readRows(std::uint64_t head) {
  const auto from = known().as_of;
  Batch batch;
  auto rows = connected_->rows.run(from);
  bool more = rows.next();
  std::uint64_t expected = from + 1;
  if (from == 0) {
    const auto folded = loadFloors();
    expected = folded + 1;
  } else if (more && static_cast<std::uint64_t>(rows.integer(0)) == from) {
    if (logRowFingerprint(rows.text(1), rows.integer(3), rows.text(4)) != last_row_) return {};
    more = rows.next();
  } else {
    const auto folded = loadFloors();
    if (folded < from) return {};
    expected = folded + 1;
  }
  for (; more; more = rows.next(), ++expected) {
    const auto seq = static_cast<std::uint64_t>(rows.integer(0));
    // Seqs have no gaps but where an era began past a lost history.
    const auto scope = rows.text(1);
    if (seq != expected && !scope.starts_with(kEra) && from != 0) return {};
    expected = seq;
    ++batch.rows;
    batch.last_row = logRowFingerprint(scope, rows.integer(3), rows.text(4));
    if (scope.starts_with(kCommit)) {
      std::uint64_t first = seq;
      std::from_chars(scope.data() + kCommit.size(), scope.data() + scope.size(), first);
      ++batch.own_commits;
      batch.own_rows += seq - std::min(first, seq) + 1;
    } else if (!scope.starts_with(kEra)) {
      const auto hardness = hardnessOf(rows.integer(2));
      const bool by_trigger = rows.integer(5) != 0;
      batch.expander.add(scope, seq, hardness, by_trigger);
      remember({seq, std::string(scope), hardness, loaded_ ? database_.options.clock->wall() : 0,
                by_trigger});
      batch.whole_site |= scope == kSiteScope && hardness == Hardness::hard;
    }
  }
  if (expected != head + 1) return {};
  return batch;
}

// Every commit of another program leaves at least one row if it changed anything that is watched.
// SQLite counts the commits.
bool SqliteLedger::explained(const Batch& batch, const Mark& mark, bool exact) {
  if (!counts_ || !exact || !noted_ || planted(Fault::l3_commits_without_triggers)) return true;
  std::int64_t commits = static_cast<std::int32_t>(mark.changes - noted_->changes);
  if (!connected_->wal_index) commits = mark == *noted_ ? 0 : 1;
  // The counter starts anew when the wal-index is rebuilt after a crash of a writer.
  constexpr std::int64_t kPlausible = 1 << 30;
  if (commits < 0 || commits > kPlausible) return true;
  const auto others = commits - static_cast<std::int64_t>(batch.own_commits);
  const auto their_rows = batch.rows - std::min(batch.own_rows, batch.rows);
  if (others <= 0) return true;
  if (others > static_cast<std::int64_t>(their_rows)) return false;
  return !connected_->wal_index || eachAppended(commits, mark);
}

// Of several rows, all may be one commit's. What appends to the log writes the page in which SQLite
// keeps its sequence.
bool SqliteLedger::eachAppended(std::int64_t commits, const Mark& mark) {
  auto rows = connected_->sequence_page.run();
  if (!rows.next()) return false;
  const auto first = mark.salt == noted_->salt ? noted_->frames : 0;
  const auto read =
      readWalCommits(connected_->connection.handle(), connected_->page_size, mark.salt, first,
                     mark.frames, static_cast<std::uint32_t>(rows.integer(0)));
  return read && read->all_wrote && std::int64_t{read->count} >= commits;
}

SqliteLedger::Finding SqliteLedger::adoptNewEra(const LedgerHead& head, std::vector<Era> eras) {
  auto last = connected_->rows.run(head.seq);
  if (last.next()) last_row_ = logRowFingerprint(last.text(1), last.integer(3), last.text(4));
  map().raiseFloor(head.seq);
  eras_ = eras;
  setEras(std::move(eras));
  publish({}, head.seq);
  rewound_ = false;
  unexplained_ = false;
  return Finding::none;
}

std::vector<Era> SqliteLedger::readEras() {
  sqlite::Statement statement(connected_->connection,
                              "SELECT id, start FROM larder_era ORDER BY start");
  std::vector<Era> eras;
  for (auto rows = statement.run(); rows.next();)
    eras.push_back(
        {static_cast<std::uint64_t>(rows.integer(0)), static_cast<std::uint64_t>(rows.integer(1))});
  return eras;
}

std::uint64_t SqliteLedger::loadFloors() {
  sqlite::Statement statement(connected_->connection, "SELECT bucket, seq FROM larder_floor");
  std::uint64_t folded = 0;
  for (auto rows = statement.run(); rows.next();) {
    const auto seq = static_cast<std::uint64_t>(rows.integer(1));
    if (rows.integer(0) == kFoldedRow) {
      folded = seq;
    } else {
      map().raiseFloor(static_cast<std::size_t>(rows.integer(0)), kFloorBuckets, seq);
    }
  }
  return folded;
}

void SqliteLedger::refreshSchema() {
  const auto schema = database_.schemas.get(connected_->connection);
  wants_triggers_.store(!schema->repairs().empty(), std::memory_order_relaxed);
  if (schema->hash() != known().schema) setSchema(schema->hash());
}

void SqliteLedger::report(std::string_view problem) noexcept {
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    const auto now = database_.options.clock->monotonic();
    if (problem == problem_ && now < problem_at_ + kRepeatProblemAfter) return;
    problem_ = problem;
    problem_at_ = now;
    message = std::string(problem) + "; nothing is served from caches meanwhile";
  }
  database_.log(LogLevel::error, message);
}

std::uint64_t logRowFingerprint(std::string_view scope, std::int64_t at, std::string_view by) {
  std::string text(scope);
  return hash64(text.append("\n").append(std::to_string(at)).append("\n").append(by));
}

bool isBookkeeping(std::string_view scope) noexcept {
  return scope.starts_with(kCommit) || scope.starts_with(kEra);
}

std::string commitMarker(std::uint64_t first) {
  return std::string(kCommit) + std::to_string(first);
}

}  // namespace larder::site
