// Compaction of the ledger's log (L12).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sqlite.h"

namespace larder::site {

/// Folds the oldest rows below `keep_from`, at most `limit`, into persisted floors and deletes
/// them, inside a write transaction. The number of rows folded.
std::size_t foldLog(sqlite::Connection& connection, std::uint64_t keep_from, std::size_t limit);

}  // namespace larder::site
