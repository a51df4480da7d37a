// WarmStart: keeps the most used entries of the managers with `snapshot = "file"` in files of the
// data folder, and gives them back at the start.
//
// Restores in the background, saves in the background at each interval and once more at the end. A
// manager's file is not written before it has been read, so that a process which ends at once does
// not lose what the one before it kept.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/entry_file.h"
#include "larder/executor.h"
#include "larder/server/managers.h"

namespace larder::server {

/// All functions may be called by any thread.
class WarmStart {
 public:
  struct Lent {
    const Clock& clock;
    Executor& executor;
    std::function<void(LogLevel, std::string_view)> log;
    std::function<Result<>(Page&)> finish;
  };
  /// Files lie in `folder`; each worker of a site has its own.
  WarmStart(Lent lent, std::filesystem::path folder, std::string site_name, int worker);

  /// The managers from now on; those that are new are given what was kept.
  void adopt(const ManagerSet& set);
  /// Saves in the background what is due.
  void tick();
  /// Saves all before it returns.
  void saveAll();

 private:
  /// Of a manager and of what replaces it with other settings: both may be at work for a while.
  struct File {
    EntryFile entries;
    std::mutex mutex;  ///< one reads or writes it
  };
  struct Kept {
    std::string name;  ///< for people
    std::shared_ptr<Cache> cache;
    SnapshotPlan plan;
    std::shared_ptr<File> file;
    bool restored = false;  ///< guarded by the file's mutex
    Millis next_save = 0;
  };
  void restore(Kept& kept) noexcept;
  void save(Kept& kept) noexcept;

  const Lent lent_;
  const std::filesystem::path folder_;
  const std::string site_name_;
  const int worker_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Kept>> kept_;
  std::map<std::string, std::shared_ptr<File>> files_;  ///< by name space
};

}  // namespace larder::server
