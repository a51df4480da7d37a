// Simulators of eviction policies, for the hit ratios that RAMCache is compared with. A request has
// a number for its key and a size; a policy holds keys up to a total size.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace larder::bench {

struct Request {
  std::uint32_t key;
  std::uint32_t size;
  /// Position of the key's next request; kNever when there is none.
  std::uint32_t next;
};
inline constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

class Simulator {
 public:
  virtual ~Simulator() = default;
  /// True on a hit; on a miss the policy may take the key in.
  virtual bool access(const Request& request) = 0;
};

/// Keys in lists, newest first. Where a key is and how often it was used, is kept by its number.
class Lists : public Simulator {
 protected:
  struct Key {
    std::uint32_t newer = kNever;
    std::uint32_t older = kNever;
    std::uint32_t size = 0;
    std::uint8_t list = 0;
    std::uint8_t uses = 0;
  };
  struct List {
    std::uint32_t newest = kNever;
    std::uint32_t oldest = kNever;
    std::uint64_t size = 0;
    [[nodiscard]] bool empty() const { return oldest == kNever; }
  };
  Lists(std::size_t keys, std::uint64_t capacity) : keys_(keys), capacity_(capacity) {}

  void push(std::uint8_t list, std::uint32_t key) {
    List& l = lists_[list];
    keys_[key].list = list;
    keys_[key].newer = kNever;
    keys_[key].older = l.newest;
    (l.newest == kNever ? l.oldest : keys_[l.newest].newer) = key;
    l.newest = key;
    l.size += keys_[key].size;
  }
  void take(std::uint32_t key) {
    Key& k = keys_[key];
    List& l = lists_[k.list];
    (k.newer == kNever ? l.newest : keys_[k.newer].older) = k.older;
    (k.older == kNever ? l.oldest : keys_[k.older].newer) = k.newer;
    l.size -= k.size;
    k.list = 0;
  }
  void use(std::uint32_t key, std::uint8_t most) {
    if (keys_[key].uses < most) ++keys_[key].uses;
  }

  std::vector<Key> keys_;
  const std::uint64_t capacity_;
  /// List 0 is for keys that are not held.
  std::array<List, 5> lists_;
};

class FifoSim : public Lists {
 public:
  FifoSim(std::size_t keys, std::uint64_t capacity, bool lru) : Lists(keys, capacity), lru_(lru) {}
  bool access(const Request& r) override {
    if (keys_[r.key].list != 0) {
      if (lru_) {
        take(r.key);
        push(1, r.key);
      }
      return true;
    }
    if (r.size > capacity_) return false;
    while (lists_[1].size + r.size > capacity_) take(lists_[1].oldest);
    keys_[r.key].size = r.size;
    push(1, r.key);
    return false;
  }

 private:
  const bool lru_;
};

class SieveSim : public Lists {
 public:
  using Lists::Lists;
  SieveSim(std::size_t keys, std::uint64_t capacity) : Lists(keys, capacity) {}
  bool access(const Request& r) override {
    if (keys_[r.key].list != 0) {
      use(r.key, 1);
      return true;
    }
    if (r.size > capacity_) return false;
    while (lists_[1].size + r.size > capacity_) evict();
    keys_[r.key].size = r.size;
    keys_[r.key].uses = 0;
    push(1, r.key);
    return false;
  }

 private:
  void evict() {
    std::uint32_t at = hand_ == kNever ? lists_[1].oldest : hand_;
    while (keys_[at].uses != 0) {
      keys_[at].uses = 0;
      at = keys_[at].newer == kNever ? lists_[1].oldest : keys_[at].newer;
    }
    hand_ = keys_[at].newer;
    take(at);
  }
  std::uint32_t hand_ = kNever;
};

/// As published: small queue of a tenth, promoted with `threshold` uses (2 in the paper).
class S3FifoSim : public Lists {
 public:
  S3FifoSim(std::size_t keys, std::uint64_t capacity, std::uint8_t threshold)
      : Lists(keys, capacity), threshold_(threshold), ghost_(keys, false) {}
  bool access(const Request& r) override {
    if (keys_[r.key].list != 0) {
      use(r.key, 3);
      return true;
    }
    if (r.size > capacity_) return false;
    const bool known = ghost_[r.key];
    while (lists_[kSmall].size + lists_[kMain].size + r.size > capacity_) evict();
    keys_[r.key].size = r.size;
    keys_[r.key].uses = 0;
    push(known ? kMain : kSmall, r.key);
    return false;
  }

 private:
  static constexpr std::uint8_t kSmall = 1;
  static constexpr std::uint8_t kMain = 2;

  void evict() {
    if (!lists_[kSmall].empty() &&
        (lists_[kMain].empty() || lists_[kSmall].size * 10 >= capacity_)) {
      const auto key = lists_[kSmall].oldest;
      take(key);
      if (keys_[key].uses >= threshold_) {
        keys_[key].uses = 0;
        push(kMain, key);
        return;
      }
      remember(key);
      return;
    }
    const auto key = lists_[kMain].oldest;
    take(key);
    if (keys_[key].uses == 0) return;
    --keys_[key].uses;
    push(kMain, key);
  }
  void remember(std::uint32_t key) {
    if (ghost_[key]) return;
    ghost_[key] = true;
    order_.push_front(key);
    order_size_ += keys_[key].size;
    while (order_size_ > capacity_ * 9 / 10 && !order_.empty()) {
      ghost_[order_.back()] = false;
      order_size_ -= keys_[order_.back()].size;
      order_.pop_back();
    }
  }

  const std::uint8_t threshold_;
  std::vector<bool> ghost_;
  std::list<std::uint32_t> order_;
  std::uint64_t order_size_ = 0;
};

/// W-TinyLFU: a window, then a segmented LRU that a key enters only if it was asked for more often
/// than those it would push out.
class TinyLfuSim : public Lists {
 public:
  TinyLfuSim(std::size_t keys, std::uint64_t capacity, double window, std::size_t entries)
      : Lists(keys, capacity),
        window_(std::max<std::uint64_t>(
            1, static_cast<std::uint64_t>(static_cast<double>(capacity) * window))),
        protected_((capacity - window_) * 8 / 10),
        sketch_(std::bit_ceil(std::max<std::size_t>(entries, 16)) * 4, 0),
        period_(10 * std::max<std::size_t>(entries, 16)) {}
  bool access(const Request& r) override {
    count(r.key);
    switch (keys_[r.key].list) {
      case kWindow:
        take(r.key);
        push(kWindow, r.key);
        return true;
      case kProbation:
      case kProtected:
        take(r.key);
        push(kProtected, r.key);
        while (lists_[kProtected].size > protected_) {
          const auto key = lists_[kProtected].oldest;
          take(key);
          push(kProbation, key);
        }
        return true;
      default:
        break;
    }
    if (r.size > capacity_) return false;
    keys_[r.key].size = r.size;
    push(kWindow, r.key);
    while (lists_[kWindow].size > window_) leaveWindow(lists_[kWindow].oldest);
    return false;
  }

 private:
  static constexpr std::uint8_t kWindow = 1;
  static constexpr std::uint8_t kProbation = 2;
  static constexpr std::uint8_t kProtected = 3;

  /// One of a key's four counters of the count-min sketch.
  std::uint8_t& counter(std::uint32_t key, unsigned row) {
    std::uint64_t h = (key + 1) * 0x9E3779B97F4A7C15U + row * 0xC2B2AE3D27D4EB4FU;
    h = (h ^ h >> 32U) * 0xD6E8FEB86659FD93U;
    const auto rows = sketch_.size() / 4;
    return sketch_[row * rows + (h >> 32U) % rows];
  }
  unsigned countOf(std::uint32_t key) {
    unsigned least = 15;
    for (unsigned row = 0; row < 4; ++row) least = std::min<unsigned>(least, counter(key, row));
    return least;
  }
  void count(std::uint32_t key) {
    for (unsigned row = 0; row < 4; ++row) {
      auto& c = counter(key, row);
      if (c < 15) ++c;
    }
    if (++counted_ < period_) return;
    for (auto& c : sketch_) c /= 2;
    counted_ /= 2;
  }
  void leaveWindow(std::uint32_t key) {
    take(key);
    const std::uint64_t room = capacity_ - window_;
    const std::uint64_t size = keys_[key].size;
    if (size > room) return;
    while (lists_[kProbation].size + lists_[kProtected].size + size > room) {
      const auto victim =
          lists_[kProbation].empty() ? lists_[kProtected].oldest : lists_[kProbation].oldest;
      if (countOf(key) <= countOf(victim)) return;
      take(victim);
    }
    push(kProbation, key);
  }

  const std::uint64_t window_;
  const std::uint64_t protected_;
  std::vector<std::uint8_t> sketch_;
  std::size_t counted_ = 0;
  const std::size_t period_;
};

/// ARC: a list of keys asked for once, one of keys asked for again, and of either those that left
/// it last; a key that left too early makes its list larger. (Megiddo, Modha, FAST 2003.)
class ArcSim : public Lists {
 public:
  ArcSim(std::size_t keys, std::uint64_t capacity) : Lists(keys, capacity) {}
  bool access(const Request& r) override {
    const auto list = keys_[r.key].list;
    if (list == kOnce || list == kAgain) {
      take(r.key);
      push(kAgain, r.key);
      return true;
    }
    if (r.size > capacity_) return false;
    const auto once = lists_[kLeftOnce].size;
    const auto again = lists_[kLeftAgain].size;
    if (list == kLeftOnce) {
      target_ =
          std::min(capacity_, target_ + std::max<std::uint64_t>(r.size, r.size * again / once));
    } else if (list == kLeftAgain) {
      const auto step = std::max<std::uint64_t>(r.size, r.size * once / again);
      target_ = target_ > step ? target_ - step : 0;
    }
    if (list != 0) take(r.key);
    keys_[r.key].size = r.size;
    while (lists_[kOnce].size + lists_[kAgain].size + r.size > capacity_)
      replace(list == kLeftAgain);
    push(list == 0 ? kOnce : kAgain, r.key);
    while (lists_[kOnce].size + lists_[kLeftOnce].size > capacity_ && !lists_[kLeftOnce].empty())
      take(lists_[kLeftOnce].oldest);
    while (lists_[kAgain].size + lists_[kLeftAgain].size > 2 * capacity_ - lists_[kOnce].size &&
           !lists_[kLeftAgain].empty())
      take(lists_[kLeftAgain].oldest);
    return false;
  }

 private:
  static constexpr std::uint8_t kOnce = 1;
  static constexpr std::uint8_t kAgain = 2;
  static constexpr std::uint8_t kLeftOnce = 3;
  static constexpr std::uint8_t kLeftAgain = 4;

  void replace(bool came_back_again) {
    const List& once = lists_[kOnce];
    const bool from_once = !once.empty() && (lists_[kAgain].empty() || once.size > target_ ||
                                             (came_back_again && once.size == target_));
    const auto key = lists_[from_once ? kOnce : kAgain].oldest;
    take(key);
    push(from_once ? kLeftOnce : kLeftAgain, key);
  }

  std::uint64_t target_ = 0;
};

/// What knowing the future would give: evicts what is asked for last. (Optimal only where all sizes
/// are equal.)
class BeladySim : public Simulator {
 public:
  BeladySim(std::size_t keys, std::uint64_t capacity) : held_(keys), capacity_(capacity) {}
  bool access(const Request& r) override {
    auto& key = held_[r.key];
    const bool hit = key.next != 0;
    if (hit) drop(r.key);
    if (r.size <= capacity_ && r.next != kNever) {
      key = {r.next, r.size};
      order_.emplace(r.next, r.key);
      size_ += r.size;
      while (size_ > capacity_) drop(std::prev(order_.end())->second);
    }
    return hit;
  }

 private:
  struct Held {
    std::uint32_t next = 0;
    std::uint32_t size = 0;
  };
  void drop(std::uint32_t key) {
    order_.erase({held_[key].next, key});
    size_ -= held_[key].size;
    held_[key] = {};
  }
  std::vector<Held> held_;
  const std::uint64_t capacity_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> order_;
  std::uint64_t size_ = 0;
};

}  // namespace larder::bench
