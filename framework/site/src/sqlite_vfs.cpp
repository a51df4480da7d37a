#include "sqlite_vfs.h"

#include <sqlite3.h>

namespace larder::site::sqlite {

namespace {

thread_local std::uint64_t clock_reads = 0;

sqlite3_vfs* base() noexcept {
  static sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  return vfs;
}

int currentTime(sqlite3_vfs*, sqlite3_int64* millis) {
  ++clock_reads;
  return base()->xCurrentTimeInt64(base(), millis);
}

// SQLite's registry of VFSs belongs to the process, and so does what is registered there.
sqlite3_vfs* watching() noexcept {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs copy = *base();
    copy.zName = "larder-clock";
    copy.pNext = nullptr;
    copy.xCurrentTimeInt64 = currentTime;
    return copy;
  }();
  return &vfs;
}

}  // namespace

const char* clockWatchingVfs() {
  static const int registered = sqlite3_vfs_register(watching(), 0);
  return registered == SQLITE_OK ? watching()->zName : nullptr;
}

std::uint64_t clockReads() noexcept {
  return clock_reads;
}

}  // namespace larder::site::sqlite
