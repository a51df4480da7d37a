// SQLite for the store: connections, kept statements and their rows.
//
// The raw API, because Poco::Data::SQLite prepares again for every execute (4 us instead of 0.2),
// and a statement of it that was left half fetched keeps its read transaction open.
//
//   Connection db({.file = "site.db"});
//   Statement find(db, "SELECT title FROM object WHERE path = ?1");
//   if (auto row = find.run(path); row.next()) use(row.text(0));
//
// A connection and its statements are used by one thread at a time. Values are bound by copy.
// Errors are thrown as Error with SQLite's message and the SQL.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "larder/clock.h"
#include "larder/document.h"
#include "larder/site/store.h"
#include "sqlite_vfs.h"

namespace larder::site::sqlite {

class Error : public StoreError {
 public:
  Error(int code, const std::string& message) : StoreError(message), code_(code) {}
  /// SQLite's primary result code.
  [[nodiscard]] int code() const noexcept { return code_ & 0xff; }

 private:
  int code_;
};

struct ConnectionOptions {
  std::filesystem::path file = {};
  bool read_only = false;
  bool full_sync = false;
  Millis busy_timeout = 5'000;
  /// Decides what statements may do. Set before anything is prepared and never changed: setting an
  /// authorizer expires every statement of the connection. Outlives the connection.
  class Access* access = nullptr;
  /// Called every few thousand steps of a statement; true interrupts it.
  std::function<bool()> interrupt = {};
};

/// An authorizer. authorize() returns SQLITE_OK or SQLITE_DENY and must not throw.
class Access {
 public:
  virtual ~Access() = default;
  virtual int authorize(int action, const char* a, const char* b, const char* database,
                        const char* accessor) noexcept = 0;
};

/// In WAL mode; never checkpoints on its own, not at close either: all checkpoints happen under the
/// writer lock (L13).
class Connection {
 public:
  explicit Connection(const ConnectionOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return handle_.get(); }
  /// Any number of statements, without results.
  void exec(const std::string& sql);
  /// First column of the first row as an integer, 0 without a row.
  std::int64_t integer(const std::string& sql);
  std::string text(const std::string& sql);
  /// BEGIN or BEGIN IMMEDIATE. The snapshot is taken by the first read after it.
  void begin(bool write);
  void commit();
  /// Also where nothing is open: SQLite has already rolled back after some errors.
  void rollback() noexcept;
  /// No transaction of any kind: the next read sees the newest commit (L11).
  [[nodiscard]] bool idle() const noexcept {
    return sqlite3_txn_state(handle(), "main") == SQLITE_TXN_NONE;
  }
  /// The file was renamed, removed or replaced since it was opened.
  [[nodiscard]] bool moved() const noexcept;
  /// Throws Error for what the last call on this connection reported.
  [[noreturn]] void fail(int code, std::string_view sql) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
  };
  std::function<bool()> interrupt_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<class Statement> begin_;
  std::unique_ptr<Statement> begin_write_;
  std::unique_ptr<Statement> commit_;
  std::unique_ptr<Statement> rollback_;
};

/// The rows of one run; ending it resets the statement, so that no read transaction stays open.
class Rows {
 public:
  explicit Rows(Statement& statement) noexcept : statement_(&statement) {}
  Rows(Rows&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  bool next();
  [[nodiscard]] int columns() const noexcept;
  [[nodiscard]] std::string_view name(int column) const noexcept;
  [[nodiscard]] bool isNull(int column) const noexcept;
  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  [[nodiscard]] double real(int column) const noexcept;
  /// Text or bytes; valid until next() or the end of the rows.
  [[nodiscard]] std::string_view text(int column) const noexcept;
  /// The value with the type that it has in this row.
  [[nodiscard]] Tree tree(int column) const;
  /// All columns by name.
  [[nodiscard]] Tree map() const;

 private:
  Statement* statement_;
};

/// Bound as a blob.
struct Bytes {
  std::string_view data;
};

/// Prepared once, run often.
class Statement {
 public:
  Statement(Connection& connection, std::string_view sql);
  /// As above from the head of `sql`, which is advanced past it; empty() when only blanks and
  /// comments were left.
  static Statement takeFrom(Connection& connection, std::string_view& sql);

  /// Binds the values to ?1, ?2, ... and starts a run.
  template <class... Values>
  [[nodiscard]] Rows run(const Values&... values) {
    restart();
    int index = 0;
    (bind(++index, values), ...);
    return Rows(*this);
  }
  /// run() for what yields no rows.
  template <class... Values>
  void execute(const Values&... values) {
    auto rows = run(values...);
    while (rows.next()) {
    }
  }

  /// Forgets bindings and rows; for those who bind by hand.
  void restart() noexcept;
  void bind(int index, std::nullptr_t);
  void bind(int index, std::int64_t value);
  void bind(int index, std::uint64_t value) { bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, int value) { bind(index, std::int64_t{value}); }
  void bind(int index, double value);
  void bind(int index, std::string_view text);
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, Bytes bytes);
  /// Booleans as 0 and 1, lists and maps as JSON text.
  void bind(int index, const Tree& value);

  [[nodiscard]] sqlite3_stmt* handle() const noexcept { return handle_.get(); }
  [[nodiscard]] bool empty() const noexcept { return !handle_; }
  [[nodiscard]] std::string_view sql() const noexcept;
  [[nodiscard]] Connection& connection() const noexcept { return *connection_; }
  /// How often SQLite had to prepare it again, because the schema changed.
  [[nodiscard]] int reprepares() const noexcept;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const noexcept { sqlite3_finalize(handle); }
  };
  explicit Statement(Connection& connection) noexcept : connection_(&connection) {}
  void check(int code) const;

  Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// Rolls back at its end unless committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection, bool write = false) : connection_(&connection) {
    connection.begin(write);
  }
  ~Transaction() {
    if (connection_) connection_->rollback();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    connection_->commit();
    connection_ = nullptr;
  }

 private:
  Connection* connection_;
};

/// An identifier in double quotes.
[[nodiscard]] std::string quotedName(std::string_view identifier);
/// A text literal in single quotes.
[[nodiscard]] std::string literal(std::string_view text);

}  // namespace larder::site::sqlite
