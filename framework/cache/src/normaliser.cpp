#include "larder/cache/normaliser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "larder/cache/suggest.h"

namespace larder {

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"lower", "integer", "one-of", "language"};

char lowered(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return lowered(c); });
  return result;
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::string> wholeNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return (negative && text != "0" ? "-" : "") + std::string(text);
}

/// RFC 9110, 12.4.2, in thousandths; 1000 without one, 0 for what is no weight.
int weightOf(std::string_view parameters) {
  while (!parameters.empty()) {
    const auto end = std::min(parameters.find(';'), parameters.size());
    auto p = trimmed(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (!p.starts_with("q=") && !p.starts_with("Q=")) continue;
    p.remove_prefix(2);
    if (p.empty() || p.size() > 5 || (p[0] != '0' && p[0] != '1')) return 0;
    int weight = (p[0] - '0') * 1000;
    if (p.size() > 1 && p[1] != '.') return 0;
    for (std::size_t i = 2, unit = 100; i < p.size(); ++i, unit /= 10) {
      if (p[i] < '0' || p[i] > '9') return 0;
      weight += (p[i] - '0') * static_cast<int>(unit);
    }
    return std::min(weight, 1000);
  }
  return 1000;
}

/// "de" for "de-AT", as RFC 4647, 3.4 (lookup), goes from the longer tag to the shorter.
std::string_view shorter(std::string_view tag) noexcept {
  const auto dash = tag.rfind('-');
  return dash == std::string_view::npos ? std::string_view() : tag.substr(0, dash);
}

std::string bestLanguage(std::string_view wanted, const std::vector<std::string>& offered) {
  const std::string* best = &offered.front();
  int best_weight = 0;
  while (!wanted.empty()) {
    const auto end = std::min(wanted.find(','), wanted.size());
    const auto item = wanted.substr(0, end);
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
    const auto semicolon = std::min(item.find(';'), item.size());
    const int weight = weightOf(item.substr(std::min(semicolon + 1, item.size())));
    if (weight <= best_weight) continue;
    const std::string range = lowered(trimmed(item.substr(0, semicolon)));
    for (std::string_view tag = range; !tag.empty(); tag = shorter(tag)) {
      const auto found = std::ranges::find_if(
          offered, [tag](const std::string& language) { return lowered(language) == tag; });
      if (found == offered.end()) continue;
      best = &*found;
      best_weight = weight;
      break;
    }
  }
  return *best;
}

bool isListValue(std::string_view value) noexcept {
  return std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

std::string_view plainInput(std::string_view name) noexcept {
  if (!name.starts_with(kNormalised)) return name;
  const auto colon = name.find(':', kNormalised.size());
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

Normaliser::Normaliser(std::string input, Kind kind, std::vector<std::string> values)
    : input_(std::move(input)), kind_(kind), values_(std::move(values)) {
  name_ = std::string(kNormalised) + std::string(nameOf(kind_));
  for (std::size_t i = 0; i < values_.size(); ++i) name_ += (i == 0 ? '=' : ',') + values_[i];
  name_ += ':' + input_;
}

std::string_view Normaliser::nameOf(Kind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<Normaliser::Kind> Normaliser::kindOf(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kKinds, name);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<Kind>(found - kKinds.begin());
}

Result<Normaliser> Normaliser::parse(std::string_view text) {
  const std::string shown = "'" + std::string(text) + "'";
  auto words = wordsOf(text);
  if (words.size() < 2) return Error{shown + ": write INPUT KIND, as in \"param:page integer\""};
  std::string input = std::move(words[0]);
  const bool is_header = input.starts_with("header:");
  if ((!is_header && !input.starts_with("param:") && !input.starts_with("cookie:")) ||
      input.ends_with(':')) {
    return Error{shown + ": only param:NAME, header:NAME and cookie:NAME can be normalised"};
  }
  if (is_header) input = lowered(input);  // as recorded
  const auto kind = kindOf(words[1]);
  if (!kind) return Error{shown + ": '" + words[1] + "' is unknown" + didYouMean(words[1], kKinds)};
  words.erase(words.begin(), words.begin() + 2);
  const bool wants_values = *kind == Kind::one_of || *kind == Kind::language;
  if (wants_values == words.empty()) {
    return Error{shown + (wants_values ? ": which values?" : ": it takes no values")};
  }
  for (const auto& word : words) {
    if (isListValue(word)) continue;
    return Error{std::string(shown).append(": '").append(word).append(
        "' may hold letters, digits, '-', '_' and '.' only")};
  }
  return Normaliser(std::move(input), *kind, std::move(words));
}

std::optional<Normaliser> Normaliser::ofInput(std::string_view name) {
  if (!name.starts_with(kNormalised)) return std::nullopt;
  const std::string_view input = plainInput(name);
  auto how = name.substr(kNormalised.size(), name.size() - kNormalised.size() - input.size());
  if (how.ends_with(':')) how.remove_suffix(1);
  std::string text = std::string(input) + ' ' + std::string(how);
  std::ranges::replace(text.begin() + static_cast<std::ptrdiff_t>(input.size()), text.end(), '=',
                       ' ');
  std::ranges::replace(text.begin() + static_cast<std::ptrdiff_t>(input.size()), text.end(), ',',
                       ' ');
  auto parsed = parse(text);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

std::optional<std::string> Normaliser::apply(std::optional<std::string_view> value) const {
  if (kind_ == Kind::language) return bestLanguage(value.value_or(""), values_);
  if (!value) return std::nullopt;
  switch (kind_) {
    case Kind::lower:
      return lowered(*value);
    case Kind::integer:
      return wholeNumber(*value);
    default:
      return std::ranges::find(values_, *value) == values_.end() ? values_.front()
                                                                 : std::string(*value);
  }
}

}  // namespace larder
