#include "ledger_schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "content_tables.h"
#include "larder/cache/planted_fault.h"
#include "larder/key.h"

namespace larder::site {

namespace {

using sqlite::literal;
using sqlite::quotedName;

constexpr std::string_view kTriggerPrefix = "larder_";
constexpr std::string_view kContentSuffix = "_content";

struct Trigger {
  std::string name;
  std::string sql;
};

// NEW and OLD both: a key that changes, changes two rows (L2).
std::array<Trigger, 3> triggersOf(const LedgerSchema::Table& table) {
  const auto scope = [&](const char* row) {
    if (table.key.empty()) return literal("table:" + table.name);
    return literal("row:" + table.name + ":") + " || " + row + "." + quotedName(table.key);
  };
  const auto trigger = [&](const char* event, const std::string& values) {
    Trigger t;
    const std::string append =
        planted(Fault::l1_upsert_in_a_trigger) ? "INSERT OR REPLACE" : "INSERT";
    std::string when;
    if (planted(Fault::l1_not_twice_in_the_log)) {
      when = " WHEN NOT EXISTS (SELECT 1 FROM larder_log WHERE scope = " +
             scope(event == std::string_view("delete") ? "OLD" : "NEW") + ")";
    }
    t.name = std::string(kTriggerPrefix) + table.name + "_" + event;
    t.sql = "CREATE TRIGGER " + quotedName(t.name) + " AFTER " + event + " ON " +
            quotedName(table.name) + when + " BEGIN " + append + " INTO larder_log(scope) " +
            values + "; END";
    return t;
  };
  std::string update = "VALUES(" + scope("NEW") + ")";
  if (!table.key.empty()) {
    const auto key = quotedName(table.key);
    update += "; INSERT INTO larder_log(scope) SELECT " + scope("OLD") + " WHERE OLD." + key +
              " IS NOT NEW." + key;
  }
  return {trigger("insert", "VALUES(" + scope("NEW") + ")"), trigger("update", update),
          trigger("delete", "VALUES(" + scope("OLD") + ")")};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2) return std::string(text);
  const char open = text.front();
  const char close = open == '[' ? ']' : open;
  if ((open != '\'' && open != '"' && open != '`' && open != '[') || text.back() != close)
    return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == close && i + 2 < text.size() && text[i + 1] == close) ++i;
  }
  return out;
}

/// "module" and the arguments of CREATE VIRTUAL TABLE ... USING module(a, b = 'c').
struct VirtualTable {
  std::string module;
  std::vector<std::string> arguments;
};

// Walks the text once, knowing quotes and comments as little as a stored CREATE statement needs.
VirtualTable parseVirtual(std::string_view sql) {
  VirtualTable result;
  const auto using_at = lower(sql).find(" using ");
  if (using_at == std::string::npos) return result;
  const auto rest = trimmed(sql.substr(using_at + 7));
  const auto open = rest.find('(');
  result.module = lower(trimmed(rest.substr(0, open)));
  if (open == std::string_view::npos) return result;
  char quote = 0;
  int depth = 0;
  std::string argument;
  for (const char c : rest.substr(open)) {
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"' || c == '`' || c == '[') {
      quote = c == '[' ? ']' : c;
    } else if (c == '(') {
      if (depth++ == 0) continue;
    } else if ((c == ',' && depth == 1) || (c == ')' && --depth == 0)) {
      result.arguments.emplace_back(trimmed(argument));
      argument.clear();
      if (depth == 0) break;
      continue;
    }
    argument += c;
  }
  return result;
}

}  // namespace

struct LedgerSchema::Existing {
  std::map<std::string, std::pair<std::string, std::string>> triggers;  // name: table, sql
  std::map<std::string, std::string> virtuals;                          // name: sql
};

bool LedgerSchema::NoCase::operator()(std::string_view a, std::string_view b) const noexcept {
  const auto common = static_cast<int>(std::min(a.size(), b.size()));
  const int order = sqlite3_strnicmp(a.data(), b.data(), common);
  return order != 0 ? order < 0 : a.size() < b.size();
}

std::uint64_t LedgerSchema::hashOf(sqlite::Connection& connection) {
  sqlite::Statement statement(connection,
                              "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
                              "WHERE tbl_name NOT LIKE 'sqlite_stat%' ORDER BY type, name");
  std::string all;
  for (auto rows = statement.run(); rows.next();) {
    for (int i = 0; i < 4; ++i) {
      const auto text = rows.text(i);
      all.append(std::to_string(text.size())).append(":").append(text);
    }
  }
  return hash64(all);
}

LedgerSchema::LedgerSchema(sqlite::Connection& connection, std::uint64_t hash) : hash_(hash) {
  Existing existing;
  {
    sqlite::Statement statement(connection,
                                "SELECT type, name, tbl_name, sql FROM sqlite_schema "
                                "WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%'");
    for (auto rows = statement.run(); rows.next();) {
      if (rows.text(0) == "trigger") {
        existing.triggers[std::string(rows.text(1))] = {std::string(rows.text(2)),
                                                        std::string(rows.text(3))};
      } else {
        existing.virtuals[std::string(rows.text(1))] = rows.text(3);
      }
    }
  }
  struct Listed {
    std::string name;
    std::string type;
    bool has_rowid;
  };
  std::vector<Listed> listed;
  {
    sqlite::Statement statement(
        connection, "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'");
    for (auto rows = statement.run(); rows.next();)
      listed.push_back(
          {std::string(rows.text(0)), std::string(rows.text(1)), rows.integer(2) == 0});
  }
  for (const auto& [name, type, has_rowid] : listed) {
    if (isHiddenTable(name) || type == "shadow") {
      tables_[name] = {name, {}, {}, Watch::hidden};
    } else if (type == "view") {
      tables_[name] = {name, {}, {}, Watch::view};
    } else if (!isHostTable(name) && type == "table") {
      addTable(connection, name, has_rowid, existing);
    }
  }
  watchContent(existing);
  const auto watch_content = watches_content_ ? Watch::table : Watch::unwatched;
  tables_["object"] = {"object", "object", "id", watch_content};
  tables_["object_tag"] = {"object_tag", "object_tag", {}, watch_content};
  tables_["object_fts"] = {"object_fts", "object", {}, watch_content};
  for (const auto& [name, sql] : existing.virtuals) {
    virtuals_.push_back(name);
    if (isHostTable(name)) continue;
    addVirtual(name, sql);
    // The text of a full-text table that keeps its own lives in a shadow table, which alone of them
    // can bear triggers (on _data they crash SQLite 3.40).
    auto& table = tables_[name];
    if (table.scope == name + std::string(kContentSuffix)) {
      Table content{table.scope, table.scope, "id", Watch::unwatched};
      watch(content, existing);
      table.watch = content.watch == Watch::unwatched ? Watch::unwatched : Watch::table;
    }
  }
  dropStrangers(existing);
}

const LedgerSchema::Table* LedgerSchema::find(std::string_view name) const {
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : &it->second;
}

void LedgerSchema::addTable(sqlite::Connection& connection, const std::string& name, bool has_rowid,
                            const Existing& existing) {
  Table table{name, name, {}, Watch::unwatched};
  int key_columns = 0;
  sqlite::Statement columns(connection,
                            "SELECT name, type, pk FROM pragma_table_xinfo(?1) WHERE pk > 0");
  for (auto rows = columns.run(name); rows.next(); ++key_columns) {
    if (lower(rows.text(1)) == "integer") table.key = rows.text(0);
  }
  // INTEGER PRIMARY KEY DESC is no alias of the rowid: it shows as an index of its own.
  sqlite::Statement indexes(connection,
                            "SELECT count(*), sum(origin = 'pk') FROM pragma_index_list(?1) "
                            "WHERE \"unique\"");
  auto unique = indexes.run(name);
  unique.next();
  if (key_columns != 1 || !has_rowid || unique.integer(1) > 0) table.key.clear();
  watch(table, existing);
  if (table.watch == Watch::rows && unique.integer(0) > 0) table.watch = Watch::table;
  tables_[name] = table;
}

void LedgerSchema::addVirtual(const std::string& name, const std::string& sql) {
  Table table{name, {}, {}, Watch::unwatched};
  const auto parsed = parseVirtual(sql);
  if (parsed.module == "fts5") {
    table.scope = name + std::string(kContentSuffix);
    for (const auto& argument : parsed.arguments) {
      const auto equals = argument.find('=');
      if (equals == std::string::npos || lower(trimmed(argument.substr(0, equals))) != "content")
        continue;
      const auto base = unquoted(trimmed(std::string_view(argument).substr(equals + 1)));
      const auto* found = base.empty() ? nullptr : find(base);
      const bool watched = found && (found->watch == Watch::rows || found->watch == Watch::table);
      table.scope = watched ? found->scope : std::string();
      if (watched) table.watch = Watch::table;
    }
  }
  tables_[name] = table;
}

// Sets table.watch by whether its triggers are exactly what they should be.
void LedgerSchema::watch(Table& table, const Existing& existing) {
  bool complete = true;
  for (const auto& trigger : triggersOf(table)) {
    const auto it = existing.triggers.find(trigger.name);
    if (it != existing.triggers.end() && it->second.first == table.name &&
        it->second.second == trigger.sql)
      continue;
    complete = false;
    if (it != existing.triggers.end())
      repairs_.push_back("DROP TRIGGER " + quotedName(trigger.name));
    repairs_.push_back(trigger.sql);
  }
  if (complete) table.watch = table.key.empty() ? Watch::table : Watch::rows;
}

void LedgerSchema::watchContent(const Existing& existing) {
  constexpr auto kNameAt = std::string_view("CREATE TRIGGER ").size();
  for (const auto sql : contentTriggers()) {
    const std::string name(sql.substr(kNameAt, sql.find(' ', kNameAt) - kNameAt));
    const auto it = existing.triggers.find(name);
    if (it != existing.triggers.end() && it->second.second == sql) continue;
    watches_content_ = false;
    if (it != existing.triggers.end()) repairs_.push_back("DROP TRIGGER " + quotedName(name));
    repairs_.emplace_back(sql);
  }
}

// A renamed table takes its triggers along, with the old name in what they log.
void LedgerSchema::dropStrangers(const Existing& existing) {
  for (const auto& [name, trigger] : existing.triggers) {
    const auto& owner = trigger.first;
    if (!name.starts_with(kTriggerPrefix) || isHostTable(owner)) continue;
    const auto own = std::string(kTriggerPrefix) + owner + "_";
    const bool stranger = !name.starts_with(own);
    const auto drop = "DROP TRIGGER " + quotedName(name);
    if (stranger && std::find(repairs_.begin(), repairs_.end(), drop) == repairs_.end())
      repairs_.insert(repairs_.begin(), drop);
  }
}

std::shared_ptr<const LedgerSchema> LedgerSchemaCache::get(sqlite::Connection& connection) {
  const auto hash = LedgerSchema::hashOf(connection);
  {
    const std::lock_guard lock(mutex_);
    if (newest_ && newest_->hash() == hash) return newest_;
  }
  auto schema = std::make_shared<const LedgerSchema>(connection, hash);
  const std::lock_guard lock(mutex_);
  newest_ = schema;
  return schema;
}

}  // namespace larder::site
