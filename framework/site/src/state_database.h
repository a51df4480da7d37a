// The connection of State: one per process, under a mutex; writes under the lock file too (L13).
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "larder/site/state.h"
#include "sqlite.h"
#include "sqlite_statements.h"
#include "writer_lock.h"

namespace larder::site {

/// Thread-safe.
class StateDatabase {
 public:
  explicit StateDatabase(StateOptions options);

  [[nodiscard]] const StateOptions& options() const noexcept { return options_; }
  [[nodiscard]] Millis now() const noexcept { return options_.clock->wall(); }

  class Access {
   public:
    explicit Access(StateDatabase& database) : database_(database), lock_(database.mutex_) {}
    /// A kept statement; valid until the next call.
    [[nodiscard]] sqlite::Statement& operator()(std::string_view sql) {
      return database_.statements_->get(
          sql, [&] { return sqlite::Statement(*database_.connection_, sql); });
    }
    [[nodiscard]] sqlite::Connection& connection() noexcept { return *database_.connection_; }
    /// Rows that the last statement changed.
    [[nodiscard]] bool changed() noexcept { return sqlite3_changes64(connection().handle()) > 0; }

   private:
    StateDatabase& database_;
    std::lock_guard<std::mutex> lock_;
  };

  /// `work(access)` sees all that was committed before.
  template <class Work>
  auto read(Work&& work) {
    Access access(*this);
    return work(access);
  }
  /// In one transaction, rolled back when `work` throws.
  template <class Work>
  auto write(Work&& work) {
    auto lock = hold();
    Access access(*this);
    followFile();
    sqlite::Transaction transaction(access.connection(), true);
    if constexpr (std::is_void_v<decltype(work(access))>) {
      work(access);
      transaction.commit();
    } else {
      auto result = work(access);
      transaction.commit();
      return result;
    }
  }
  void checkpoint();
  /// Opens the file anew if it was replaced.
  void refresh();

 private:
  struct Holding {
    std::shared_ptr<WriterLock> lock;
    WriterLock::Held held;
  };
  [[nodiscard]] Holding hold();
  void followFile();
  void connect();

  StateOptions options_;
  std::filesystem::path file_;
  std::mutex lock_mutex_;
  std::shared_ptr<WriterLock> lock_;
  std::mutex mutex_;  // guards all below
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<sqlite::StatementCache<sqlite::Statement>> statements_;
};

}  // namespace larder::site
