#include "wal_index.h"

#include <array>
#include <bit>
#include <cstring>

namespace larder::site {

namespace {

constexpr std::uint32_t kKnownVersion = 3'007'000;
constexpr int kWalIndexRegion = 32'768;
constexpr sqlite3_int64 kLogHeader = 32;
constexpr int kFrameHeader = 24;

std::uint32_t bigEndian(const unsigned char* bytes) noexcept {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
         std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
}

/// As the wal-index holds them: the bytes of the log, taken for words of this machine.
std::uint64_t saltOf(const unsigned char* bytes) noexcept {
  std::array<std::uint32_t, 2> words{};
  std::memcpy(words.data(), bytes, sizeof words);
  return std::uint64_t{words[0]} << 32U | words[1];
}

}  // namespace

const std::uint32_t* WalIndex::map(sqlite3* connection) noexcept {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      !file || !file->pMethods || file->pMethods->iVersion < 2)
    return nullptr;
  void volatile* region = nullptr;
  if (file->pMethods->xShmMap(file, 0, kWalIndexRegion, 0, &region) != SQLITE_OK || !region)
    return nullptr;
  const auto* words = static_cast<const std::uint32_t*>(const_cast<void*>(region));
  return WalIndex(words).word(0) == kKnownVersion ? words : nullptr;
}

std::optional<WalCommits> readWalCommits(sqlite3* connection, std::uint32_t page_size,
                                         std::uint64_t salt, std::uint32_t first,
                                         std::uint32_t last, std::uint32_t page) {
  sqlite3_file* log = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
      !log || !log->pMethods)
    return std::nullopt;
  WalCommits commits;
  bool wrote = false;
  for (auto frame = first; frame < last; ++frame) {
    std::array<unsigned char, kFrameHeader> header{};
    const auto at = kLogHeader + sqlite3_int64{frame} * (kFrameHeader + sqlite3_int64{page_size});
    if (log->pMethods->xRead(log, header.data(), kFrameHeader, at) != SQLITE_OK ||
        saltOf(&header[8]) != salt)
      return std::nullopt;
    wrote |= bigEndian(header.data()) == page;
    const bool ends_commit = bigEndian(&header[4]) != 0;
    if (!ends_commit) continue;
    ++commits.count;
    commits.all_wrote &= wrote;
    wrote = false;
  }
  return commits;
}

}  // namespace larder::site
