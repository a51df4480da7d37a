// The smallest cache that keeps the contract: a map and a lock. When it is full, it starts again.
#include <larder/plugin.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace {

class SampleCache final : public larder::Cache {
 public:
  SampleCache(larder::Host& host, const larder::Settings& settings)
      : clock_(host.clock()),
        max_entries_(static_cast<std::size_t>(settings.integer("max_entries"))) {}

  larder::Lookup get(const larder::CacheKey& key, larder::Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(std::string(key.bytes));
    if (found == entries_.end()) return {};
    if (found->second->lifetime.end() <= clock_.monotonic()) {
      entries_.erase(found);
      return {larder::Status::miss, {}, larder::Reason::expired};
    }
    return {larder::Status::hit, found->second, larder::Reason::none};
  }

  larder::Stored put(const larder::CacheKey& key, larder::EntryPtr entry,
                     larder::Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= max_entries_) entries_.clear();
    entries_.insert_or_assign(std::string(key.bytes), std::move(entry));
    return {true, larder::Reason::none};
  }

  larder::Stored erase(const larder::CacheKey& key, larder::Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    entries_.erase(std::string(key.bytes));
    return {true, larder::Reason::none};
  }

  larder::Stored clear(larder::Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    return {true, larder::Reason::none};
  }

  [[nodiscard]] larder::Stats stats() const noexcept override {
    const std::lock_guard lock(mutex_);
    return {{"entries", entries_.size()}};
  }

  [[nodiscard]] larder::Health health() const noexcept override { return {}; }

 private:
  const larder::Clock& clock_;
  const std::size_t max_entries_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, larder::EntryPtr> entries_;
};

constexpr larder::SettingSpec kSettings[] = {
    {"max_entries", larder::SettingType::integer, "10000", "Entries held at once."}};

}  // namespace

LARDER_PLUGIN(SampleCache, larder::Cache, "SampleCache", "1.0", LARDER_OBJECT_CACHE, 0, kSettings)
