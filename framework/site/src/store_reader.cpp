#include "store_reader.h"

#include <utility>

#include "larder/cache/scope.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxIdle = 32;
constexpr int kMaxValueBytes = 100 << 20;
constexpr int kMaxSqlBytes = 1 << 20;

// Table-valued functions of their arguments alone.
bool isPureFunction(std::string_view table) noexcept {
  return table == "json_each" || table == "json_tree";
}

}  // namespace

Reader::Reader(const Database& database, std::uint64_t generation)
    : clock_(*database.options.clock),
      generation_(generation),
      connection_(options(database)),
      head_query_(connection_) {
  sqlite3_limit(connection_.handle(), SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(connection_.handle(), SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes);
}

sqlite::ConnectionOptions Reader::options(const Database& database) {
  auto options = database.connection(true);
  options.access = &access_;
  options.interrupt = [this] { return deadline_ != kForever && clock_.monotonic() > deadline_; };
  return options;
}

void Reader::begin(LedgerSchemaCache& schemas) {
  if (!connection_.idle()) throw StoreError("a connection of the pool is still reading");
  connection_.begin(false);
  head_ = head_query_.read();
  if (!head_query_.schemaMoved()) return;
  // SQLite would prepare kept statements again by itself, and nobody would hear what they read
  // then.
  queries_.clear();
  schema_ = schemas.get(connection_);
  connectVirtualTables();
  head_query_.noteSchema();
}

// SQLite connects a virtual table when a statement first names it, and what the table's module does
// then is more than an app's statement may. One whose module this program lacks is told to who
// reads it.
void Reader::connectVirtualTables() {
  for (const auto& table : schema_->virtualTables()) {
    try {
      sqlite::Statement(connection_, "SELECT 1 FROM " + sqlite::quotedName(table));
    } catch (const sqlite::Error& error) {
      if (error.code() != SQLITE_ERROR) throw;
    }
  }
  for (const char* function : {"json_each", "json_tree"})
    sqlite::Statement(connection_, std::string("SELECT 1 FROM ") + function + "('[]')");
}

void Reader::end() noexcept {
  deadline_ = kForever;
  connection_.rollback();
}

sqlite::Statement& Reader::own(std::string_view sql) {
  return own_.get(sql, [&] { return sqlite::Statement(connection_, sql); });
}

Reader::Query& Reader::query(std::string_view sql) {
  return queries_.get(sql, [&] { return prepare(sql); });
}

Reader::Query Reader::prepare(std::string_view sql) {
  ReadAccess::Collecting collecting(access_);
  Query query{sqlite::Statement(connection_, sql), {}, {}, false};
  const auto collected = collecting.take();
  query.random = collected.random;
  for (const auto& name : collected.tables) {
    const auto* table = schema_->find(name);
    if (!table) {
      if (!isPureFunction(name)) query.refusal = "read " + name + ", which the ledger cannot watch";
      continue;
    }
    switch (table->watch) {
      case LedgerSchema::Watch::rows:
      case LedgerSchema::Watch::table:
        query.scopes.push_back(tableScope(table->scope));
        break;
      case LedgerSchema::Watch::view:
        break;
      case LedgerSchema::Watch::unwatched:
        query.refusal = "read the table " + name + ", which the ledger does not watch";
        break;
      case LedgerSchema::Watch::hidden:
        throw StoreError("the table " + name + " is internal; read the one it belongs to [" +
                         std::string(sql) + "]");
    }
  }
  return query;
}

std::unique_ptr<Reader> Readers::take() {
  const auto generation = database_.generation.load(std::memory_order_acquire);
  {
    const std::lock_guard lock(mutex_);
    if (used_ >= database_.options.max_snapshots) {
      throw StoreError(database_.file.string() + ": " + std::to_string(used_) +
                       " snapshots are open at the same time, as many as allowed");
    }
    ++used_;
    while (!idle_.empty()) {
      auto reader = std::move(idle_.back());
      idle_.pop_back();
      if (reader->generation() == generation) return reader;
    }
  }
  try {
    return std::make_unique<Reader>(database_, generation);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --used_;
    throw;
  }
}

void Readers::giveBack(std::unique_ptr<Reader> reader) noexcept {
  reader->end();
  const bool keep = reader->clean() &&
                    reader->generation() == database_.generation.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  --used_;
  if (keep && idle_.size() < kMaxIdle) idle_.push_back(std::move(reader));
}

}  // namespace larder::site
