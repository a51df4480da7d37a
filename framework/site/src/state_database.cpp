#include "state_database.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

namespace larder::site {

namespace {

constexpr std::int64_t kApplicationId = 0x4c524453;  // "LRDS"
constexpr std::int64_t kFormat = 1;

constexpr const char* kTables = R"sql(
CREATE TABLE user(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  login TEXT NOT NULL UNIQUE COLLATE NOCASE,
  name TEXT NOT NULL,
  password TEXT NOT NULL,
  roles TEXT NOT NULL);
CREATE TABLE session(
  token BLOB PRIMARY KEY,
  user INTEGER REFERENCES user(id) ON DELETE CASCADE,
  csrf TEXT NOT NULL,
  expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX session_by_user ON session(user);
CREATE INDEX session_by_expiry ON session(expires);
CREATE TABLE session_value(
  token BLOB NOT NULL REFERENCES session(token) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(token, name)) WITHOUT ROWID;
CREATE TABLE attempt(
  key TEXT PRIMARY KEY,
  failures INTEGER NOT NULL,
  last INTEGER NOT NULL,
  until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE learned(view TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(view, name)) WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL, at INTEGER NOT NULL,
  by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE small(space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(space, key)) WITHOUT ROWID;
)sql";

// Came later than the others; a file without them gets them.
constexpr const char* kLaterTables = R"sql(
CREATE TABLE IF NOT EXISTS published(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  as_of INTEGER NOT NULL,
  era INTEGER NOT NULL,
  schema INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  settled INTEGER NOT NULL,
  scopes BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS published_by_key ON published(key);
CREATE INDEX IF NOT EXISTS published_by_expiry ON published(expires);
)sql";

/// Password hashes, sessions and keys are for the server's user alone; the files beside a database
/// get its mode from SQLite. One that is open to all was made by another program, or an older
/// version.
void keepFromOthers(const std::filesystem::path& file) {
  // With O_EXCL: closing a database that is open elsewhere in the process ends its locks.
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  using std::filesystem::perms;
  for (const char* beside : {"", "-wal", "-shm"}) {
    const std::filesystem::path each = file.string() + beside;
    std::error_code ignored;  // of a file that is not there, or not this user's
    const auto mode = std::filesystem::status(each, ignored).permissions();
    if (!ignored && mode != perms::unknown && (mode & perms::others_all) != perms::none)
      std::filesystem::permissions(each, mode & perms::owner_all, ignored);
  }
}

void prepareFile(sqlite::Connection& connection, const std::filesystem::path& file) {
  const auto application = connection.integer("PRAGMA application_id");
  const auto format = connection.integer("PRAGMA user_version");
  if (application == 0 && connection.integer("SELECT count(*) FROM sqlite_schema") == 0) {
    sqlite::Transaction transaction(connection, true);
    connection.exec(kTables);
    connection.exec(kLaterTables);
    connection.exec("PRAGMA application_id=" + std::to_string(kApplicationId));
    connection.exec("PRAGMA user_version=" + std::to_string(kFormat));
    transaction.commit();
    return;
  }
  if (application != kApplicationId || format != kFormat) {
    throw StoreError(file.string() + ": not a state file of this version (format " +
                     std::to_string(format) + ", known is " + std::to_string(kFormat) +
                     "); run the version that wrote it, or another data folder");
  }
  if (const auto result = connection.text("PRAGMA quick_check(1)"); result != "ok") {
    throw StoreError(file.string() + ": damaged (" + result +
                     "); restore a backup, or remove the file: users, sessions and settings "
                     "changed while running are lost then, content is not");
  }
  connection.exec(kLaterTables);
}

}  // namespace

StateDatabase::StateDatabase(StateOptions options)
    : options_(std::move(options)), file_(options_.data_dir / "state.db") {
  if (!options_.clock) throw StoreError("the state needs a clock");
  std::error_code error;
  std::filesystem::create_directories(options_.data_dir, error);
  if (error) {
    throw StoreError(options_.data_dir.string() + ": cannot be made (" + error.message() +
                     "); set site.data to a folder that the server's user may write");
  }
  refresh();
}

StateDatabase::Access::Access(StateDatabase& database)
    : lock_(database.mutex_),
      opened_(database.opened_ ? *database.opened_
                               : throw StoreError(database.file_.string() +
                                                  ": is being opened anew; try again")) {}

bool StateDatabase::isOpen() {
  const std::lock_guard guard(mutex_);
  return opened_ != nullptr;
}

StateDatabase::Holding StateDatabase::hold() {
  for (;;) {
    std::shared_ptr<WriterLock> lock;
    {
      const std::lock_guard guard(lock_mutex_);
      if (!lock_ || lock_->moved())
        lock_ = std::make_shared<WriterLock>(options_.data_dir / "state.lock");
      lock = lock_;
    }
    auto held = lock->acquire(options_.writer_wait);
    if (!held) {
      throw StoreError(file_.string() + ": another process has been writing for " +
                       std::to_string(options_.writer_wait) +
                       " ms; nothing was changed, try again");
    }
    if (!lock->moved()) return {std::move(lock), std::move(*held)};
  }
}

void StateDatabase::followFile() {
  const std::lock_guard guard(mutex_);
  if (opened_ && !opened_->connection.moved()) return;
  // The old one first: SQLite's locks are the process's, and the files beside the database may be
  // the same.
  opened_.reset();
  keepFromOthers(file_);
  sqlite::ConnectionOptions options;
  options.file = file_;
  options.busy_timeout = options_.writer_wait;
  auto opened = std::make_unique<Opened>(options);
  prepareFile(opened->connection, file_);
  opened_ = std::move(opened);
}

void StateDatabase::refresh() {
  const auto holding = hold();
  followFile();
}

void StateDatabase::checkpoint() {
  const auto holding = hold();
  followFile();
  Access access(*this);
  sqlite3_wal_checkpoint_v2(access.connection().handle(), "main", SQLITE_CHECKPOINT_PASSIVE,
                            nullptr, nullptr);
}

}  // namespace larder::site
