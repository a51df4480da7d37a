#include "larder/cache/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace larder {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// Edits from `a` to `b`, a swap of neighbours counting as one: optimal string alignment, the
/// restricted form of Damerau, CACM 7(3), 1964.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> older(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], older[j - 2] + 1);
    }
    older.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string_view> nearestName(std::string_view name,
                                            std::span<const std::string_view> candidates) {
  const std::string wanted = lowered(name);
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    // Names so unlike in length cannot be near: a long one costs nothing then.
    const std::size_t apart =
        std::max(candidate.size(), wanted.size()) - std::min(candidate.size(), wanted.size());
    if (apart >= best_distance) continue;
    const std::size_t distance = editDistance(wanted, lowered(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string didYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  if (const auto nearest = nearestName(name, candidates))
    return "; did you mean '" + std::string(*nearest) + "'?";
  std::string list;
  for (const std::string_view candidate : candidates) {
    list += list.empty() ? "; valid here: " : ", ";
    list += candidate;
  }
  return list;
}

}  // namespace larder
