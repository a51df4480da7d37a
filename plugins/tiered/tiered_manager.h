// TieredManager: a near cache over one further away, both of them other managers of the
// configuration.
//
// - A look-up asks the near one, then the far one, whose entry is kept in the near one: the same
//   entry, with the same end.
// - Validity is the ledger's, so the two need not agree: whoever judges the near one's entries asks
//   by getBehind().
// - Where the far one cannot be asked, hits of the near one stay hits, and its misses are errors.
// - Without time to wait nothing but the near one is asked.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "larder/cache.h"
#include "larder/host.h"
#include "larder/settings.h"

namespace larder::tiered {

class TieredManager final : public Cache {
 public:
  /// Throws std::runtime_error that names the setting.
  TieredManager(Host& host, const Settings& settings);

  Lookup get(const CacheKey& key, Deadline deadline) noexcept override;
  void getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
               Deadline deadline) noexcept override;
  void getBehind(std::span<const CacheKey> keys, std::span<Lookup> out, const Over& over,
                 Deadline deadline) noexcept override;
  /// Ok if one of them has it; the reason is the far one's.
  Stored put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept override;
  /// Ok if both are without it.
  Stored erase(const CacheKey& key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  /// Visits what the near one holds; what is expendable is removed from both.
  bool sweep(const Expendable& expendable, std::size_t budget) noexcept override;
  [[nodiscard]] Stats stats() const noexcept override;
  [[nodiscard]] Health health() const noexcept override;

 private:
  [[nodiscard]] bool hasTime(Deadline deadline) const noexcept {
    return deadline > clock_.monotonic();
  }
  /// What the far one said goes to `found`, which is what the near one said, unless that one holds
  /// something which is no worse; it is kept in the near one.
  void take(const CacheKey& key, Lookup&& far, const Over& over, Lookup& found,
            Deadline deadline) noexcept;

  const Clock& clock_;
  const std::shared_ptr<Cache> near_;
  const std::shared_ptr<Cache> far_;
  std::atomic<std::uint64_t> promoted_{0};
  std::atomic<std::uint64_t> replaced_{0};
  std::atomic<std::uint64_t> far_errors_{0};
};

}  // namespace larder::tiered
