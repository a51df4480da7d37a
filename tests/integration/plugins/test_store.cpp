// A small correct byte cache in the memory of this process, shared by all instances, and by its
// setting `fault` a wrong one for each way that the conformance kit must notice.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "larder/plugin.h"

namespace {

using namespace larder;

constexpr std::size_t kLargest = 1 << 20;
constexpr SettingSpec kSettings[] = {
    {"prefix", SettingType::text, "", "Before every key."},
    {"fault", SettingType::text, "", "What is wrong with it."},
};
constexpr const char* kFaults[] = {
    "",           "keeps_refused", "text_only",    "empty_is_miss", "short_is_zero",
    "month_past", "no_expiry",     "add_replaces", "release_any",   "clears_all",
    "no_clear",   "no_erase",      "many_shifted", "borrows",       "takes_large",
    "no_stats",   "unhealthy"};

class TestStore final : public ByteCache {
 public:
  TestStore(Host& host, const Settings& settings)
      : clock_(host.clock()), prefix_(settings.text("prefix")), fault_(settings.text("fault")) {
    if (std::find(std::begin(kFaults), std::end(kFaults), fault_) == std::end(kFaults))
      throw std::invalid_argument("there is no fault '" + fault_ + "'");
  }

  ByteLookup get(std::string_view key, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    const Item* item = find(key);
    if (!item || (item->value->empty() && is("empty_is_miss"))) return {};
    std::string_view data = *item->value;
    if (is("text_only")) data = data.substr(0, data.find('\0'));
    if (is("borrows")) {
      static std::array<char, kLargest> lent;
      data.copy(lent.data(), lent.size());
      return {Status::hit, {nullptr, {lent.data(), data.size()}}, Reason::none};
    }
    return {Status::hit, {item->value, data}, Reason::none};
  }

  void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
               Deadline deadline) noexcept override {
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = get(keys[i], deadline);
    if (is("many_shifted") && out.size() > 1) std::swap(out.front(), out.back());
  }

  Stored put(std::string_view key, std::string_view value, Millis ttl, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (value.size() > kLargest && !is("takes_large")) {
      if (!is("keeps_refused")) items().erase(wire(key));
      return {false, Reason::too_large};
    }
    store(key, value, ttl);
    return {true, Reason::none};
  }

  Stored add(std::string_view key, std::string_view value, Millis ttl, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (find(key) && !is("add_replaces")) return {false, Reason::exists};
    store(key, value, ttl);
    return {true, Reason::none};
  }

  Stored release(std::string_view key, std::string_view expected, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    const Item* item = find(key);
    if (item && (*item->value == expected || is("release_any"))) items().erase(wire(key));
    return {true, Reason::none};
  }

  Stored erase(std::string_view key, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!is("no_erase")) items().erase(wire(key));
    return {true, Reason::none};
  }

  Stored clear(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    if (is("no_clear")) return {true, Reason::none};
    std::erase_if(items(), [&](const auto& item) {
      return is("clears_all") || item.first.starts_with(prefix_);
    });
    return {true, Reason::none};
  }

  [[nodiscard]] std::size_t maxValueBytes() const noexcept override { return kLargest; }
  [[nodiscard]] Stats stats() const noexcept override {
    const std::lock_guard lock(mutex_);
    if (is("no_stats")) return {};
    return {{"items", items().size()}};
  }
  [[nodiscard]] Health health() const noexcept override {
    return is("unhealthy") ? Health{false, "as told"} : Health{true, "in this process"};
  }

 private:
  struct Item {
    std::shared_ptr<const std::string> value;
    Millis until;
  };
  using Items = std::map<std::string, Item, std::less<>>;

  [[nodiscard]] bool is(std::string_view fault) const noexcept { return fault_ == fault; }
  static Items& items() {
    static Items all;
    return all;
  }
  [[nodiscard]] std::string wire(std::string_view key) const { return prefix_ + std::string(key); }
  [[nodiscard]] const Item* find(std::string_view key) const {
    const auto it = items().find(wire(key));
    if (it == items().end()) return nullptr;
    return clock_.monotonic() < it->second.until || is("no_expiry") ? &it->second : nullptr;
  }
  void store(std::string_view key, std::string_view value, Millis ttl) {
    if (ttl != kForever) ttl = (is("short_is_zero") ? ttl : ttl + 999) / 1000 * 1000;
    if (is("month_past") && ttl > Millis{2'592'000'000} && ttl != kForever) ttl = 0;
    items().insert_or_assign(wire(key), Item{std::make_shared<const std::string>(value),
                                             addMillis(clock_.monotonic(), ttl)});
  }

  const Clock& clock_;
  const std::string prefix_;
  const std::string fault_;
  static inline std::mutex mutex_;
};

}  // namespace

LARDER_PLUGIN(TestStore, larder::ByteCache, "TestStore", "1.0", LARDER_BYTE_CACHE,
              LARDER_BLOCKS | LARDER_SHARED | LARDER_LEASES, kSettings)
