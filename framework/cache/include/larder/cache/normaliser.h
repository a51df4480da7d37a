// Normaliser: turns the values of one input into fewer ones, before the view and the key see them.
//
//   Result<Normaliser> n = Normaliser::parse("param:page integer");
//   n->apply("007");                  // "7"
//   n->inputName();                   // "norm:integer:param:page"
//
// Written INPUT KIND [VALUE ...], for inputs of the kinds param:, header: and cookie:
//
//   lower                 "DE" becomes "de" (ASCII)
//   integer               "007" becomes "7"; what is no whole number counts as absent
//   one-of a b c          any other value becomes the first
//   language de en        the best of these for an Accept-Language (RFC 9110, 12.5.4); else the
//   first
//
// The name under which a normalised input is recorded says how it was normalised. So a view that
// reads the raw value and one that reads the normalised one depend on two different inputs, and no
// result can be mistaken for the other's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.h"

namespace larder {

/// Immutable.
class Normaliser {
 public:
  [[nodiscard]] static Result<Normaliser> parse(std::string_view text);
  /// From inputName(); nothing for other names.
  [[nodiscard]] static std::optional<Normaliser> ofInput(std::string_view name);

  /// The input it is for: "param:page".
  [[nodiscard]] const std::string& input() const noexcept { return input_; }
  [[nodiscard]] const std::string& inputName() const noexcept { return name_; }
  /// What the view sees instead of a value of the request; nothing: absent.
  [[nodiscard]] std::optional<std::string> apply(std::optional<std::string_view> value) const;

 private:
  enum class Kind : std::uint8_t { lower, integer, one_of, language };
  Normaliser(std::string input, Kind kind, std::vector<std::string> values);
  [[nodiscard]] static std::string_view nameOf(Kind kind) noexcept;
  [[nodiscard]] static std::optional<Kind> kindOf(std::string_view name) noexcept;

  std::string input_;
  Kind kind_;
  std::vector<std::string> values_;
  std::string name_;
};

/// The prefix of normalised inputs; behind it how, a colon, and the input.
inline constexpr std::string_view kNormalised = "norm:";

/// The input that a recorded name is about: "param:page" for "norm:integer:param:page"; the name
/// itself for all others.
[[nodiscard]] std::string_view plainInput(std::string_view name) noexcept;

}  // namespace larder
