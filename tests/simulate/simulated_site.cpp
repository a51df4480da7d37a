#include "simulated_site.h"

#include <filesystem>
#include <stdexcept>

#include "larder/cache/scope.h"

namespace larder::simulate {

namespace {

std::string titleOf(Version version) {
  return std::to_string(version);
}

struct Row {
  explicit Row(std::size_t item)
      : table(item < kFirstOther ? "note" : "other"),
        id(std::to_string(1 + item - (item < kFirstOther ? kFirstRow : kFirstOther))) {}
  std::string table;
  std::string id;
};

void check(int code, sqlite3* handle, const std::string& what) {
  if (code != SQLITE_OK)
    throw std::runtime_error(what + ": " + (handle ? sqlite3_errmsg(handle) : "no memory"));
}

struct RolledBack {};

}  // namespace

SimulatedSite::SimulatedSite(Surroundings& world, std::string folder,
                             const std::vector<ViewDefinition>& views, std::size_t processes)
    : world_(world),
      folder_(std::move(folder)),
      views_(views),
      known_inputs_(views.size()),
      wanted_(processes) {
  start();
  std::vector<Change> changes;
  process(0).store().edit([&](Edit& edit) {
    for (std::size_t item = 0; item < kFirstChild; ++item) {
      changes.push_back({item, newVersion()});
      Object object;
      object.path = kObjects[item];
      object.type = "page";
      object.title = titleOf(changes.back().version);
      edit.create(object);
    }
  });
  for (std::size_t tag = 0; tag < kTags; ++tag) changes.push_back({kFirstTag + tag, newVersion()});
  acknowledge(changes);
  redefineView();
}

SimulatedSite::SimulatedSite(const SimulatedSite& original, std::string folder,
                             std::size_t processes)
    : world_(original.world_),
      folder_(std::move(folder)),
      views_(original.views_),
      oracle_(original.oracle_),
      known_inputs_(original.known_inputs_),
      wanted_(processes) {
  std::filesystem::create_directories(folder_);
  original.copyFile(file());
  if (world_.dice.chance(500))
    std::filesystem::copy_file(original.folder_ + "/site.lock", folder_ + "/site.lock");
  start();
}

SimulatedSite::~SimulatedSite() {
  stop();
}

void SimulatedSite::note(const std::string& what) const {
  world_.note(std::filesystem::path(folder_).filename().string() + ": " + what);
}

Version SimulatedSite::newVersion() noexcept {
  return ++world_.versions;
}

void SimulatedSite::openOutside() {
  check(sqlite3_open_v2(file().c_str(), &outside_, SQLITE_OPEN_READWRITE, nullptr), outside_,
        file());
  outside("PRAGMA wal_autocheckpoint=0");
}

void SimulatedSite::closeOutside() {
  sqlite3_close(outside_);
  outside_ = nullptr;
}

void SimulatedSite::outside(const std::string& sql) {
  const auto run = [&] { return sqlite3_exec(outside_, sql.c_str(), nullptr, nullptr, nullptr); };
  auto code = run();
  // SQLite 3.40 may read a schema that others changed too late.
  if (code == SQLITE_SCHEMA) code = run();
  check(code, outside_, sql);
}

void SimulatedSite::start() {
  while (processes_.size() < wanted_) {
    processes_.push_back(nullptr);
    restart(processes_.size() - 1);
  }
  openOutside();
}

void SimulatedSite::stop() {
  closeOutside();
  processes_.clear();
}

void SimulatedSite::restart(std::size_t i) {
  processes_[i].reset();
  if (world_.dice.chance(200)) known_inputs_.assign(views_.size(), {});  // they may get lost
  processes_[i] = std::make_unique<SiteProcess>(world_, folder_, std::to_string(i), views_, oracle_,
                                                known_inputs_);
}

void SimulatedSite::acknowledge(const std::vector<Change>& changes) {
  ++world_.now;
  for (const auto& [item, version] : changes) oracle_.change(item, version, world_.now);
}

void SimulatedSite::changeObject(Edit& edit, std::vector<Change>& changes) {
  const auto item = world_.dice.below(kObjects.size());
  const std::string path(kObjects[item]);
  const auto version = newVersion();
  const auto now = edit.open(path);
  const auto target = kFirstChild + world_.dice.below(kObjects.size() - kFirstChild);
  if (now && item >= kFirstChild && world_.dice.chance(200) && !edit.open(kObjects[target])) {
    edit.move(path, kObjects[target]);
    Object object = *edit.open(kObjects[target]);
    object.title = titleOf(version);
    edit.update(object, 0);
    changes.push_back({item, 0});
    changes.push_back({target, version});
    return;
  }
  if (!now) {
    Object object;
    object.path = path;
    object.type = "page";
    object.title = titleOf(version);
    edit.create(object);
  } else if (item >= kFirstChild && world_.dice.chance(400)) {
    edit.remove(path);
    changes.push_back({item, 0});
    return;
  } else {
    Object object = *now;
    object.title = titleOf(version);
    edit.update(object, world_.dice.chance(500) ? now->revision : 0);
  }
  changes.push_back({item, version});
}

std::string SimulatedSite::rowChange(std::vector<Change>& changes) {
  const auto item = (world_.dice.chance(700) ? kFirstRow : kFirstOther) + world_.dice.below(kRows);
  const Row row(item);
  const auto old = oracle_.current(item);
  const auto version = newVersion();
  const auto insert =
      " INTO " + row.table + "(id, text) VALUES(" + row.id + ", '" + titleOf(version) + "')";
  switch (world_.dice.below(5)) {
    case 0:
      changes.push_back({item, 0});
      return "DELETE FROM " + row.table + " WHERE id = " + row.id;
    case 1:
      if (old != 0) changes.push_back({item, version});
      return "UPDATE " + row.table + " SET text = '" + titleOf(version) + "' WHERE id = " + row.id;
    case 2:
      if (old == 0) changes.push_back({item, version});
      return "INSERT OR IGNORE" + insert;
    case 3:
      changes.push_back({item, version});
      return "INSERT" + insert + " ON CONFLICT(id) DO UPDATE SET text = excluded.text";
    default:
      changes.push_back({item, version});
      return "REPLACE" + insert;
  }
}

void SimulatedSite::changeRow(Edit& edit, std::vector<Change>& changes) {
  edit.execute(rowChange(changes), {});
}

void SimulatedSite::edit(SiteProcess& process, Report& report) {
  ++report.edits;
  std::vector<Change> changes;
  const bool rolled_back = world_.dice.chance(100);
  try {
    process.store().edit([&](Edit& edit) {
      if (world_.dice.chance(700)) {
        changeObject(edit, changes);
      } else {
        changeRow(edit, changes);
      }
      if (rolled_back) throw RolledBack{};
    });
  } catch (const RolledBack&) {
    return note("an edit that was rolled back");
  }
  acknowledge(changes);
  for (const auto& [item, version] : changes) {
    note("moment " + std::to_string(world_.now) + ": process " + process.name() + " edits item " +
         std::to_string(item) + " to version " + std::to_string(version));
  }
}

// What kept statements read of the view's tables is then another table (L8).
void SimulatedSite::redefineView() {
  const auto version = newVersion();
  const auto number = std::to_string(version);
  outside("BEGIN; DROP VIEW IF EXISTS shown; CREATE VIEW shown AS SELECT " + number +
          " AS version, 0 AS id, '' AS text UNION ALL SELECT " + number + ", id, text FROM " +
          Row(firstShown(version)).table + "; COMMIT");
  acknowledge({{kShown, version}});
  note("moment " + std::to_string(world_.now) + ": the view is version " + number);
}

void SimulatedSite::commitOutside(const std::string& sql) {
  const bool without_triggers = world_.dice.chance(150);
  if (without_triggers) sqlite3_db_config(outside_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  outside(sql);
  sqlite3_db_config(outside_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
  note(std::string("another program") + (without_triggers ? " without triggers: " : ": ") + sql);
}

bool SimulatedSite::failHalfwayOutside(std::vector<Change>& changes) {
  const auto table = world_.dice.chance(500) ? kFirstRow : kFirstOther;
  const auto absent = table + world_.dice.below(kRows);
  const auto present = table + world_.dice.below(kRows);
  if (oracle_.current(absent) != 0 || oracle_.current(present) == 0) return false;
  const auto version = newVersion();
  const Row row(absent);
  const auto sql = "INSERT OR FAIL INTO " + row.table + "(id, text) VALUES(" + row.id + ", '" +
                   titleOf(version) + "'), (" + Row(present).id + ", '')";
  if (sqlite3_exec(outside_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_CONSTRAINT)
    throw std::runtime_error("did not fail: " + sql);
  changes.push_back({absent, version});
  note("another program: " + sql);
  return true;
}

void SimulatedSite::dropTriggerFromOutside() {
  static const std::vector<std::string> kTables{"object", Row(kFirstRow).table,
                                                Row(kFirstOther).table};
  static const std::vector<std::string> kEvents{"insert", "update", "delete"};
  const auto& table = world_.dice.oneOf(kTables);
  outside("DROP TRIGGER IF EXISTS larder_" + table + "_" + world_.dice.oneOf(kEvents));
  note("another program drops a trigger");
}

// One transaction of one or two rows, or an object's.
void SimulatedSite::editFromOutside(Report& report) {
  ++report.foreign_edits;
  std::vector<Change> changes;
  std::string sql;
  if (world_.dice.chance(100) && failHalfwayOutside(changes)) return acknowledge(changes);
  if (world_.dice.chance(250)) {
    const auto item = world_.dice.below(kFirstChild);
    changes.push_back({item, newVersion()});
    sql = "UPDATE object SET title = '" + titleOf(changes.back().version) + "' WHERE path = '" +
          std::string(kObjects[item]) + "'";
  } else {
    sql = rowChange(changes);
    // Of another row: what the first one does is not yet known to the oracle.
    std::vector<Change> more;
    const auto second = world_.dice.chance(700) ? rowChange(more) : std::string();
    if (!changes.empty() && !more.empty() && changes[0].item != more[0].item) {
      sql = "BEGIN; " + sql + "; " + second + "; COMMIT";
      changes.push_back(more[0]);
    }
  }
  commitOutside(sql);
  acknowledge(changes);
}

void SimulatedSite::invalidate(SiteProcess& process, Report& report) {
  ++report.invalidations;
  const auto hardness = world_.dice.chance(500) ? Hardness::hard : Hardness::soft;
  const auto path = kObjects[world_.dice.below(kObjects.size())];
  std::string scope;
  std::size_t tag = Oracle::kItems;
  switch (world_.dice.below(8)) {
    case 0:
      scope = viewScope(views_[world_.dice.below(views_.size())].name, path);
      break;
    case 1:
      scope = managerScope("/", world_.dice.chance(500) ? "ram" : "shared");
      break;
    case 2:
      scope = objectScope(path);
      break;
    case 3:
      scope = subtreeScope(path);
      break;
    default:
      tag = kFirstTag + world_.dice.below(kTags);
      scope = tagScope(tagOf(tag));
  }
  const larder::Change change{scope, hardness};
  if (const auto done = process.store().ledger().append({&change, 1}); !done)
    throw std::runtime_error(done.error().message);
  ++world_.now;
  oracle_.invalidate(scope, world_.now, hardness);
  // What the tag stands for is a new version at the same moment.
  if (tag < Oracle::kItems) oracle_.change(tag, newVersion(), world_.now, hardness);
  note("moment " + std::to_string(world_.now) + ": process " + process.name() +
       (hardness == Hardness::hard ? " invalidates " : " softly invalidates ") + scope);
}

void SimulatedSite::copyFile(const std::string& to) const {
  sqlite3* copy = nullptr;
  check(sqlite3_open(to.c_str(), &copy), copy, to);
  auto* backup = sqlite3_backup_init(copy, "main", outside_, "main");
  if (!backup) throw std::runtime_error(sqlite3_errmsg(copy));
  sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  check(sqlite3_errcode(copy), copy, "backup to " + to);
  sqlite3_close(copy);
}

void SimulatedSite::backUp() {
  std::filesystem::remove(folder_ + "/backup.db");
  copyFile(folder_ + "/backup.db");
  backup_ = oracle_.state();
  note("backup");
}

void SimulatedSite::restoreBackup(bool running) {
  if (running) closeOutside();
  for (const char* ending : {"-wal", "-shm"}) std::filesystem::remove(file() + ending);
  std::filesystem::copy_file(folder_ + "/backup.db", folder_ + "/new.db",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(folder_ + "/new.db", file());
  if (running) {
    openOutside();
    for (auto& process : processes_) process->store().maintain();
  }
  ++world_.now;
  oracle_.restore(*backup_, world_.now);
  note("moment " + std::to_string(world_.now) +
       (running ? ": backup restored while the site runs" : ": backup restored"));
}

}  // namespace larder::simulate
