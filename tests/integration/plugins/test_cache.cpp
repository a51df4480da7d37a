// A small correct object cache, and by its setting `fault` a wrong one for each way that the
// conformance kit must notice.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "larder/plugin.h"

namespace {

using namespace larder;

constexpr SettingSpec kSettings[] = {
    {"max_size", SettingType::size, "64M", "Bytes that entries may take."},
    {"max_entry_size", SettingType::size, "4M", "An entry that takes more is not stored."},
    {"fault", SettingType::text, "", "What is wrong with it."},
};
constexpr const char* kFaults[] = {"",
                                   "other_key",
                                   "keeps_refused",
                                   "no_expiry",
                                   "early_expiry",
                                   "wall_time",
                                   "loses_type",
                                   "no_erase",
                                   "no_clear",
                                   "clears_all",
                                   "many_shifted",
                                   "ignores_limit",
                                   "sweeps_all",
                                   "no_sweep",
                                   "no_stats",
                                   "unhealthy",
                                   "loses_puts",
                                   "no_replace",
                                   "replaces_for_free",
                                   "replaces_twice",
                                   "keeps_by_thread",
                                   "mixes_threads"};

struct Order {
  bool operator()(const Digest& a, const Digest& b) const noexcept {
    return std::pair(a.high, a.low) < std::pair(b.high, b.low);
  }
};
using Entries = std::map<Digest, EntryPtr, Order>;

class TestCache final : public Cache {
 public:
  TestCache(Host& host, const Settings& settings)
      : clock_(host.clock()),
        limit_(settings.size("max_size")),
        entry_limit_(settings.size("max_entry_size")),
        fault_(settings.text("fault")) {
    if (std::find(std::begin(kFaults), std::end(kFaults), fault_) == std::end(kFaults))
      throw std::invalid_argument("there is no fault '" + fault_ + "'");
    const std::lock_guard lock(mutex_);
    all_.insert(this);
  }
  ~TestCache() override {
    const std::lock_guard lock(mutex_);
    all_.erase(this);
  }

  Lookup get(const CacheKey& key, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    static thread_local Entries seen;
    const auto it = entries_.find(key.digest);
    if (is("keeps_by_thread")) {
      if (it != entries_.end()) seen.emplace(*it);
      const auto known = seen.find(key.digest);
      if (known != seen.end()) return {Status::hit, EntryRef(known->second), Reason::none};
    }
    if (it == entries_.end()) return {};
    if (it->second->key() != key.bytes && !is("other_key"))
      return {Status::miss, {}, Reason::other_key};
    const Lifetime& life = it->second->lifetime;
    Millis now = clock_.monotonic();
    if (is("wall_time")) now = clock_.wall() - it->second->created_wall + life.created;
    if (now > (is("early_expiry") ? life.fresh_until : life.end()) && !is("no_expiry"))
      return {Status::miss, {}, Reason::expired};
    return {Status::hit, EntryRef(it->second), Reason::none};
  }

  void getMany(std::span<const CacheKey> keys, std::span<Lookup> out,
               Deadline deadline) noexcept override {
    Cache::getMany(keys, out, deadline);
    if (is("many_shifted") && out.size() > 1) std::swap(out.front(), out.back());
  }

  Stored put(const CacheKey& key, EntryPtr entry, Deadline) noexcept override {
    if (is("mixes_threads")) entry = withLastValue(*entry);
    const std::lock_guard lock(mutex_);
    if (entry->weight() > entry_limit_ && !is("ignores_limit")) {
      if (!is("keeps_refused")) drop(key.digest);
      return {false, Reason::too_large};
    }
    if (is("loses_puts") && (key.digest.low & 1) != 0) return {true, Reason::none};
    if (is("no_replace") && entries_.contains(key.digest)) return {true, Reason::none};
    if (is("loses_type")) entry = withoutType(*entry);
    const std::size_t before = size_;
    const bool replaces = entries_.contains(key.digest);
    drop(key.digest);
    size_ += entry->weight();
    if (replaces && is("replaces_for_free")) size_ = before;
    if (replaces && is("replaces_twice")) size_ = before + entry->weight();
    entries_.emplace(key.digest, std::move(entry));
    order_.push_back(key.digest);
    while (size_ > limit_ && !order_.empty() && !is("ignores_limit")) {
      drop(order_.front());
      order_.pop_front();
    }
    return {true, Reason::none};
  }

  Stored erase(const CacheKey& key, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is("no_erase")) drop(key.digest);
    return {true, Reason::none};
  }

  Stored clear(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (is("no_clear")) return {true, Reason::none};
    for (TestCache* cache : all_) {
      if (cache != this && !is("clears_all")) continue;
      cache->entries_.clear();
      cache->size_ = 0;
    }
    return {true, Reason::none};
  }

  bool sweep(const Expendable& expendable, std::size_t budget) noexcept override {
    if (is("no_sweep")) return false;
    for (; budget > 0; --budget) {
      EntryPtr entry;
      {
        const std::lock_guard lock(mutex_);
        const auto next = swept_ ? entries_.upper_bound(*swept_) : entries_.begin();
        if (next == entries_.end()) {
          swept_.reset();
          return false;
        }
        swept_ = next->first;
        entry = next->second;
      }
      if (!expendable(*entry) && !is("sweeps_all")) continue;
      const std::lock_guard lock(mutex_);
      drop(entry->digest);
    }
    return true;
  }

  [[nodiscard]] Stats stats() const noexcept override {
    const std::lock_guard lock(mutex_);
    if (is("no_stats")) return {};
    return {{"entries", entries_.size()}, {"bytes", size_}};
  }
  [[nodiscard]] Health health() const noexcept override {
    return is("unhealthy") ? Health{false, "as told"} : Health{true, "in this process"};
  }

 private:
  [[nodiscard]] bool is(std::string_view fault) const noexcept { return fault_ == fault; }

  void drop(const Digest& digest) noexcept {
    const auto it = entries_.find(digest);
    if (it == entries_.end()) return;
    size_ -= it->second->weight();
    entries_.erase(it);
  }

  static EntryPtr withValue(const CacheEntry& entry, Value value) {
    auto copy = CacheEntry::make({entry.key(), entry.digest, entry.partition});
    copy->lifetime = entry.lifetime;
    copy->value = std::move(value);
    return EntryPtr(std::move(copy));
  }

  /// The entry with 0 and false made null.
  static EntryPtr withoutType(const CacheEntry& entry) {
    const Node::Type type = entry.value.document().root().type();
    const bool loses = type == Node::Type::integer || type == Node::Type::boolean;
    return loses ? withValue(entry, {}) : EntryPtr(&entry);
  }

  /// The entry with the value that was put last, by whatever thread.
  EntryPtr withLastValue(const CacheEntry& entry) {
    {
      const std::lock_guard lock(mutex_);
      last_ = entry.value;
    }
    std::this_thread::yield();
    const std::lock_guard lock(mutex_);
    return withValue(entry, last_);
  }

  const Clock& clock_;
  const std::size_t limit_;
  const std::size_t entry_limit_;
  const std::string fault_;
  Entries entries_;
  std::deque<Digest> order_;
  std::size_t size_ = 0;
  std::optional<Digest> swept_;
  Value last_;

  static inline std::mutex mutex_;
  static inline std::set<TestCache*> all_;
};

}  // namespace

LARDER_PLUGIN(TestCache, larder::Cache, "TestCache", "1.0", LARDER_OBJECT_CACHE, LARDER_ENUMERABLE,
              kSettings)
