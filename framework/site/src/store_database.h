// What the parts of one store share.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "larder/site/store.h"
#include "ledger_schema.h"
#include "sqlite.h"

namespace larder::site {

struct Database {
  explicit Database(StoreOptions o)
      : options(std::move(o)),
        file(options.data_dir / "site.db"),
        lock_file(options.data_dir / "site.lock") {}

  [[nodiscard]] sqlite::ConnectionOptions connection(bool read_only) const {
    sqlite::ConnectionOptions c;
    c.file = file;
    c.read_only = read_only;
    c.full_sync = options.full_sync;
    c.busy_timeout = options.writer_wait;
    return c;
  }
  void log(LogLevel level, const std::string& message) const noexcept {
    if (options.log) options.log(level, message);
  }

  StoreOptions options;
  std::filesystem::path file;
  std::filesystem::path lock_file;
  LedgerSchemaCache schemas;
  /// Counts the files that were opened at the path; connections of an earlier one are not used
  /// again.
  std::atomic<std::uint64_t> generation{1};
  std::atomic<std::uint64_t> edits{0};
  std::atomic<std::uint64_t> snapshots{0};
  std::atomic<std::uint64_t> unlogged{0};
  std::atomic<std::uint64_t> rewinds{0};
};

}  // namespace larder::site
