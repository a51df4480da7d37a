#include "larder/cache/stopgap.h"

#include <utility>

namespace larder {

void Stopgap::keep(EntryPtr entry, Millis now) noexcept try {
  const std::size_t bytes = entry->weight();
  const std::lock_guard lock(mutex_);
  sweep(now);
  auto& kept = kept_[entry->digest];
  if (kept_.size() > kMost || bytes_ - kept.bytes + bytes > kMostBytes) {
    bytes_ -= kept.bytes;
    kept_.erase(entry->digest);
    return;
  }
  bytes_ += bytes - kept.bytes;
  kept = {std::move(entry), bytes, addMillis(now, kMoment)};
} catch (...) {  // then it is rendered again
}

EntryPtr Stopgap::find(const CacheKey& key, Millis now) {
  const std::lock_guard lock(mutex_);
  sweep(now);
  const auto it = kept_.find(key.digest);
  if (it == kept_.end() || it->second.entry->key() != key.bytes) return {};
  return it->second.entry;
}

void Stopgap::sweep(Millis now) noexcept {
  std::erase_if(kept_, [&](const auto& kept) {
    if (now < kept.second.until) return false;
    bytes_ -= kept.second.bytes;
    return true;
  });
}

}  // namespace larder
