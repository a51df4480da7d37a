// What the store's tests share: a store in a folder of its own, a sink that remembers, the sqlite3
// shell.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/recorder.h"
#include "larder/cache/scope.h"
#include "larder/site/store.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/process.h"
#include "larder/testing/temp_dir.h"

namespace larder::site {

/// Runs statements and dot commands in the sqlite3 shell, as another program would; what it
/// printed.
inline std::string shell(const std::string& file, std::vector<std::string> commands) {
  commands.insert(commands.begin(), file);
  auto process = larder::testing::Process::start("sqlite3", commands, {.package = "sqlite3"});
  if (!process) throw std::runtime_error(process.error().message);
  if (const auto status = process->wait(); status != 0)
    throw std::runtime_error("sqlite3: " + process->output());
  auto output = process->output();
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

/// What one render read, and whether it would still be valid.
struct Reading {
  Stamp stamp;
  Recorder recorder;

  [[nodiscard]] std::vector<ScopeId> ids() const {
    std::vector<ScopeId> ids{scopeId(kSiteScope)};  // every entry carries it (L5)
    for (const auto& name : recorder.scopes()) ids.push_back(scopeId(name));
    return ids;
  }
  [[nodiscard]] bool records(std::string_view scope) const {
    const auto& scopes = recorder.scopes();
    return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
  }
};

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { open(); }

  void open() {
    store_.reset();
    store_ = Store::open(options());
  }
  virtual StoreOptions options() {
    StoreOptions options;
    options.data_dir = dir_.file("var");
    options.clock = &clock_;
    options.map_scopes = 10'000;
    options.log = [this](LogLevel, std::string_view line) { log_.append(line).append("\n"); };
    return options;
  }

  [[nodiscard]] std::string file() const { return dir_.file("var/site.db"); }
  std::string outside(const std::string& sql) { return shell(file(), {sql}); }
  /// A change that no trigger sees.
  void sly(const std::string& sql) { shell(file(), {".dbconfig enable_trigger off", sql}); }

  Receipt create(const std::string& path, const std::string& title = "",
                 std::vector<std::string> tags = {}) {
    return store_->edit([&](Edit& edit) {
      Object object;
      object.path = path;
      object.type = "document";
      object.title = title;
      object.tags = std::move(tags);
      edit.create(object);
    });
  }
  Receipt retitle(const std::string& path, const std::string& title) {
    return store_->edit([&](Edit& edit) {
      Object object = *edit.open(path);
      object.title = title;
      edit.update(object, 0);
    });
  }

  template <class Read>
  Reading reading(Read&& read) {
    Reading r;
    const auto snapshot = store_->read();
    r.stamp = snapshot->stamp();
    read(*snapshot, r.recorder);
    return r;
  }
  Reading readObject(std::string_view path) {
    return reading([&](ReadSnapshot& s, ScopeSink& sink) { (void)s.object(path, sink); });
  }
  Reading readChildren(std::string_view path, const ChildrenQuery& query = {}) {
    return reading([&](ReadSnapshot& s, ScopeSink& sink) { (void)s.children(path, query, sink); });
  }
  Reading readRow(std::string_view table, std::int64_t id) {
    return reading([&](ReadSnapshot& s, ScopeSink& sink) { (void)s.row(table, id, sink); });
  }
  Reading readQuery(std::string_view sql, const Arguments& arguments = {}) {
    return reading([&](ReadSnapshot& s, ScopeSink& sink) { (void)s.query(sql, arguments, sink); });
  }
  Reading readScope(std::string_view scope) {
    return reading([&](ReadSnapshot&, ScopeSink& sink) { sink.scope(scope); });
  }
  std::string titleOf(std::string_view path) {
    Recorder recorder;
    const auto object = store_->read()->object(path, recorder);
    return object ? object->title : "(none)";
  }

  /// What a request that starts now would find.
  Verdict verdict(const Reading& r) {
    if (!store_->ledger().observe()) ADD_FAILURE() << "the ledger cannot observe: " << log_;
    return store_->ledger().judge(r.stamp, r.ids());
  }
  bool valid(const Reading& r) { return verdict(r) == Verdict::valid; }

  void schema(std::string_view app, std::vector<std::string> steps) {
    std::vector<SchemaStep> list;
    for (auto& sql : steps) list.push_back({static_cast<int>(list.size()) + 1, std::move(sql)});
    store_->installSchema(app, list);
  }

  larder::testing::TempDir dir_;
  larder::testing::ManualClock clock_;
  std::string log_;
  std::unique_ptr<Store> store_;
};

}  // namespace larder::site
