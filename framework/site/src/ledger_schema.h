// LedgerSchema: what the database's schema means for the ledger. Which table is watched by triggers
// and how exactly a read of it can be recorded (L2, L3), and the hash that entries and kept
// statements belong to (L8).
//
// Immutable; shared by all connections that see the same schema.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite.h"

namespace larder::site {

class LedgerSchema {
 public:
  enum class Watch : std::uint8_t {
    rows,       ///< by INTEGER PRIMARY KEY, the only way in which a row of it can be displaced
    table,      ///< as a whole
    unwatched,  ///< changes of it are not, or not yet, in the log
    view,       ///< its tables are reported beside it
    hidden,     ///< no app's business
  };
  struct Table {
    std::string name;   ///< as the schema spells it
    std::string scope;  ///< the table whose changes are its changes
    std::string key;    ///< INTEGER PRIMARY KEY column, or empty
    Watch watch = Watch::unwatched;
  };

  [[nodiscard]] static std::uint64_t hashOf(sqlite::Connection& connection);
  /// Everything, inside a transaction.
  LedgerSchema(sqlite::Connection& connection, std::uint64_t hash);

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Null when there is no such table; names compare as SQLite's do.
  [[nodiscard]] const Table* find(std::string_view name) const;
  /// Whether changes of objects and their tags are in the log.
  [[nodiscard]] bool watchesContent() const noexcept { return watches_content_; }
  [[nodiscard]] const std::vector<std::string>& virtualTables() const noexcept { return virtuals_; }
  /// Statements that make the triggers what they should be; none if they are.
  [[nodiscard]] const std::vector<std::string>& repairs() const noexcept { return repairs_; }

 private:
  struct NoCase {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept;
  };
  struct Existing;

  void addTable(sqlite::Connection& connection, const std::string& name, bool has_rowid,
                const Existing& existing);
  void addVirtual(const std::string& name, const std::string& sql);
  void watchContent(const Existing& existing);
  void dropStrangers(const Existing& existing);
  void watch(Table& table, const Existing& existing);

  std::uint64_t hash_;
  std::map<std::string, Table, NoCase> tables_;
  std::vector<std::string> virtuals_;
  std::vector<std::string> repairs_;
  bool watches_content_ = true;
};

/// Thread-safe.
class LedgerSchemaCache {
 public:
  /// The schema as `connection`'s transaction sees it.
  [[nodiscard]] std::shared_ptr<const LedgerSchema> get(sqlite::Connection& connection);

 private:
  std::mutex mutex_;
  std::shared_ptr<const LedgerSchema> newest_;
};

}  // namespace larder::site
