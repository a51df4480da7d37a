// The nearest valid name, for errors about an unknown one.
//
//   unknown key 'max_siz'; did you mean 'max_size'?
//
// Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace larder {

/// The candidate that `name` most likely was meant to be: the same but for case, or a few typing
/// errors away (inserted, left out, wrong or swapped characters; a third of the name at most). A
/// tie goes to the first.
[[nodiscard]] std::optional<std::string_view> nearestName(
    std::string_view name, std::span<const std::string_view> candidates);

/// "; did you mean 'max_size'?"; without a near candidate "; valid here: a, b, c", or nothing when
/// there are no candidates.
[[nodiscard]] std::string didYouMean(std::string_view name,
                                     std::span<const std::string_view> candidates);

}  // namespace larder
