// Writer: the one writing connection of this process, and what every write transaction has to do
// beside its work (L3, L6, L9, L13).
//
//   Receipt receipt = writer.commit("anna", [&](WriteTransaction& t) { t.connection ... });
//
// Thread-safe; one transaction at a time across processes. Work must not call the writer again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "larder/app.h"
#include "ledger_sqlite.h"
#include "sqlite_statements.h"
#include "store_access.h"
#include "store_database.h"
#include "writer_lock.h"

namespace larder::site {

struct WriteTransaction {
  sqlite::Connection& connection;
  WriteAccess& access;
  sqlite::StatementCache<sqlite::Statement>& statements;
  Millis now = 0;               ///< wall clock
  std::uint64_t head = 0;       ///< seq before the transaction
  bool schema_changed = false;  ///< set by work that does not change rows only
};

/// Makes the triggers of the ledger what the schema wants. For work that changes the schema; what
/// others changed is made good at the beginning of each transaction.
void repairTriggers(WriteTransaction& transaction, Database& database);

class Writer {
 public:
  using Work = std::function<void(WriteTransaction&)>;

  Writer(Database& database, SqliteLedger& ledger);
  ~Writer();

  /// Opens the file, makes its tables if it is new, checks it if it was not closed cleanly,
  /// attaches the ledger and begins an era.
  void open();
  /// The last process out writes the log back into the file and notes that it was closed cleanly.
  void close() noexcept;

  /// Commits what `work` changed; a transaction that changed nothing leaves no trace. On return the
  /// ledger knows it.
  Receipt commit(std::string_view by, const Work& work);
  /// Makes good what the ledger's drain found missing; also opens a file that was put in the place
  /// of the old one. Waits at most so long (ms) for other writers. True when the ledger is whole
  /// afterwards.
  bool repair(Millis patience);
  /// Writes the log back as far as readers allow if it has grown enough since the last time.
  void checkpointIfDue();
  /// Waits a little for readers and empties the log.
  void emptyLog();

 private:
  struct Note;
  struct Connected;
  class Holding;
  enum class EraChoice { keep, begin, begin_anew };

  [[nodiscard]] Holding hold(Millis patience);
  Receipt commitHeld(std::string_view by, const Work& work, EraChoice choice, bool unlogged);
  void followFile();
  void checkIntegrity();
  [[nodiscard]] bool lostHistory(const Note& note);
  std::uint64_t beginEra(std::uint64_t start, bool forget_others);
  std::uint64_t appendRow(std::string_view scope, std::string_view by, Millis at);
  void noteHead();
  void writeNote(WriterLock& lock, bool clean) noexcept;
  [[nodiscard]] std::optional<Note> readNote(WriterLock& lock);
  [[nodiscard]] bool checkpointDue() noexcept;
  void checkpointHeld(bool whole);

  Database& database_;
  SqliteLedger& ledger_;
  std::mutex lock_mutex_;
  std::shared_ptr<WriterLock> lock_;
  std::atomic<std::thread::id> owner_{};
  // Used only while the lock is held.
  std::unique_ptr<Connected> connected_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t last_fingerprint_ = 0;
  std::uint32_t last_pages_ = 0;
  std::uint32_t checkpoint_at_ = 0;
};

}  // namespace larder::site
