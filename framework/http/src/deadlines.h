// Deadlines: one for each of many connections, each of a few kinds with one duration per kind.
//
// Since all deadlines of a kind last equally long, a list in order of arming is in order of expiry:
// arming, disarming and finding the next one take constant time, with 10 connections or 10,000.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "larder/clock.h"

namespace larder::http {

enum class DeadlineKind : std::uint8_t { idle, head, body, queue, write, linger, none };
inline constexpr std::size_t kDeadlineKinds = 6;

/// What a connection inherits from.
struct DeadlineNode {
  DeadlineNode* previous = nullptr;
  DeadlineNode* next = nullptr;
  Millis due = 0;
  DeadlineKind kind = DeadlineKind::none;
};

class Deadlines {
 public:
  explicit Deadlines(const std::array<Millis, kDeadlineKinds>& durations) : durations_(durations) {}

  /// Also takes the node out of another list.
  void arm(DeadlineNode& node, DeadlineKind kind, Millis now) noexcept {
    List& list = listOf(kind);
    const Millis due = addMillis(now, durations_[static_cast<std::size_t>(kind)]);
    if (node.kind == kind && list.last == &node) {
      node.due = due;
      return;
    }
    disarm(node);
    node.kind = kind;
    node.due = due;
    node.previous = list.last;
    node.next = nullptr;
    (list.last != nullptr ? list.last->next : list.first) = &node;
    list.last = &node;
  }

  void disarm(DeadlineNode& node) noexcept {
    if (node.kind == DeadlineKind::none) return;
    List& list = listOf(node.kind);
    (node.previous != nullptr ? node.previous->next : list.first) = node.next;
    (node.next != nullptr ? node.next->previous : list.last) = node.previous;
    node.kind = DeadlineKind::none;
  }

  /// A node that is due, or null. The caller disarms it or arms it again.
  [[nodiscard]] DeadlineNode* due(Millis now) const noexcept {
    for (const List& list : lists_) {
      if (list.first != nullptr && list.first->due <= now) return list.first;
    }
    return nullptr;
  }

  /// When the next one is due; kForever when none is armed.
  [[nodiscard]] Millis next() const noexcept {
    Millis next = kForever;
    for (const List& list : lists_) {
      if (list.first != nullptr) next = std::min(next, list.first->due);
    }
    return next;
  }

  /// The one that was armed longest ago, or null.
  [[nodiscard]] DeadlineNode* oldest(DeadlineKind kind) const noexcept {
    return lists_[static_cast<std::size_t>(kind)].first;
  }

 private:
  struct List {
    DeadlineNode* first = nullptr;
    DeadlineNode* last = nullptr;
  };
  List& listOf(DeadlineKind kind) noexcept { return lists_[static_cast<std::size_t>(kind)]; }

  std::array<Millis, kDeadlineKinds> durations_;
  std::array<List, kDeadlineKinds> lists_{};
};

}  // namespace larder::http
