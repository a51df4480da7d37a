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

  struct Opened {
    explicit Opened(const sqlite::ConnectionOptions& options) : connection(options) {}
    sqlite::Connection connection;
    sqlite::StatementCache<sqlite::Statement> statements;
  };
  class Access {
   public:
    explicit Access(StateDatabase& database);
    /// A kept statement; valid until the next call.
    [[nodiscard]] sqlite::Statement& operator()(std::string_view sql) {
      return opened_.statements.get(sql, [&] { return sqlite::Statement(connection(), sql); });
    }
    [[nodiscard]] sqlite::Connection& connection() noexcept { return opened_.connection; }
    /// Rows that the last statement changed.
    [[nodiscard]] bool changed() noexcept { return sqlite3_changes64(connection().handle()) > 0; }

   private:
    std::lock_guard<std::mutex> lock_;
    Opened& opened_;
  };

  /// `work(access)` sees all that was committed before.
  template <class Work>
  auto read(Work&& work) {
    // What took the file's place may have been of no use: says so, unless there is a good one now.
    if (!isOpen()) refresh();
    Access access(*this);
    return work(access);
  }
  /// In one transaction, rolled back when `work` throws.
  template <class Work>
  auto write(Work&& work) {
    auto lock = hold();
    followFile();
    Access access(*this);
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
  [[nodiscard]] bool isOpen();
  /// While the lock file is held, as all that changes `opened_`.
  void followFile();

  StateOptions options_;
  std::filesystem::path file_;
  std::mutex lock_mutex_;
  std::shared_ptr<WriterLock> lock_;
  std::mutex mutex_;                // guards all below
  std::unique_ptr<Opened> opened_;  // null after the file was replaced by one of no use
};

}  // namespace larder::site
