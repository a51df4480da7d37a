#include "ledger_compact.h"

#include <algorithm>
#include <unordered_map>

#include "ledger_expand.h"
#include "ledger_sqlite.h"

namespace larder::site {

// A floor stands for every scope of its bucket, so it may only say too much. Soft changes count as
// hard ones.
std::size_t foldLog(sqlite::Connection& connection, std::uint64_t keep_from, std::size_t limit) {
  LogExpander expander;
  std::uint64_t folded = 0;
  std::size_t count = 0;
  {
    sqlite::Statement oldest(connection,
                             "SELECT seq, scope, at IS NULL FROM larder_log WHERE seq < ?1 "
                             "ORDER BY seq LIMIT ?2");
    for (auto rows = oldest.run(keep_from, static_cast<std::int64_t>(limit)); rows.next();
         ++count) {
      folded = static_cast<std::uint64_t>(rows.integer(0));
      if (!isBookkeeping(rows.text(1)))
        expander.add(rows.text(1), folded, Hardness::hard, rows.integer(2) != 0);
    }
  }
  if (count == 0) return 0;
  std::unordered_map<std::uint64_t, std::uint64_t> floors;
  for (const auto& item : expander.take()) {
    auto& floor = floors[item.scope % kFloorBuckets];
    floor = std::max(floor, item.seq);
  }
  sqlite::Statement raise(connection,
                          "INSERT INTO larder_floor(bucket, seq) VALUES(?1, ?2) "
                          "ON CONFLICT(bucket) DO UPDATE SET seq = max(seq, excluded.seq)");
  for (const auto& [bucket, seq] : floors) raise.execute(bucket, seq);
  raise.execute(kFoldedRow, folded);
  sqlite::Statement(connection, "DELETE FROM larder_log WHERE seq <= ?1").execute(folded);
  return count;
}

}  // namespace larder::site
