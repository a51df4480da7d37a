#include "larder/site/state.h"

#include "state_impl.h"

namespace larder::site {

std::unique_ptr<State> State::open(StateOptions options) {
  return std::unique_ptr<State>(new State(std::make_unique<Impl>(std::move(options))));
}

State::State(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
State::~State() = default;

std::vector<std::string> State::learn(std::string_view view, std::span<const std::string> names) {
  return impl_->database.write([&](auto& db) {
    for (const auto& name : names)
      db("INSERT OR IGNORE INTO learned(view, name) VALUES(?1, ?2)").execute(view, name);
    std::vector<std::string> known;
    auto rows = db("SELECT name FROM learned WHERE view = ?1 ORDER BY name").run(view);
    while (rows.next()) known.emplace_back(rows.text(0));
    return known;
  });
}

std::map<std::string, std::vector<std::string>, std::less<>> State::learned() {
  return impl_->database.read([&](auto& db) {
    std::map<std::string, std::vector<std::string>, std::less<>> all;
    auto rows = db("SELECT view, name FROM learned ORDER BY view, name").run();
    while (rows.next()) all[std::string(rows.text(0))].emplace_back(rows.text(1));
    return all;
  });
}

void State::forgetLearned(std::string_view view) {
  impl_->database.write([&](auto& db) { db("DELETE FROM learned WHERE view = ?1").execute(view); });
}

void State::setSetting(std::string_view key, std::string_view value, std::string_view by) {
  const auto now = impl_->database.now();
  impl_->database.write([&](auto& db) {
    db("INSERT OR REPLACE INTO setting(key, value, at, by) VALUES(?1, ?2, ?3, ?4)")
        .execute(key, value, now, by);
  });
}

bool State::revertSetting(std::string_view key) {
  return impl_->database.write([&](auto& db) {
    db("DELETE FROM setting WHERE key = ?1").execute(key);
    return db.changed();
  });
}

std::vector<RuntimeSetting> State::settings() {
  return impl_->database.read([&](auto& db) {
    std::vector<RuntimeSetting> all;
    auto rows = db("SELECT key, value, at, by FROM setting ORDER BY key").run();
    while (rows.next()) {
      all.push_back({std::string(rows.text(0)), std::string(rows.text(1)), rows.integer(2),
                     std::string(rows.text(3))});
    }
    return all;
  });
}

std::optional<std::string> State::get(std::string_view space, std::string_view key) {
  return impl_->database.read([&](auto& db) -> std::optional<std::string> {
    auto row = db("SELECT value FROM small WHERE space = ?1 AND key = ?2").run(space, key);
    if (!row.next()) return {};
    return std::string(row.text(0));
  });
}

void State::put(std::string_view space, std::string_view key, std::string_view value) {
  impl_->database.write([&](auto& db) {
    auto& statement = db("INSERT OR REPLACE INTO small(space, key, value) VALUES(?1, ?2, ?3)");
    statement.execute(space, key, sqlite::Bytes{value});
  });
}

bool State::erase(std::string_view space, std::string_view key) {
  return impl_->database.write([&](auto& db) {
    db("DELETE FROM small WHERE space = ?1 AND key = ?2").execute(space, key);
    return db.changed();
  });
}

std::vector<std::pair<std::string, std::string>> State::list(std::string_view space) {
  return impl_->database.read([&](auto& db) {
    std::vector<std::pair<std::string, std::string>> all;
    auto rows = db("SELECT key, value FROM small WHERE space = ?1 ORDER BY key").run(space);
    while (rows.next()) all.emplace_back(rows.text(0), rows.text(1));
    return all;
  });
}

std::uint64_t State::version() {
  return impl_->database.read([&](auto& db) {
    auto row = db("PRAGMA data_version").run();
    row.next();
    return static_cast<std::uint64_t>(row.integer(0));
  });
}

void State::maintain() noexcept {
  try {
    const auto now = impl_->database.now();
    const auto window = impl_->database.options().throttle_window;
    impl_->database.refresh();
    const bool due = impl_->database.read([&](auto& db) {
      auto row = db("SELECT EXISTS(SELECT 1 FROM session WHERE expires < ?1) OR "
                    "EXISTS(SELECT 1 FROM attempt WHERE last < ?2)")
                     .run(now, now - window);
      return row.next() && row.integer(0) != 0;
    });
    if (due) {
      impl_->database.write([&](auto& db) {
        db("DELETE FROM session WHERE expires < ?1").execute(now);
        db("DELETE FROM attempt WHERE last < ?1").execute(now - window);
      });
    }
    impl_->database.checkpoint();
  } catch (const std::exception& error) {
    if (impl_->database.options().log) impl_->database.options().log(LogLevel::error, error.what());
  }
}

}  // namespace larder::site
