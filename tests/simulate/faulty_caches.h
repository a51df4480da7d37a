// Caches that do what caches must be expected to do: lose values, store them late or twice, come
// back with old ones, mix keys up, damage bytes, fail, and say so or not.
//
// Nothing of it may make an answer wrong; a cache of entries must only never return one under
// another key.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.h"
#include "random.h"

namespace larder::simulate {

/// What the caches share with the world around them.
struct Weather {
  Random& dice;
  /// Called before each operation: others may run.
  std::function<void()> pause;
  std::uint64_t faults = 0;  ///< that were injected
};

/// A server of bytes that outlives the processes which use it.
class ByteServer {
 public:
  ByteServer(Random& dice, const Clock& clock) : dice_(dice), clock_(clock) {}

  [[nodiscard]] const std::string* find(const std::string& key) const;
  [[nodiscard]] const std::string* findOlder(const std::string& key) const;
  [[nodiscard]] const std::string* any() const;
  void store(const std::string& key, std::string_view value, Millis ttl);
  bool add(const std::string& key, std::string_view value, Millis ttl);
  bool release(const std::string& key, std::string_view expected);
  void erase(const std::string& key) { values_.erase(key); }
  void clear() { values_.clear(); }
  /// It is on its way and arrives at some later time.
  void storeLater(const std::string& key, std::string_view value, Millis ttl);
  /// One of those arrives; false if there is none.
  bool deliver();
  void remember() { remembered_ = values_; }
  /// Comes back as it was then.
  void goBack() { values_ = remembered_; }
  void evict(std::size_t count);

  bool down = false;

 private:
  struct Slot {
    std::string value;
    Millis expires = kForever;
  };
  struct Late {
    std::string key;
    std::string value;
    Millis ttl = kForever;
  };
  Random& dice_;
  const Clock& clock_;
  std::map<std::string, Slot> values_;
  std::map<std::string, Slot> remembered_;
  std::deque<std::pair<std::string, std::string>> older_;
  std::vector<Late> late_;
};

/// One process's way to it. `dead`: nothing that the process does arrives any more.
class FaultyBytes final : public ByteCache {
 public:
  FaultyBytes(ByteServer& server, Weather& weather, const bool& dead)
      : server_(server), weather_(weather), dead_(dead) {}

  ByteLookup get(std::string_view key, Deadline deadline) noexcept override;
  void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
               Deadline deadline) noexcept override;
  Stored put(std::string_view key, std::string_view value, Millis ttl,
             Deadline deadline) noexcept override;
  Stored add(std::string_view key, std::string_view value, Millis ttl,
             Deadline deadline) noexcept override;
  Stored release(std::string_view key, std::string_view expected,
                 Deadline deadline) noexcept override;
  Stored erase(std::string_view key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  [[nodiscard]] std::size_t maxValueBytes() const noexcept override { return 8'000; }
  [[nodiscard]] Stats stats() const noexcept override { return {}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }

 private:
  [[nodiscard]] bool fails();
  ByteServer& server_;
  Weather& weather_;
  const bool& dead_;
};

/// In one process.
class FaultyObjects final : public Cache {
 public:
  explicit FaultyObjects(Weather& weather) : weather_(weather) {}

  Lookup get(const CacheKey& key, Deadline deadline) noexcept override;
  Stored put(const CacheKey& key, EntryPtr entry, Deadline deadline) noexcept override;
  Stored erase(const CacheKey& key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  [[nodiscard]] Stats stats() const noexcept override { return {}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }
  void evict(std::size_t count);
  bool deliver();

 private:
  void store(EntryPtr entry);
  Weather& weather_;
  std::map<std::string, EntryPtr, std::less<>> entries_;
  std::deque<EntryPtr> older_;
  std::vector<EntryPtr> late_;
};

}  // namespace larder::simulate
