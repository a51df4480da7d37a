#include "oracle.h"

namespace larder::simulate {

Ended& Oracle::end(std::size_t item, Version version) {
  if (version == 0) return absences_[item];
  if (version >= versions_.size()) versions_.resize(version + 1024);
  versions_[version].item = item;
  return versions_[version].ended;
}

void Oracle::change(std::size_t item, Version version, Moment now, Hardness hardness) {
  const auto old = state_.current[item];
  if (hardness == Hardness::soft) {
    end(item, old).soft = now;
    softly_ended_[item].push_back(old);
  } else {
    end(item, old).hard = now;
    for (const auto earlier : softly_ended_[item]) end(item, earlier).hard = now;
    softly_ended_[item].clear();
  }
  state_.current[item] = version;
  end(item, version) = {};
}

void Oracle::invalidate(std::string_view scope, Moment now, Hardness hardness) {
  auto& last = state_.scopes.try_emplace(std::string(scope), Ended{0, 0}).first->second;
  (hardness == Hardness::hard ? last.hard : last.soft) = now;
}

void Oracle::restore(const State& state, Moment now) {
  for (std::size_t item = 0; item < kItems; ++item) change(item, state.current[item], now);
  state_.scopes = state.scopes;
}

Ended Oracle::ended(std::size_t item, Version version) const noexcept {
  if (version == 0) return absences_[item];
  if (version >= versions_.size() || versions_[version].item != item) return {0, 0};
  return versions_[version].ended;
}

Ended Oracle::invalidated(const std::string& scope) const noexcept {
  const auto it = state_.scopes.find(scope);
  return it == state_.scopes.end() ? Ended{0, 0} : it->second;
}

}  // namespace larder::simulate
