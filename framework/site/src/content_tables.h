// The tables of site.db: content, the ledger's log, eras and floors. Made once; a file says by
// application_id and user_version that it is ours and in which format.
//
// What triggers write into larder_log is in the vocabulary of larder/cache/scope.h. They only
// append, with values that cannot conflict: the conflict clause of an outer statement (INSERT OR
// IGNORE) replaces that of the statements in its triggers (L1).
#pragma once

#include <span>
#include <string_view>

#include "sqlite.h"

namespace larder::site {

/// Makes the tables in an empty file. Inside a write transaction.
void createContentTables(sqlite::Connection& connection, Millis now);

/// Whether the file holds nothing at all yet. Throws StoreError when it is not a file of this
/// format.
[[nodiscard]] bool checkFormat(sqlite::Connection& connection, const std::filesystem::path& file);

/// The statements that make the triggers of object and object_tag: "CREATE TRIGGER name ...", as
/// SQLite keeps them.
[[nodiscard]] std::span<const std::string_view> contentTriggers() noexcept;

/// Whether `table` is one of those made here, or of SQLite's own.
[[nodiscard]] bool isHostTable(std::string_view table) noexcept;
/// Whether no app may see it.
[[nodiscard]] bool isHiddenTable(std::string_view table) noexcept;

}  // namespace larder::site
