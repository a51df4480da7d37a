#include "larder/cache/recorder.h"

#include <algorithm>
#include <utility>

#include "larder/cache/scope.h"

namespace larder {

namespace {

bool makesPrivate(std::string_view name) noexcept {
  return name == "user" || name == "roles" || name.starts_with("session:");
}

}  // namespace

bool SeenScopes::insert(ScopeId scope) {
  if (scope == 0) return !std::exchange(has_zero_, true);
  if (2 * (count_ + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = scope & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    if (slots_[at] == scope) return false;
  }
  slots_[at] = scope;
  ++count_;
  return true;
}

void SeenScopes::grow() {
  const auto old =
      std::exchange(slots_, std::vector<ScopeId>(std::max<std::size_t>(2 * slots_.size(), 32)));
  count_ = 0;
  for (const auto scope : old) {
    if (scope != 0) insert(scope);
  }
}

void Recorder::input(std::string_view name) {
  // Neither can be part of a key: time passes, and a random value never comes back.
  if (name == "now") {
    read_clock_ = true;
    return;
  }
  if (name == "random") {
    refuse("read a random value");
    return;
  }
  const auto at = std::lower_bound(inputs_.begin(), inputs_.end(), name);
  if (at != inputs_.end() && *at == name) return;
  inputs_.emplace(at, name);
  private_ |= makesPrivate(name);
}

void Recorder::scope(std::string_view name) {
  if (seen_.insert(scopeId(name))) scopes_.emplace_back(name);
}

void Recorder::refuse(std::string_view reason) {
  if (refusal_.empty()) refusal_ = reason.empty() ? "refused by the view" : reason;
}

void Recorder::object(std::string_view path) {
  scope(objectScope(path));
  for (; !path.empty(); path = parentPath(path)) scope(subtreeScope(path));
}

void Recorder::merge(const Recorder& child) {
  for (const auto& name : child.inputs_) {
    if (!name.starts_with("arg:")) input(name);
  }
  for (const auto& name : child.scopes_) scope(name);
  limitByPart(child.maxAge());
  parts_until_ = std::min(parts_until_, child.until());
  private_ |= child.private_;
  read_clock_ |= child.readClockUnbounded();
  if (!child.refusal_.empty()) refuse(child.refusal_);
}

void Recorder::merge(const CacheEntry& child, Millis remaining) {
  for (const auto& name : child.inputs()) {
    if (!name.starts_with("arg:")) input(name);
  }
  scopes(child.scopes(), child.scopeNames());
  limitByPart(remaining);
  private_ |= child.is_private;
}

}  // namespace larder
