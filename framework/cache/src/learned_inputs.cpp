#include "larder/cache/learned_inputs.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "larder/cache/key_builder.h"

namespace larder {

bool inputCovered(const InputNames& names, std::string_view name) noexcept {
  return std::binary_search(names.begin(), names.end(), name) ||
         std::binary_search(names.begin(), names.end(), enumerationOf(name));
}

InputNames joinInputs(const InputNames& known, const InputNames& read) {
  InputNames all;
  std::set_union(known.begin(), known.end(), read.begin(), read.end(), std::back_inserter(all));
  const auto dropContained = [&all] {
    std::erase_if(all, [&all](const std::string& name) {
      const auto whole = enumerationOf(name);
      return whole != name && std::binary_search(all.begin(), all.end(), whole);
    });
  };
  dropContained();
  while (all.size() > kMaxInputNames) {
    std::map<std::string, std::size_t, std::less<>> kinds;
    for (const auto& name : all) {
      if (const auto whole = enumerationOf(name); whole != name) ++kinds[std::string(whole)];
    }
    if (kinds.empty()) break;
    const auto most =
        std::max_element(kinds.begin(), kinds.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    all.insert(std::lower_bound(all.begin(), all.end(), most->first), most->first);
    dropContained();
  }
  return all;
}

LearnedInputs::LearnedInputs(const InputNames& initial, OnGrowth on_growth)
    : on_growth_(std::move(on_growth)) {
  sets_.push_back(std::make_unique<const InputNames>(joinInputs({}, initial)));
  known_.store(sets_.back().get(), std::memory_order_release);
}

bool LearnedInputs::grow(const InputNames& names) {
  const auto isKnown = [&names](const InputNames& known) {
    return std::all_of(names.begin(), names.end(),
                       [&](const auto& name) { return inputCovered(known, name); });
  };
  if (isKnown(known())) return false;
  const std::lock_guard lock(mutex_);
  if (isKnown(known())) return false;
  sets_.push_back(std::make_unique<const InputNames>(joinInputs(known(), names)));
  known_.store(sets_.back().get(), std::memory_order_release);
  return true;
}

void LearnedInputs::learn(const InputNames& read) {
  if (grow(read) && on_growth_) on_growth_(known());
}

void LearnedInputs::adopt(const InputNames& names) {
  grow(names);
}

}  // namespace larder
