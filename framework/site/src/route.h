// Route: what answers a path, and how it is cached. Found once, then reused as long as the ledger
// says that nothing it was found from has changed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "larder/cache/engine.h"
#include "larder/cache/ledger.h"
#include "larder/cache/normaliser.h"
#include "larder/site/site.h"

namespace larder::site {

/// A view together with a manager and the settings that apply.
struct Binding {
  ManagerPtr manager;  ///< null: not cached
  Policy policy;
  /// Of this view under this revision and these normalisers: what other code read, or read
  /// otherwise, splits nothing. Declared keys have a set of their own.
  std::shared_ptr<LearnedInputs> inputs;
  std::uint64_t revision = 0;  ///< SiteConfig's
  std::vector<Normaliser> normalisers;
  const Resolved* rules = nullptr;  ///< null: no rules are configured
  mutable Trust trust;

  /// How the view sees this input; null: as it came.
  [[nodiscard]] const Normaliser* normaliser(std::string_view input) const noexcept;
};

/// What is known of a view over all configurations.
struct ViewMemory {
  Counters counters;
  RenderGate renders;
  /// It has answered with a document: over HTTP its JSON form is asked for at once, so that a hit
  /// is one look-up.
  std::atomic<bool> yields_document{false};
};

struct Route {
  std::shared_ptr<const Configured> config;  ///< keeps the definitions alive
  const Mount* mount = nullptr;
  const ViewDefinition* view = nullptr;
  const ActionDefinition* action = nullptr;
  std::string path;  ///< of the object, or as matched by the app's route
  std::vector<std::pair<std::string, std::string>> variables;
  std::string definition;      ///< Target's
  std::uint64_t revision = 0;  ///< Target's
  bool named = false;  ///< the view or action was asked for by name, not as what the object is
  std::shared_ptr<const Binding> binding;
  ViewMemory* memory = nullptr;
  ObjectCounters* counters = nullptr;  ///< of this view of this object
  std::uint32_t partition = 0;
  // What it was found from.
  Stamp stamp;
  std::vector<ScopeId> scopes;
  std::vector<std::string> scope_names;
  mutable std::atomic<std::uint64_t> validated_at{0};
  // Which render was offered to the publisher last, and from when on it is offered again.
  mutable std::atomic<std::uint64_t> offered{0};
  mutable std::atomic<Millis> offer_again{0};

  [[nodiscard]] Target target(std::string_view site, std::string_view view_name) const noexcept;
};

/// Bounded; thread-safe.
class RouteCache {
 public:
  using RoutePtr = std::shared_ptr<const Route>;

  [[nodiscard]] RoutePtr find(std::string_view full_path) const {
    const Shard& s = shard(full_path);
    const std::lock_guard lock(s.mutex);
    const auto it = s.routes.find(full_path);
    return it == s.routes.end() ? nullptr : it->second;
  }
  void put(std::string_view full_path, RoutePtr route) {
    Shard& s = shard(full_path);
    const std::lock_guard lock(s.mutex);
    if (s.routes.size() >= kPerShard) s.routes.clear();
    s.routes.insert_or_assign(std::string(full_path), std::move(route));
  }
  void clear() {
    for (auto& s : shards_) {
      const std::lock_guard lock(s.mutex);
      s.routes.clear();
    }
  }

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kPerShard = 4096;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return static_cast<std::size_t>(hash64(s));
    }
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, RoutePtr, Hash, std::equal_to<>> routes;
  };
  [[nodiscard]] Shard& shard(std::string_view path) noexcept {
    return shards_[hash64(path) >> 60U];
  }
  [[nodiscard]] const Shard& shard(std::string_view path) const noexcept {
    return shards_[hash64(path) >> 60U];
  }
  std::array<Shard, kShards> shards_;
};

}  // namespace larder::site
