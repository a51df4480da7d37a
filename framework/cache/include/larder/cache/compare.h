// Whether two results are the same answer, and where they differ: for the audit and mode "observe".
//
//   const std::vector<std::string> masks = {"nonce=\"*\""};
//   std::string difference = differenceOf(stored, rendered, masks);   // empty: the same
//
// Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "larder/result.h"
#include "larder/value.h"

namespace larder {

/// What a mask is: text with one `*`, which stands for whatever is between the two parts, at each
/// place where both come in this order ("<time>*</time>"). The error says what is wrong with it.
Result<> checkMask(std::string_view mask);

/// The text with `*` where the masks say that it is volatile.
[[nodiscard]] std::string masked(std::string_view text, std::span<const std::string> masks);

/// Empty if both are the same but for what the masks cover; else one line for people: the status,
/// the header, or the place in the body with a few words of both.
[[nodiscard]] std::string differenceOf(const Value& stored, const Value& rendered,
                                       std::span<const std::string> masks);

}  // namespace larder
