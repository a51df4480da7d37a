// LearnedInputs: the inputs that a view is known to read. The set only grows; it makes the key
// under which a result is looked up. Reading it takes no lock and writes nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace larder {

/// Sorted, without repetition.
using InputNames = std::vector<std::string>;

/// Sorted union; past kMaxInputNames names the most numerous kind is replaced by its enumeration
/// (L18).
inline constexpr std::size_t kMaxInputNames = 32;
[[nodiscard]] InputNames joinInputs(const InputNames& known, const InputNames& read);

/// Whether the name or its enumeration is among the names.
[[nodiscard]] bool inputCovered(const InputNames& names, std::string_view name) noexcept;

/// One per view, shared by all threads.
class LearnedInputs {
 public:
  using OnGrowth = std::function<void(const InputNames& names)>;

  /// `on_growth` is called, outside any lock, when render() taught new names (to share them with
  /// other processes).
  explicit LearnedInputs(const InputNames& initial = {}, OnGrowth on_growth = {});
  LearnedInputs(const LearnedInputs&) = delete;
  LearnedInputs& operator=(const LearnedInputs&) = delete;

  /// Valid as long as this object: old sets are kept, there are at most a few dozen.
  [[nodiscard]] const InputNames& known() const noexcept {
    return *known_.load(std::memory_order_acquire);
  }
  void learn(const InputNames& read);
  /// The same without telling on_growth: names that came from elsewhere.
  void adopt(const InputNames& names);

 private:
  bool grow(const InputNames& names);
  std::mutex mutex_;
  std::vector<std::unique_ptr<const InputNames>> sets_;
  std::atomic<const InputNames*> known_;
  OnGrowth on_growth_;
};

}  // namespace larder
