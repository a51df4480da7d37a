#include "larder/cache/cache_manager.h"

#include <utility>

#include "larder/cache/scope.h"

namespace larder {

CacheManager::CacheManager(Identity identity, Policy policy, std::shared_ptr<Cache> cache,
                           Waits waits, LeaseStore* leases)
    : identity_(std::move(identity)),
      policy_(std::move(policy)),
      cache_(std::move(cache)),
      waits_(waits),
      leases_(leases),
      scope_(managerScope(identity_.path, identity_.id)) {}

CacheManagerRegistry::CacheManagerRegistry(std::vector<ManagerPtr> managers,
                                           std::vector<FailedManager> failed)
    : managers_(std::move(managers)), failed_(std::move(failed)) {}

ManagerPtr CacheManagerRegistry::nearest(std::string_view path, const std::string_view* id) const {
  const auto matches = [&](const CacheManager::Identity& m) {
    return isAtOrBelow(path, m.path) && (id ? m.id == *id : m.is_default);
  };
  ManagerPtr best;
  std::size_t best_length = 0;
  for (const auto& m : managers_) {
    if (matches(m->identity()) && (!best || m->identity().path.size() > best_length)) {
      best = m;
      best_length = m->identity().path.size();
    }
  }
  // A nearer one that failed is not replaced by a farther one: its views were meant for that one,
  // and render uncached.
  for (const auto& f : failed_) {
    if (matches(f.identity) && (!best || f.identity.path.size() > best_length)) return nullptr;
  }
  return best;
}

ManagerPtr CacheManagerRegistry::acquire(std::string_view path, std::string_view id) const {
  return nearest(path, &id);
}
ManagerPtr CacheManagerRegistry::nearestDefault(std::string_view path) const {
  return nearest(path, nullptr);
}

bool isAtOrBelow(std::string_view path, std::string_view ancestor) noexcept {
  if (ancestor == "/") return true;
  return path.starts_with(ancestor) &&
         (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

}  // namespace larder
