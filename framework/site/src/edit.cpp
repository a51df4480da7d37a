#include "edit.h"

#include <algorithm>

#include "content_json.h"
#include "content_objects.h"
#include "larder/cache/scope.h"
#include "sqlite_arguments.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxReturned = 10'000;

/// More than that of any object that ever was: each revision stands for a change, which the ledger
/// counts. So what is made or moved to a path is not taken for what was there before.
constexpr std::string_view kNewRevision =
    "(SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'larder_log')";

std::string propertiesOf(const Object& object) {
  return object.properties.root().isNull() ? "{}" : encodeJson(object.properties.root());
}

}  // namespace

sqlite::Statement& EditTransaction::own(std::string_view sql) {
  return t_.statements.get(sql, [&] { return sqlite::Statement(t_.connection, sql); });
}

bool EditTransaction::exists(std::string_view path) {
  auto row = own("SELECT 1 FROM object WHERE path = ?1").run(path);
  return row.next();
}

void EditTransaction::requireParent(std::string_view path) {
  const auto parent = parentPath(path);
  if (!exists(parent)) {
    throw StoreError(std::string(path) + ": there is no " + std::string(parent) +
                     " to put it into; create that first");
  }
}

ObjectPtr EditTransaction::open(std::string_view path) {
  static const std::string kSql =
      "SELECT " + std::string(kObjectColumns) + " FROM object WHERE path = ?1";
  auto row = own(kSql).run(path);
  if (!row.next()) return nullptr;
  return std::make_shared<const Object>(readObject(row));
}

void EditTransaction::create(const Object& object) {
  checkObject(object);
  if (exists(object.path)) throw StoreError(object.path + ": there is such an object already");
  requireParent(object.path);
  static const std::string kSql =
      "INSERT INTO object(path, type, title, body, properties, created, modified, manager, "
      "revision) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, " +
      std::string(kNewRevision) + ")";
  own(kSql).execute(object.path, object.type, object.title, object.body, propertiesOf(object),
                    object.created != 0 ? object.created : t_.now,
                    object.modified != 0 ? object.modified : t_.now, object.manager);
  setTags(object.path, object);
}

void EditTransaction::update(const Object& object, std::int64_t expected_revision) {
  checkObject(object);
  std::int64_t revision = 0;
  {
    auto row = own("SELECT revision FROM object WHERE path = ?1").run(object.path);
    if (row.next()) revision = row.integer(0);
  }
  if (expected_revision != 0 && revision != expected_revision)
    throw EditConflict{object.path, expected_revision, revision};
  if (revision == 0) throw StoreError(object.path + ": there is no such object");
  // With the row goes the union of the old tags and the new ones: the row's trigger logs those that
  // it has now, the tags' own triggers what goes and what comes.
  own("UPDATE object SET title = ?2, body = ?3, properties = ?4, manager = ?5, modified = ?6, "
      "type = ?7, revision = revision + 1 WHERE path = ?1")
      .execute(object.path, object.title, object.body, propertiesOf(object), object.manager, t_.now,
               object.type);
  setTags(object.path, object);
}

void EditTransaction::setTags(std::string_view path, const Object& object) {
  auto wanted = object.tags;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::int64_t id = 0;
  std::vector<std::string> present;
  {
    auto rows = own("SELECT object.id, tag FROM object LEFT JOIN object_tag ON object = object.id "
                    "WHERE path = ?1")
                    .run(path);
    while (rows.next()) {
      id = rows.integer(0);
      if (!rows.isNull(1)) present.emplace_back(rows.text(1));
    }
  }
  std::sort(present.begin(), present.end());
  for (const auto& tag : present) {
    if (!std::binary_search(wanted.begin(), wanted.end(), tag))
      own("DELETE FROM object_tag WHERE object = ?1 AND tag = ?2").execute(id, tag);
  }
  for (const auto& tag : wanted) {
    if (!std::binary_search(present.begin(), present.end(), tag))
      own("INSERT INTO object_tag(object, tag) VALUES(?1, ?2)").execute(id, tag);
  }
}

void EditTransaction::remove(std::string_view path) {
  checkPath(path);
  if (path == "/") throw StoreError("/: the root cannot be removed");
  if (!exists(path)) throw StoreError(std::string(path) + ": there is no such object");
  const PathsBelow below(path);
  own("DELETE FROM object WHERE path = ?1 OR (path >= ?2 AND path < ?3)")
      .execute(path, below.first, below.last);
}

void EditTransaction::checkLongestBelow(std::string_view from, std::string_view to) {
  const PathsBelow below(from);
  auto row = own("SELECT path FROM object WHERE path >= ?1 AND path < ?2 "
                 "ORDER BY length(CAST(path AS BLOB)) DESC LIMIT 1")
                 .run(below.first, below.last);
  if (row.next()) checkPath(std::string(to).append(row.text(0).substr(from.size())));
}

void EditTransaction::move(std::string_view from, std::string_view to) {
  checkPath(from);
  checkPath(to);
  const PathsBelow below(from);
  if (from == "/") throw StoreError("/: the root cannot be moved");
  if (!exists(from)) throw StoreError(std::string(from) + ": there is no such object");
  if (to.starts_with(below.first)) {
    throw StoreError(std::string(from) + ": cannot be moved below itself, to " + std::string(to));
  }
  if (exists(to)) throw StoreError(std::string(to) + ": there is such an object already");
  requireParent(to);
  checkLongestBelow(from, to);
  static const std::string kSql =
      "UPDATE object SET path = ?2 || substr(path, length(?1) + 1), revision = " +
      std::string(kNewRevision) + " WHERE path = ?1 OR (path >= ?3 AND path < ?4)";
  own(kSql).execute(from, to, below.first, below.last);
}

Document EditTransaction::execute(std::string_view sql, const Arguments& arguments) {
  auto& statement = t_.statements.get(sql, [&] {
    const WriteAccess::Scope scope(t_.access, WriteAccess::Mode::app);
    return sqlite::Statement(t_.connection, sql);
  });
  const WriteAccess::Scope scope(t_.access, WriteAccess::Mode::running);
  auto result = Tree::list();
  auto rows = sqlite::runWith(statement, arguments);
  for (std::size_t count = 0; rows.next(); ++count) {
    if (count == kMaxReturned) {
      throw StoreError("a statement of an edit returned more than " + std::to_string(kMaxReturned) +
                       " rows; add a LIMIT [" + std::string(sql) + "]");
    }
    result.add(rows.map());
  }
  last_insert_id_ = sqlite3_last_insert_rowid(t_.connection.handle());
  return Document::from(result);
}

void EditTransaction::invalidateTag(std::string_view tag) {
  own("INSERT INTO larder_log(scope, at) VALUES(?1, ?2)").execute(tagScope(tag), t_.now);
}

}  // namespace larder::site
