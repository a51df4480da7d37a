#include "receipt.h"

#include <sodium.h>

#include <charconv>
#include <cstdint>
#include <cstring>

#include "larder/site/state.h"

namespace larder::site {

namespace {

constexpr std::string_view kSpace = "receipts";
constexpr std::string_view kName = "key";

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 16> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  return {text.data(), end};
}

/// The number before the next dot, which is taken away with it.
std::optional<std::uint64_t> takeNumber(std::string_view& text) noexcept {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = text.data() + dot;
  const auto [stop, error] = std::from_chars(text.data(), end, number, 16);
  if (error != std::errc() || stop != end || dot == 0) return std::nullopt;
  text.remove_prefix(dot + 1);
  return number;
}

}  // namespace

Receipts::Receipts(State* state) {
  ::randombytes_buf(key_.data(), key_.size());
  if (!state) return;
  auto kept = state->get(kSpace, kName);
  if (!kept) {
    state->put(kSpace, kName, {reinterpret_cast<const char*>(key_.data()), key_.size()});
    kept = state->get(kSpace, kName);  // whoever wrote last
  }
  if (kept && kept->size() == key_.size()) std::memcpy(key_.data(), kept->data(), key_.size());
}

std::string Receipts::macOf(std::string_view text) const {
  std::array<unsigned char, 16> mac;
  ::crypto_generichash(mac.data(), mac.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), key_.data(), key_.size());
  std::array<char, 2 * mac.size() + 1> shown;
  return ::sodium_bin2hex(shown.data(), shown.size(), mac.data(), mac.size());
}

std::string Receipts::issue(const Receipt& receipt, Millis wall) const {
  std::string text = hexadecimal(receipt.era) + '.' + hexadecimal(receipt.seq) + '.' +
                     hexadecimal(static_cast<std::uint64_t>(wall + kLifetime)) + '.';
  return text + macOf(text);
}

std::optional<Receipt> Receipts::read(std::string_view text, Millis wall) const {
  std::string_view rest = text;
  const auto era = takeNumber(rest);
  const auto seq = era ? takeNumber(rest) : std::nullopt;
  const auto expires = seq ? takeNumber(rest) : std::nullopt;
  if (!expires) return std::nullopt;
  const std::string mac = macOf(text.substr(0, text.size() - rest.size()));
  if (rest.size() != mac.size() || ::sodium_memcmp(rest.data(), mac.data(), mac.size()) != 0)
    return std::nullopt;
  const auto until = static_cast<Millis>(*expires);
  // One from the future was issued before the clock was set back.
  if (wall >= until || wall < until - 2 * kLifetime) return std::nullopt;
  return Receipt{*era, *seq};
}

}  // namespace larder::site
