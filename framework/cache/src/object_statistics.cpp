#include "larder/cache/object_statistics.h"

namespace larder {

std::uint64_t ObjectCounters::total(Kind kind) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& stripe : stripes_)
    sum += stripe.values[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t ObjectCounters::lookups() const noexcept {
  std::uint64_t sum = 0;
  for (const auto kind : {Kind::hits, Kind::stale, Kind::misses, Kind::coalesced, Kind::bypassed})
    sum += total(kind);
  return sum;
}

std::string_view objectKindName(ObjectCounters::Kind kind) noexcept {
  constexpr std::array<std::string_view, ObjectCounters::kKinds> kNames = {
      "hits", "stale", "misses", "coalesced", "bypassed", "renders", "refused", "saved_us"};
  return kNames[static_cast<std::size_t>(kind)];
}

ObjectCounters& ObjectStatistics::of(std::string_view path, std::string_view view) {
  const std::lock_guard lock(mutex_);
  auto it = objects_.find({std::string(path), std::string(view)});
  if (it == objects_.end()) {
    const bool room = objects_.size() < kMost;
    it = objects_
             .try_emplace(room ? std::pair{std::string(path), std::string(view)}
                               : std::pair<std::string, std::string>{})
             .first;
    if (!it->second) it->second = std::make_unique<ObjectCounters>();
  }
  return *it->second;
}

void ObjectStatistics::forEach(const std::function<void(std::string_view, std::string_view,
                                                        const ObjectCounters&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [place, counters] : objects_) visit(place.first, place.second, *counters);
}

void ObjectStatistics::beginPeriod() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [place, counters] : objects_) counters->beginPeriod();
}

}  // namespace larder
