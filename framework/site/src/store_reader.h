// Reader: a pooled connection of renders, with its statements. Readers: the pool.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ledger_sqlite.h"
#include "sqlite_statements.h"
#include "store_access.h"
#include "store_database.h"

namespace larder::site {

/// Used by one thread at a time.
class Reader {
 public:
  /// An app's statement and what it reads: found out when it was prepared, kept as long as the
  /// schema is the same (L8).
  struct Query {
    sqlite::Statement statement;
    std::vector<std::string> scopes;
    std::string refusal;  ///< why what it returns must not be stored, or empty
    bool random = false;
  };

  Reader(const Database& database, std::uint64_t generation);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Opens a snapshot; its first read is the head (L7).
  void begin(LedgerSchemaCache& schemas);
  void end() noexcept;
  /// Whether end() left nothing open.
  [[nodiscard]] bool clean() const noexcept { return connection_.idle(); }

  [[nodiscard]] const LedgerHead& head() const noexcept { return head_; }
  [[nodiscard]] const LedgerSchema& schema() const noexcept { return *schema_; }
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  /// Statements are interrupted once the clock's monotonic time passes `when`.
  void setDeadline(Millis when) noexcept { deadline_ = when; }

  [[nodiscard]] sqlite::Statement& own(std::string_view sql);
  /// An app's. Throws StoreError when it is not one read-only statement.
  [[nodiscard]] Query& query(std::string_view sql);
  [[nodiscard]] ReadAccess& access() noexcept { return access_; }

 private:
  [[nodiscard]] sqlite::ConnectionOptions options(const Database& database);
  [[nodiscard]] Query prepare(std::string_view sql);
  void connectVirtualTables();

  const Clock& clock_;
  std::uint64_t generation_;
  Millis deadline_ = kForever;
  ReadAccess access_;
  sqlite::Connection connection_;
  LedgerHeadQuery head_query_;
  LedgerHead head_;
  std::shared_ptr<const LedgerSchema> schema_;
  sqlite::StatementCache<sqlite::Statement> own_;
  sqlite::StatementCache<Query> queries_;
};

/// Thread-safe.
class Readers {
 public:
  explicit Readers(Database& database) : database_(database) {}

  /// Throws StoreError when as many as allowed are in use.
  [[nodiscard]] std::unique_ptr<Reader> take();
  void giveBack(std::unique_ptr<Reader> reader) noexcept;

 private:
  Database& database_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;
  std::size_t used_ = 0;
};

}  // namespace larder::site
