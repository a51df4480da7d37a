#include "faulty_caches.h"

#include <algorithm>

namespace larder::simulate {

namespace {

constexpr std::size_t kOlderKept = 64;
constexpr std::size_t kLateKept = 16;
constexpr std::size_t kValuesKept = 600;

Buffer bufferOf(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::string_view data = *owner;
  return {std::move(owner), data};
}

template <class Map>
auto randomOf(Map& map, Random& dice) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(dice.below(map.size())));
}

template <class Map>
void evictFrom(Map& map, std::size_t count, Random& dice) {
  for (; count > 0 && !map.empty(); --count) map.erase(randomOf(map, dice));
}

}  // namespace

const std::string* ByteServer::find(const std::string& key) const {
  const auto it = values_.find(key);
  return it == values_.end() || clock_.monotonic() >= it->second.expires ? nullptr
                                                                         : &it->second.value;
}

const std::string* ByteServer::findOlder(const std::string& key) const {
  const auto it = std::find_if(older_.begin(), older_.end(),
                               [&](const auto& stored) { return stored.first == key; });
  return it == older_.end() ? nullptr : &it->second;
}

const std::string* ByteServer::any() const {
  return values_.empty() ? nullptr : &randomOf(values_, dice_)->second.value;
}

void ByteServer::store(const std::string& key, std::string_view value, Millis ttl) {
  older_.emplace_back(key, value);
  if (older_.size() > kOlderKept) older_.pop_front();
  values_.insert_or_assign(key, Slot{std::string(value), addMillis(clock_.monotonic(), ttl)});
  if (values_.size() > kValuesKept) evict(kValuesKept / 4);
}

bool ByteServer::add(const std::string& key, std::string_view value, Millis ttl) {
  if (find(key)) return false;
  values_.insert_or_assign(key, Slot{std::string(value), addMillis(clock_.monotonic(), ttl)});
  return true;
}

bool ByteServer::release(const std::string& key, std::string_view expected) {
  const auto* held = find(key);
  if (!held || *held != expected) return false;
  values_.erase(key);
  return true;
}

void ByteServer::storeLater(const std::string& key, std::string_view value, Millis ttl) {
  late_.push_back({key, std::string(value), ttl});
  if (late_.size() > kLateKept) deliver();
}

bool ByteServer::deliver() {
  if (late_.empty()) return false;
  std::swap(late_[dice_.below(late_.size())], late_.back());
  store(late_.back().key, late_.back().value, late_.back().ttl);
  late_.pop_back();
  return true;
}

void ByteServer::evict(std::size_t count) {
  evictFrom(values_, count, dice_);
}

bool FaultyBytes::fails() {
  if (dead_) return true;
  weather_.pause();
  if (dead_ || server_.down) return true;
  if (!weather_.dice.chance(10)) return false;
  ++weather_.faults;
  return true;
}

ByteLookup FaultyBytes::get(std::string_view key, Deadline) noexcept {
  if (fails()) return {Status::error, {}, Reason::timeout};
  const std::string name(key);
  const auto* found = server_.find(name);
  if (weather_.dice.chance(60)) {
    ++weather_.faults;
    switch (weather_.dice.below(6)) {
      case 0:
        return {};
      case 1:
        found = server_.any();
        break;
      case 2:
        if (found) {
          std::string damaged = *found;
          weather_.dice.oneOf(damaged) ^= static_cast<char>(1U << weather_.dice.below(8));
          return {Status::hit, bufferOf(std::move(damaged)), Reason::none};
        }
        break;
      default:
        found = server_.findOlder(name);
    }
  }
  if (!found) return {};
  return {Status::hit, bufferOf(*found), Reason::none};
}

void FaultyBytes::getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
                          Deadline deadline) noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i) out[i] = get(keys[i], deadline);
}

Stored FaultyBytes::put(std::string_view key, std::string_view value, Millis ttl,
                        Deadline) noexcept {
  const std::string name(key);
  if (fails()) {
    if (!dead_ && weather_.dice.chance(500))
      server_.storeLater(name, value, ttl);  // a time-out is no no
    return {false, Reason::timeout};
  }
  if (weather_.dice.chance(100)) {
    ++weather_.faults;
    switch (weather_.dice.below(3)) {
      case 0:
        return {true, Reason::none};  // lost
      case 1:
        server_.storeLater(name, value, ttl);
        return {true, Reason::none};
      default:
        server_.storeLater(name, value, ttl);  // and now
    }
  }
  server_.store(name, value, ttl);
  return {true, Reason::none};
}

Stored FaultyBytes::add(std::string_view key, std::string_view value, Millis ttl,
                        Deadline) noexcept {
  if (fails()) return {false, Reason::timeout};
  if (server_.add(std::string(key), value, ttl)) return {true, Reason::none};
  return {false, Reason::exists};
}

Stored FaultyBytes::release(std::string_view key, std::string_view expected, Deadline) noexcept {
  if (fails()) return {false, Reason::timeout};
  return {server_.release(std::string(key), expected), Reason::none};
}

Stored FaultyBytes::erase(std::string_view key, Deadline) noexcept {
  if (fails()) return {false, Reason::timeout};
  server_.erase(std::string(key));
  return {true, Reason::none};
}

Stored FaultyBytes::clear(Deadline) noexcept {
  if (fails()) return {false, Reason::timeout};
  server_.clear();
  return {true, Reason::none};
}

Lookup FaultyObjects::get(const CacheKey& key, Deadline) noexcept {
  weather_.pause();
  if (weather_.dice.chance(30)) {
    ++weather_.faults;
    if (weather_.dice.chance(300)) return {Status::error, {}, Reason::unreachable};
    if (weather_.dice.chance(300)) return {};
    const auto older = std::find_if(older_.begin(), older_.end(),
                                    [&](const auto& entry) { return entry->key() == key.bytes; });
    if (older != older_.end()) return {Status::hit, EntryRef(*older), Reason::none};
  }
  const auto it = entries_.find(key.bytes);
  if (it == entries_.end()) return {};
  return {Status::hit, EntryRef(it->second), Reason::none};
}

void FaultyObjects::store(EntryPtr entry) {
  older_.push_back(entry);
  if (older_.size() > kOlderKept) older_.pop_front();
  std::string key(entry->key());
  entries_.insert_or_assign(std::move(key), std::move(entry));
  if (entries_.size() > kValuesKept) evict(kValuesKept / 4);
}

Stored FaultyObjects::put(const CacheKey&, EntryPtr entry, Deadline) noexcept {
  weather_.pause();
  if (weather_.dice.chance(60)) {
    ++weather_.faults;
    if (weather_.dice.chance(300)) return {false, Reason::full};
    if (weather_.dice.chance(300)) return {true, Reason::none};  // lost
    late_.push_back(entry);
    if (late_.size() > kLateKept) deliver();
    if (weather_.dice.chance(500)) return {true, Reason::none};
  }
  store(std::move(entry));
  return {true, Reason::none};
}

Stored FaultyObjects::erase(const CacheKey& key, Deadline) noexcept {
  if (const auto it = entries_.find(key.bytes); it != entries_.end()) entries_.erase(it);
  return {true, Reason::none};
}

Stored FaultyObjects::clear(Deadline) noexcept {
  entries_.clear();
  return {true, Reason::none};
}

void FaultyObjects::evict(std::size_t count) {
  evictFrom(entries_, count, weather_.dice);
}

bool FaultyObjects::deliver() {
  if (late_.empty()) return false;
  std::swap(late_[weather_.dice.below(late_.size())], late_.back());
  store(std::move(late_.back()));
  late_.pop_back();
  return true;
}

}  // namespace larder::simulate
