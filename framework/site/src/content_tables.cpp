#include "content_tables.h"

#include "larder/cache/planted_fault.h"

namespace larder::site {

namespace {

constexpr std::int64_t kApplicationId = 0x4c524452;  // "LRDR"
constexpr std::int64_t kFormat = 1;

constexpr const char* kLedgerTables = R"sql(
CREATE TABLE larder_log(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  scope TEXT NOT NULL,
  hardness INTEGER NOT NULL DEFAULT 0,
  at INTEGER,
  by TEXT);
CREATE TABLE larder_era(start INTEGER PRIMARY KEY, id INTEGER NOT NULL);
CREATE TABLE larder_floor(bucket INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE larder_app(name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
)sql";

// Parent and name follow from the path, so that no other program can set them apart. Ids are never
// used again: tags and search rows of a row that a REPLACE displaced cannot come back to life.
constexpr const char* kContentTables = R"sql(
CREATE TABLE object(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  path TEXT NOT NULL UNIQUE
    CHECK(path = '/' OR (path GLOB '/*' AND path NOT GLOB '*//*' AND path NOT GLOB '*/')),
  parent TEXT NOT NULL GENERATED ALWAYS AS (
    CASE WHEN path = '/' THEN ''
         WHEN instr(substr(path, 2), '/') = 0 THEN '/'
         ELSE rtrim(rtrim(path, replace(path, '/', '')), '/') END) STORED,
  name TEXT NOT NULL GENERATED ALWAYS AS (
    substr(path, length(rtrim(path, replace(path, '/', ''))) + 1)) STORED,
  type TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '',
  properties TEXT NOT NULL DEFAULT '{}' CHECK(json_type(properties) = 'object'),
  revision INTEGER NOT NULL DEFAULT 1,
  created INTEGER NOT NULL DEFAULT 0,
  modified INTEGER NOT NULL DEFAULT 0,
  manager TEXT NOT NULL DEFAULT '');
CREATE INDEX object_by_name ON object(parent, name);
CREATE INDEX object_by_title ON object(parent, title COLLATE NOCASE);
CREATE INDEX object_by_modified ON object(parent, modified);
CREATE TABLE object_tag(object INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(object, tag))
  WITHOUT ROWID;
CREATE INDEX object_tag_by_tag ON object_tag(tag, object);
CREATE VIRTUAL TABLE object_fts USING fts5(title, body, tokenize = 'unicode61 remove_diacritics 2');
)sql";

// BEFORE triggers see the rows that a REPLACE is about to displace without a delete trigger. The
// search table has its own copy of the text: an index on the object table could not be kept right
// through such a displacement. A list of children is sorted and filtered by type, title and date of
// creation, so a change of these is one of the list.
constexpr std::string_view kContentTriggers[] = {
    R"sql(CREATE TRIGGER larder_object_displace BEFORE INSERT ON object BEGIN
  INSERT INTO larder_log(scope) SELECT 'tag:' || tag FROM object_tag WHERE object IN
    (SELECT id FROM object WHERE id = NEW.id UNION SELECT id FROM object WHERE path = NEW.path);
  INSERT INTO larder_log(scope) SELECT 'del:' || path FROM object
    WHERE id = NEW.id OR path = NEW.path;
END)sql",
    R"sql(CREATE TRIGGER larder_object_displace_by_update BEFORE UPDATE ON object
  WHEN NEW.id IS NOT OLD.id OR NEW.path IS NOT OLD.path BEGIN
  INSERT INTO larder_log(scope) SELECT 'tag:' || tag FROM object_tag WHERE object IN
    (SELECT id FROM object WHERE (id = NEW.id OR path = NEW.path) AND id IS NOT OLD.id);
  INSERT INTO larder_log(scope) SELECT 'del:' || path FROM object
    WHERE (id = NEW.id OR path = NEW.path) AND id IS NOT OLD.id;
END)sql",
    R"sql(CREATE TRIGGER larder_object_insert AFTER INSERT ON object BEGIN
  INSERT INTO larder_log(scope) VALUES('new:' || NEW.path);
  DELETE FROM object_fts WHERE rowid = NEW.id;
  INSERT INTO object_fts(rowid, title, body) VALUES(NEW.id, NEW.title, NEW.body);
END)sql",
    R"sql(CREATE TRIGGER larder_object_update AFTER UPDATE ON object BEGIN
  INSERT INTO larder_log(scope)
    VALUES(CASE WHEN NEW.path IS OLD.path THEN 'obj:' ELSE 'new:' END || NEW.path);
  INSERT INTO larder_log(scope) SELECT 'del:' || OLD.path WHERE NEW.path IS NOT OLD.path;
  INSERT INTO larder_log(scope) SELECT 'children:' || NEW.parent
    WHERE NEW.path IS OLD.path AND (NEW.type IS NOT OLD.type OR NEW.title IS NOT OLD.title
      OR NEW.created IS NOT OLD.created);
  INSERT INTO larder_log(scope) SELECT 'tag:' || tag FROM object_tag
    WHERE object IN (OLD.id, NEW.id);
END)sql",
    R"sql(CREATE TRIGGER larder_object_renumber AFTER UPDATE ON object WHEN NEW.id IS NOT OLD.id BEGIN
  DELETE FROM object_tag WHERE object = NEW.id;
  UPDATE object_tag SET object = NEW.id WHERE object = OLD.id;
END)sql",
    R"sql(CREATE TRIGGER larder_object_index AFTER UPDATE ON object
  WHEN NEW.title IS NOT OLD.title OR NEW.body IS NOT OLD.body OR NEW.id IS NOT OLD.id BEGIN
  DELETE FROM object_fts WHERE rowid IN (OLD.id, NEW.id);
  INSERT INTO object_fts(rowid, title, body) VALUES(NEW.id, NEW.title, NEW.body);
END)sql",
    R"sql(CREATE TRIGGER larder_object_delete AFTER DELETE ON object BEGIN
  INSERT INTO larder_log(scope) VALUES('del:' || OLD.path);
  DELETE FROM object_tag WHERE object = OLD.id;
  DELETE FROM object_fts WHERE rowid = OLD.id;
END)sql",
    R"sql(CREATE TRIGGER larder_tag_insert AFTER INSERT ON object_tag BEGIN
  INSERT INTO larder_log(scope) VALUES('tag:' || NEW.tag), ('table:object_tag');
  INSERT INTO larder_log(scope) SELECT 'obj:' || path FROM object WHERE id = NEW.object;
END)sql",
    R"sql(CREATE TRIGGER larder_tag_update AFTER UPDATE ON object_tag BEGIN
  INSERT INTO larder_log(scope)
    VALUES('tag:' || OLD.tag), ('tag:' || NEW.tag), ('table:object_tag');
  INSERT INTO larder_log(scope) SELECT 'obj:' || path FROM object
    WHERE id IN (OLD.object, NEW.object);
END)sql",
    R"sql(CREATE TRIGGER larder_tag_delete AFTER DELETE ON object_tag BEGIN
  INSERT INTO larder_log(scope) VALUES('tag:' || OLD.tag), ('table:object_tag');
  INSERT INTO larder_log(scope) SELECT 'obj:' || path FROM object WHERE id = OLD.object;
END)sql"};

bool equalsIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

bool startsWithIgnoringCase(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && equalsIgnoringCase(text.substr(0, prefix.size()), prefix);
}

}  // namespace

void createContentTables(sqlite::Connection& connection, Millis now) {
  connection.exec(kLedgerTables);
  if (planted(Fault::l1_upsert_in_a_trigger))
    connection.exec(
        "CREATE UNIQUE INDEX larder_log_scope ON larder_log(scope) "
        "WHERE at IS NULL AND scope BETWEEN 'row:' AND 'row;'");
  connection.exec(kContentTables);
  for (const auto sql : kContentTriggers) connection.exec(std::string(sql));
  sqlite::Statement root(
      connection,
      "INSERT INTO object(path, type, created, modified) VALUES('/', 'folder', ?1, ?1)");
  root.execute(now);
  connection.exec("PRAGMA application_id=" + std::to_string(kApplicationId));
  connection.exec("PRAGMA user_version=" + std::to_string(kFormat));
}

bool checkFormat(sqlite::Connection& connection, const std::filesystem::path& file) {
  const auto application = connection.integer("PRAGMA application_id");
  const auto format = connection.integer("PRAGMA user_version");
  if (application == kApplicationId) {
    if (format == kFormat) return false;
    throw StoreError(file.string() + ": written in format " + std::to_string(format) +
                     ", but this program knows format " + std::to_string(kFormat) +
                     "; run the version that wrote it, or another data folder");
  }
  if (application == 0 && connection.integer("SELECT count(*) FROM sqlite_schema") == 0)
    return true;
  throw StoreError(file.string() +
                   ": a database of another program; set site.data to a folder of its own");
}

std::span<const std::string_view> contentTriggers() noexcept {
  return kContentTriggers;
}

bool isHiddenTable(std::string_view table) noexcept {
  return startsWithIgnoringCase(table, "larder_") || startsWithIgnoringCase(table, "sqlite_");
}

bool isHostTable(std::string_view table) noexcept {
  return isHiddenTable(table) || equalsIgnoringCase(table, "object") ||
         equalsIgnoringCase(table, "object_tag") || startsWithIgnoringCase(table, "object_fts");
}

}  // namespace larder::site
