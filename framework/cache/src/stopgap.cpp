#include "larder/cache/stopgap.h"

#include <utility>

namespace larder {

void Stopgap::keep(EntryPtr entry, Millis now) noexcept try {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kMost)
    std::erase_if(kept_, [now](const auto& kept) { return now >= kept.second.until; });
  if (kept_.size() >= kMost) return;
  const auto digest = entry->digest;
  kept_[digest] = {std::move(entry), addMillis(now, kMoment)};
} catch (...) {  // then it is rendered again
}

EntryPtr Stopgap::find(const CacheKey& key, Millis now) {
  const std::lock_guard lock(mutex_);
  const auto it = kept_.find(key.digest);
  if (it == kept_.end()) return {};
  if (now < it->second.until && it->second.entry->key() == key.bytes) return it->second.entry;
  kept_.erase(it);
  return {};
}

}  // namespace larder
