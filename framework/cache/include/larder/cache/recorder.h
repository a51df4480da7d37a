// Recorder: notes, while a render runs, every request input it reads and every scope it depends on.
//
// One per render, used by one thread. A child's recording is merged into its parent's (also on a
// hit, from the child's entry), so that what a page depends on includes what its parts depend on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/clock.h"
#include "larder/entry.h"

namespace larder {

/// Where reads of content are recorded.
class ScopeSink {
 public:
  virtual ~ScopeSink() = default;
  virtual void scope(std::string_view name) = 0;
  /// An object, present or not: its own scope and the subtree scopes of it and every ancestor (L4).
  virtual void object(std::string_view path) = 0;
  /// Ambient state that SQL read: "now" or "random" (L17).
  virtual void input(std::string_view name) = 0;
  /// The result must not be stored: something was read that the ledger does not watch.
  virtual void refuse(std::string_view reason) = 0;
};

/// A set of scopes. They are hashes already, so that it needs no other.
class SeenScopes {
 public:
  /// False: it was there.
  bool insert(ScopeId scope);

 private:
  void grow();
  std::vector<ScopeId> slots_;  ///< a power of two of them, 0 for a free one
  std::size_t count_ = 0;
  bool has_zero_ = false;
};

class Recorder final : public ScopeSink {
 public:
  /// `name` in the notation of interfaces.md: "param:x", "params", "header:x" (lower case),
  /// "cookie:x", "host", "user", "roles", "session:x", "arg:0", "now", "random".
  void input(std::string_view name) override;
  void scope(std::string_view name) override;
  /// Several with their ids, in the same order.
  template <class Names>
  void scopes(std::span<const ScopeId> ids, const Names& names) {
    auto name = names.begin();
    for (const auto id : ids) {
      if (seen_.insert(id)) scopes_.emplace_back(*name);
      ++name;
    }
  }
  void refuse(std::string_view reason) override;
  void object(std::string_view path) override;
  /// Fresh no longer than `limit` ms (below 0: not at all), and no longer than until the wall clock
  /// time `until`.
  void limitMaxAge(Millis limit) noexcept { max_age_ = std::clamp<Millis>(limit, 0, max_age_); }
  void limitUntil(Millis wall) noexcept { until_ = wall < until_ ? wall : until_; }
  /// The same because of a part: it does not bound what the view itself read of the clock (L17).
  void limitByPart(Millis limit) noexcept { parts_age_ = limit < parts_age_ ? limit : parts_age_; }
  /// The result was made of a stale part and must not be stored (L19).
  void usedStale() { refuse("made of a stale part"); }

  /// Takes over what a child read; its arguments are its own.
  void merge(const Recorder& child);
  /// The same from a stored child: `remaining` is how long it stays fresh from now on.
  void merge(const CacheEntry& child, Millis remaining);

  [[nodiscard]] const std::vector<std::string>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<std::string>& scopes() const noexcept { return scopes_; }
  [[nodiscard]] bool isPrivate() const noexcept { return private_; }
  [[nodiscard]] bool readClock() const noexcept { return read_clock_; }
  /// The clock was read by a view that sets no bound of its own.
  [[nodiscard]] bool readClockUnbounded() const noexcept {
    return read_clock_ && max_age_ == kForever && until_ == kForever;
  }
  [[nodiscard]] Millis maxAge() const noexcept {
    return max_age_ < parts_age_ ? max_age_ : parts_age_;
  }
  [[nodiscard]] Millis until() const noexcept {
    return until_ < parts_until_ ? until_ : parts_until_;
  }
  /// Empty if the result may be stored as far as the render is concerned.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

 private:
  std::vector<std::string> inputs_;
  std::vector<std::string> scopes_;
  SeenScopes seen_;
  Millis max_age_ = kForever;
  Millis until_ = kForever;
  Millis parts_age_ = kForever;
  Millis parts_until_ = kForever;
  bool private_ = false;
  bool read_clock_ = false;
  std::string refusal_;
};

}  // namespace larder
