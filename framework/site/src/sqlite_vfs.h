// A VFS that is the default one but for counting, per thread, how often SQLite asks for the time.
#pragma once

#include <cstdint>

namespace larder::site::sqlite {

/// Name of the VFS; registers it with SQLite at the first call.
[[nodiscard]] const char* clockWatchingVfs();
/// How often SQLite asked for the time on this thread so far: a statement during which it grew read
/// the clock (L17).
[[nodiscard]] std::uint64_t clockReads() noexcept;

}  // namespace larder::site::sqlite
