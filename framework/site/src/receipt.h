// Receipts: a visitor's cookie that says which edit he has made, so that whatever serves him next
// has seen it (L21). ERA.SEQ.EXPIRES.MAC, all but the MAC in hexadecimal; short-lived, never an
// input of a page.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "larder/app.h"
#include "larder/clock.h"

namespace larder::site {

class State;

/// Immutable, safe from any thread. Every process of a site has the same secret.
class Receipts {
 public:
  static constexpr Millis kLifetime = 60'000;

  /// Kept in `state`; null: one of this process alone.
  explicit Receipts(State* state);

  [[nodiscard]] std::string issue(const Receipt& receipt, Millis wall) const;
  /// Nothing for what was not issued here, or too long ago.
  [[nodiscard]] std::optional<Receipt> read(std::string_view text, Millis wall) const;

 private:
  [[nodiscard]] std::string macOf(std::string_view text) const;
  std::array<unsigned char, 32> key_{};
};

}  // namespace larder::site
