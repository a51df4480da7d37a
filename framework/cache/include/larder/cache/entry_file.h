// EntryFile: the most used entries of a cache in this process, kept in a file, so that the next
// process does not begin with nothing.
//
//   EntryFile file("var/ram-3f2a.entries", "site-id /path fast", clock, finish);
//   file.save(*cache, 64 << 20);      // at the end, and now and then
//   auto restored = file.restore(*cache);
//
// The file: magic "LRDF", version 1, three zeros; XXH3-64 of everything behind it; digest of the
// name space (16 bytes); then the entries, the least used first: sizes of key and envelope and the
// partition (32 bits each), key, envelope (larder/cache/envelope.h). Numbers are little-endian.
//
// An entry from a file is believed no more than one from a cache: the ledger decides whether it is
// still valid. Private entries are not written. The cache must be enumerable. Saving and restoring
// take time and belong on a worker, one of them at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "larder/cache.h"
#include "larder/clock.h"
#include "larder/key.h"
#include "larder/result.h"

namespace larder {

class EntryFile {
 public:
  /// Completes a page that was read. The clock must outlive this.
  using Finish = std::function<Result<>(Page&)>;

  EntryFile(std::filesystem::path file, std::string_view name_space, const Clock& clock,
            Finish finish = {})
      : file_(std::move(file)),
        name_space_(digestOf(name_space)),
        clock_(clock),
        finish_(std::move(finish)) {}

  /// Replaces the file by one of entries that weigh at most `budget` bytes, in one step: whoever
  /// reads it, or the next process after a power failure, sees the old one or the new. Returns how
  /// many there are.
  [[nodiscard]] Result<std::size_t> save(Cache& cache, std::size_t budget) const;
  /// Removes what a process that was killed while it saved has left beside the file.
  void removeLeftovers() const noexcept;
  /// Puts the entries whose lifetime is not over into the cache and returns how many. None when
  /// there is no file; an error when it is damaged or another cache's, and the cache is as it was.
  [[nodiscard]] Result<std::size_t> restore(Cache& cache) const;

 private:
  std::filesystem::path file_;
  Digest name_space_;
  const Clock& clock_;
  Finish finish_;
};

}  // namespace larder
