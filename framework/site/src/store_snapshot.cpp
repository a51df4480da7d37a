#include "store_snapshot.h"

#include <algorithm>

#include "content_objects.h"
#include "larder/cache/scope.h"
#include "sqlite_arguments.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxChildren = 1'000;

std::string_view orderOf(const ChildrenQuery& query) {
  struct Order {
    std::string_view sort, up, down;
  };
  static constexpr Order kOrders[] = {
      {"name", "name", "name DESC"},
      {"title", "title COLLATE NOCASE, name", "title COLLATE NOCASE DESC, name"},
      {"created", "created, name", "created DESC, name"},
      {"modified", "modified, name", "modified DESC, name"}};
  for (const auto& order : kOrders) {
    if (order.sort == query.sort) return query.descending ? order.down : order.up;
  }
  throw StoreError("children cannot be sorted by \"" + query.sort +
                   "\"; use name, title, created or modified");
}

// A list changes as a whole with what is above it (L4).
void recordList(std::string_view path, ScopeSink& sink) {
  sink.scope(childrenScope(path));
  for (; !path.empty(); path = parentPath(path)) sink.scope(subtreeScope(path));
}

/// However a query ends, the reads after it have the render's time again.
class QueryTime {
 public:
  QueryTime(Reader& reader, Millis until, Millis afterwards) noexcept
      : reader_(reader), afterwards_(afterwards) {
    reader_.setDeadline(until);
  }
  QueryTime(const QueryTime&) = delete;
  QueryTime& operator=(const QueryTime&) = delete;
  ~QueryTime() { reader_.setDeadline(afterwards_); }

 private:
  Reader& reader_;
  Millis afterwards_;
};

[[noreturn]] void tooLong(Millis limit, std::string_view sql) {
  throw StoreError("a query took longer than " + std::to_string(limit) +
                   " ms; give it an index or a LIMIT, or raise its timeout [" +
                   std::string(sql.substr(0, 300)) + "]");
}

}  // namespace

StoreSnapshot::StoreSnapshot(std::shared_ptr<void> owner, Readers& readers,
                             std::unique_ptr<Reader> reader, const Clock& clock, Millis limit)
    : owner_(std::move(owner)),
      readers_(readers),
      reader_(std::move(reader)),
      clock_(clock),
      limit_(limit),
      deadline_(addMillis(clock.monotonic(), limit)),
      stamp_{reader_->head().seq, reader_->head().era.id, reader_->schema().hash()} {
  reader_->setDeadline(deadline_);
}

StoreSnapshot::~StoreSnapshot() {
  readers_.giveBack(std::move(reader_));
}

void StoreSnapshot::startReading() {
  if (clock_.monotonic() > deadline_) {
    throw StoreError("a render has been reading for more than " + std::to_string(limit_) +
                     " ms; its snapshot has ended");
  }
}

void StoreSnapshot::startReadingObjects(ScopeSink& sink) {
  startReading();
  if (!reader_->schema().watchesContent())
    sink.refuse("read objects while another program has removed the ledger's triggers");
}

ObjectPtr StoreSnapshot::object(std::string_view path, ScopeSink& sink) {
  startReadingObjects(sink);
  static const std::string kSql =
      "SELECT " + std::string(kObjectColumns) + " FROM object WHERE path = ?1";
  sink.object(path);
  auto row = reader_->own(kSql).run(path);
  if (!row.next()) return nullptr;
  return std::make_shared<const Object>(readObject(row));
}

sqlite::Rows StoreSnapshot::runChildren(std::string_view columns, std::string_view path,
                                        const ChildrenQuery& query, std::string_view rest) {
  std::string sql = "SELECT ";
  sql.append(columns).append(" FROM object WHERE parent = ?1");
  if (!query.type.empty()) sql += " AND type = ?2";
  if (!query.title_contains.empty()) sql += " AND title LIKE ?3 ESCAPE '\\'";
  sql += rest;
  auto& statement = reader_->own(sql);
  statement.restart();
  statement.bind(1, path);
  if (!query.type.empty()) statement.bind(2, query.type);
  if (!query.title_contains.empty()) statement.bind(3, containsPattern(query.title_contains));
  return sqlite::Rows(statement);
}

std::vector<ObjectPtr> StoreSnapshot::children(std::string_view path, const ChildrenQuery& query,
                                               ScopeSink& sink) {
  startReadingObjects(sink);
  recordList(path, sink);
  // Any edit of a child moves it in this order; the triggers log the other columns as the list's.
  if (query.sort == "modified") sink.scope(underScope(path));
  std::string rest = " ORDER BY ";
  rest.append(orderOf(query))
      .append(" LIMIT ")
      .append(std::to_string(std::min(query.limit, kMaxChildren)))
      .append(" OFFSET ")
      .append(std::to_string(std::min<std::size_t>(query.offset, 1u << 31U)));
  std::vector<ObjectPtr> children;
  for (auto rows = runChildren(kObjectColumns, path, query, rest); rows.next();) {
    children.push_back(std::make_shared<const Object>(readObject(rows)));
    sink.object(children.back()->path);
  }
  return children;
}

std::size_t StoreSnapshot::countChildren(std::string_view path, const ChildrenQuery& query,
                                         ScopeSink& sink) {
  startReadingObjects(sink);
  recordList(path, sink);
  auto rows = runChildren("count(*)", path, query, "");
  rows.next();
  return static_cast<std::size_t>(rows.integer(0));
}

Document StoreSnapshot::row(std::string_view name, std::int64_t id, ScopeSink& sink) {
  startReading();
  const auto* table = reader_->schema().find(name);
  if (!table || table->watch == LedgerSchema::Watch::hidden)
    throw StoreError("there is no table " + std::string(name));
  if (table->key.empty()) {
    throw StoreError("the table " + table->name +
                     " has no INTEGER PRIMARY KEY to read a row by; use a query");
  }
  switch (table->watch) {
    case LedgerSchema::Watch::rows:
      sink.scope(rowScope(table->name, id));
      sink.scope(bulkScope(table->name));
      break;
    case LedgerSchema::Watch::table:
      sink.scope(tableScope(table->scope));
      break;
    default:
      sink.refuse("read the table " + table->name + ", which the ledger does not watch");
  }
  auto found = reader_
                   ->own("SELECT * FROM " + sqlite::quotedName(table->name) + " WHERE " +
                         sqlite::quotedName(table->key) + " = ?1")
                   .run(id);
  return found.next() ? Document::from(found.map()) : Document();
}

Document StoreSnapshot::query(std::string_view sql, const Arguments& arguments, ScopeSink& sink,
                              const QueryLimits& limits) {
  startReading();
  auto& query = reader_->query(sql);
  for (const auto& scope : query.scopes) sink.scope(scope);
  if (!query.refusal.empty()) sink.refuse(query.refusal);
  if (query.random) sink.input("random");

  const ReadAccess::Running running(reader_->access());
  const auto clock_reads = sqlite::clockReads();
  const QueryTime time(*reader_, std::min(deadline_, addMillis(clock_.monotonic(), limits.time)),
                       deadline_);
  auto result = Tree::list();
  try {
    auto rows = sqlite::runWith(query.statement, arguments);
    for (std::size_t count = 0; rows.next(); ++count) {
      if (count == limits.rows) {
        throw StoreError("a query returned more than " + std::to_string(limits.rows) +
                         " rows; add a LIMIT, or raise its rows [" +
                         std::string(sql.substr(0, 300)) + "]");
      }
      result.add(rows.map());
    }
  } catch (const sqlite::Error& error) {
    if (error.code() == SQLITE_INTERRUPT) tooLong(limits.time, sql);
    throw;
  }
  if (sqlite::clockReads() != clock_reads) sink.input("now");
  return Document::from(result);
}

}  // namespace larder::site
