#include "sqlite.h"

#include <limits>
#include <variant>

#include "content_json.h"

namespace larder::site::sqlite {

namespace {

constexpr int kStepsBetweenChecks = 2'000;

std::string_view remedy(int code) noexcept {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds the database locked; end it, or open the file read-only there";
    case SQLITE_FULL:
      return "free some space on the disk";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "the file and its folder must be writable for the user that runs the server";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "stop the server and restore a backup, or salvage what can be read with: "
             "sqlite3 OLD .recover | sqlite3 NEW";
    case SQLITE_IOERR:
      return "check the disk (dmesg) and its free space";
    case SQLITE_AUTH:
      return "an app's statement reads, and in an edit changes, tables of apps; objects are "
             "changed "
             "by create, update, move and remove";
    default:
      return {};
  }
}

int authorize(void* access, int action, const char* a, const char* b, const char* database,
              const char* accessor) {
  return static_cast<Access*>(access)->authorize(action, a, b, database, accessor);
}

int interrupted(void* check) {
  return (*static_cast<std::function<bool()>*>(check))() ? 1 : 0;
}

std::string_view shortened(std::string_view sql) noexcept {
  const auto from = sql.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return sql.substr(from, 300);
}

}  // namespace

Connection::Connection(const ConnectionOptions& options) : interrupt_(options.interrupt) {
  const int flags =
      SQLITE_OPEN_NOMUTEX |
      (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(options.file.c_str(), &opened, flags, clockWatchingVfs());
  handle_.reset(opened);
  if (code != SQLITE_OK) fail(code, {});
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, static_cast<int>(options.busy_timeout));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_autocheckpoint(opened, 0);
  if (options.access) sqlite3_set_authorizer(opened, authorize, options.access);
  if (interrupt_) sqlite3_progress_handler(opened, kStepsBetweenChecks, interrupted, &interrupt_);
  exec("PRAGMA temp_store=MEMORY");
  if (options.read_only) return;
  if (text("PRAGMA journal_mode=WAL") != "wal") {
    throw StoreError(options.file.string() +
                     ": the write-ahead log cannot be used here; the data folder must be on a "
                     "local file system that other users do not lock");
  }
  exec(options.full_sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  exec("PRAGMA foreign_keys=ON");
}

Connection::~Connection() = default;

void Connection::exec(const std::string& sql) {
  std::string_view rest = sql;
  while (!rest.empty()) {
    auto statement = Statement::takeFrom(*this, rest);
    if (!statement.empty()) statement.execute();
  }
}

std::int64_t Connection::integer(const std::string& sql) {
  Statement statement(*this, sql);
  auto rows = statement.run();
  return rows.next() ? rows.integer(0) : 0;
}

std::string Connection::text(const std::string& sql) {
  Statement statement(*this, sql);
  auto rows = statement.run();
  return rows.next() ? std::string(rows.text(0)) : std::string();
}

void Connection::begin(bool write) {
  auto& statement = write ? begin_write_ : begin_;
  if (!statement)
    statement = std::make_unique<Statement>(*this, write ? "BEGIN IMMEDIATE" : "BEGIN");
  if (!rollback_) rollback_ = std::make_unique<Statement>(*this, "ROLLBACK");
  statement->execute();
}

void Connection::commit() {
  if (!commit_) commit_ = std::make_unique<Statement>(*this, "COMMIT");
  commit_->execute();
}

void Connection::rollback() noexcept {
  if (sqlite3_get_autocommit(handle())) return;
  // Every read transaction ends here.
  const bool done = rollback_ && sqlite3_step(rollback_->handle()) == SQLITE_DONE;
  if (rollback_) sqlite3_reset(rollback_->handle());
  if (!done) sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

bool Connection::moved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

void Connection::fail(int code, std::string_view sql) const {
  std::string message;
  if (const char* file = handle_ ? sqlite3_db_filename(handle(), "main") : nullptr)
    message.append(file).append(": ");
  message.append(handle_ ? sqlite3_errmsg(handle()) : sqlite3_errstr(code));
  if (const auto advice = remedy(code); !advice.empty()) message.append("; ").append(advice);
  if (const auto text = shortened(sql); !text.empty())
    message.append(" [").append(text).append("]");
  throw Error(code, message);
}

Rows::~Rows() {
  if (statement_) sqlite3_reset(statement_->handle());
}

bool Rows::next() {
  const int code = sqlite3_step(statement_->handle());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) statement_->connection().fail(code, statement_->sql());
  return false;
}

int Rows::columns() const noexcept {
  return sqlite3_column_count(statement_->handle());
}

std::string_view Rows::name(int column) const noexcept {
  const char* name = sqlite3_column_name(statement_->handle(), column);
  return name ? name : std::string_view{};
}

bool Rows::isNull(int column) const noexcept {
  return sqlite3_column_type(statement_->handle(), column) == SQLITE_NULL;
}

std::int64_t Rows::integer(int column) const noexcept {
  return sqlite3_column_int64(statement_->handle(), column);
}

double Rows::real(int column) const noexcept {
  return sqlite3_column_double(statement_->handle(), column);
}

std::string_view Rows::text(int column) const noexcept {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_->handle(), column));
  const int size = sqlite3_column_bytes(statement_->handle(), column);
  return bytes ? std::string_view(bytes, static_cast<std::size_t>(size)) : std::string_view{};
}

Tree Rows::tree(int column) const {
  switch (sqlite3_column_type(statement_->handle(), column)) {
    case SQLITE_INTEGER:
      return integer(column);
    case SQLITE_FLOAT:
      return real(column);
    case SQLITE_TEXT:
      return text(column);
    case SQLITE_BLOB:
      return Tree::Bytes{std::string(text(column))};
    default:
      return {};
  }
}

Tree Rows::map() const {
  auto map = Tree::map();
  for (int i = 0; i < columns(); ++i) map.set(name(i), tree(i));
  return map;
}

Statement::Statement(Connection& connection, std::string_view sql) : connection_(&connection) {
  std::string_view rest = sql;
  *this = takeFrom(connection, rest);
  if (empty()) throw StoreError("an empty statement");
  // What follows may be blanks and comments only.
  while (!rest.empty()) {
    if (!takeFrom(connection, rest).empty())
      throw StoreError("more than one statement where one is expected [" +
                       std::string(shortened(sql)) + "]");
  }
}

Statement Statement::takeFrom(Connection& connection, std::string_view& sql) {
  if (sql.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw StoreError("a statement of more than 2 GB");
  Statement statement(connection);
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, &tail);
  statement.handle_.reset(handle);
  if (code != SQLITE_OK) connection.fail(code, sql);
  sql.remove_prefix(static_cast<std::size_t>(tail - sql.data()));
  return statement;
}

void Statement::restart() noexcept {
  sqlite3_reset(handle());
  sqlite3_clear_bindings(handle());
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) connection_->fail(code, sql());
}

void Statement::bind(int index, std::nullptr_t) {
  check(sqlite3_bind_null(handle(), index));
}
void Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle(), index, value));
}
void Statement::bind(int index, double value) {
  check(sqlite3_bind_double(handle(), index, value));
}
void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL instead of empty text.
  check(sqlite3_bind_text64(handle(), index, text.data() ? text.data() : "", text.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind(int index, Bytes bytes) {
  check(sqlite3_bind_blob64(handle(), index, bytes.data.data() ? bytes.data.data() : "",
                            bytes.data.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int index, const Tree& value) {
  std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, bool>) {
          bind(index, std::int64_t{v});
        } else if constexpr (std::is_same_v<V, Tree::Bytes>) {
          bind(index, Bytes{v.data});
        } else if constexpr (std::is_same_v<V, Tree::List> || std::is_same_v<V, Tree::Map>) {
          bind(index, encodeJson(Document::from(value).root()));
        } else {
          bind(index, v);
        }
      },
      value.value());
}

std::string_view Statement::sql() const noexcept {
  const char* sql = handle_ ? sqlite3_sql(handle()) : nullptr;
  return sql ? sql : std::string_view{};
}

int Statement::reprepares() const noexcept {
  return sqlite3_stmt_status(handle(), SQLITE_STMTSTATUS_REPREPARE, 0);
}

std::string quotedName(std::string_view identifier) {
  std::string out = "\"";
  for (const char c : identifier) out.append(c == '"' ? 2 : 1, c);
  return out += '"';
}

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out += '\'';
}

}  // namespace larder::site::sqlite
