#include "larder/cache/rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

namespace larder {
namespace {

/// Where the setting stands in the schema: request_vars are applied before mode.
auto orderOf(const PolicySetting& setting) {
  return std::ranges::find_if(policySchema(),
                              [&](const SettingSpec& spec) { return setting.name == spec.name; });
}

/// The first segment of "/a/b" and what follows it ("/b").
std::pair<std::string_view, std::string_view> splitSegment(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash)};
}

/// Glob match of one segment. Linear but for the last star, to which it goes back.
bool segmentMatches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// What makes one path pattern more literal than another, most telling first.
auto literalness(std::string_view pattern) {
  int literal = 0;
  int partial = 0;
  int single = 0;
  int any = 0;
  while (!pattern.empty()) {
    const auto [segment, rest] = splitSegment(pattern);
    if (segment == "**")
      ++any;
    else if (segment == "*")
      ++single;
    else if (segment.find('*') != std::string_view::npos)
      ++partial;
    else if (!segment.empty())
      ++literal;
    pattern = rest;
  }
  return std::tuple(literal, partial, single, -any);
}

}  // namespace

Policy Resolved::apply(Policy base) const {
  for (const PolicySetting& setting : settings)
    (void)applySetting(base, setting.name, setting.value);  // checked when it was read
  return base;
}

bool patternMatches(std::string_view pattern, std::string_view path) noexcept {
  // As in a segment, going back to the last `**` alone is enough.
  if (path == "/") path = {};
  std::string_view after_any;
  std::string_view resume;
  bool has_any = false;
  while (!path.empty()) {
    const auto [segment, pattern_rest] = splitSegment(pattern);
    const auto [name, path_rest] = splitSegment(path);
    if (!pattern.empty() && segment == "**") {
      has_any = true;
      after_any = pattern = pattern_rest;
      resume = path;
    } else if (!pattern.empty() && segmentMatches(segment, name)) {
      pattern = pattern_rest;
      path = path_rest;
    } else if (has_any) {
      pattern = after_any;
      path = resume = splitSegment(resume).second;
    } else {
      return false;
    }
  }
  while (splitSegment(pattern).first == "**") pattern = splitSegment(pattern).second;
  return pattern.empty() || pattern == "/";
}

Result<> checkPattern(std::string_view pattern) {
  const std::string shown = "'" + std::string(pattern) + "'";
  if (!pattern.starts_with('/'))
    return Error{"path " + shown + " must begin with a slash: \"/**\" is the whole site"};
  if (pattern == "/") return Done{};
  for (std::string_view rest = pattern; !rest.empty();) {
    const auto [segment, next] = splitSegment(rest);
    if (segment.empty())
      return Error{"path " + shown +
                   " has an empty segment; write it without double or trailing slash"};
    if (segment == "." || segment == "..")
      return Error{"path " + shown + " has a dot segment; write the path it stands for"};
    if (segment.starts_with("@@"))
      return Error{"path " + shown + " names a view; give it as view = \"" +
                   std::string(segment.substr(2)) + "\""};
    if (segment != "**" && segment.find("**") != std::string_view::npos)
      return Error{"path " + shown + ": '**' must be a segment of its own, as in \"/a/**\""};
    rest = next;
  }
  return Done{};
}

struct RuleSet::Known {
  Known(std::vector<std::size_t> indices, Resolved combined)
      : matched(std::move(indices)), resolved(std::move(combined)) {}
  std::vector<std::size_t> matched;
  Resolved resolved;
  const Known* next = nullptr;
};

RuleSet::RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (std::size_t i = 0; i < rules_.size(); ++i) by_strength_.push_back(i);
  const auto strength = [this](std::size_t i) {
    return std::tuple(literalness(rules_[i].pattern), !rules_[i].view.empty(), i);
  };
  std::ranges::sort(by_strength_, std::greater{}, strength);
}

RuleSet::~RuleSet() {
  for (const Known* node = known_.load(); node;) {
    const std::unique_ptr<const Known> owned(node);
    node = owned->next;
  }
}

const Resolved& RuleSet::resolve(std::string_view path, std::string_view view) const {
  constexpr std::size_t kUsual = 16;
  std::array<std::size_t, kUsual> usual;
  std::vector<std::size_t> many;
  std::size_t count = 0;
  for (const std::size_t i : by_strength_) {
    const Rule& rule = rules_[i];
    if ((!rule.view.empty() && rule.view != view) || !patternMatches(rule.pattern, path)) continue;
    if (count == kUsual) many.assign(usual.begin(), usual.end());
    if (count < kUsual)
      usual[count] = i;
    else
      many.push_back(i);
    ++count;
  }
  const std::span<const std::size_t> matched =
      count <= kUsual ? std::span<const std::size_t>(usual.data(), count) : many;

  const Known* head = known_.load(std::memory_order_acquire);
  for (const Known* node = head; node; node = node->next)
    if (std::ranges::equal(node->matched, matched)) return node->resolved;
  // Two threads may add the same node; both are right and stay.
  auto node =
      std::make_unique<Known>(std::vector(matched.begin(), matched.end()), combine(matched));
  node->next = head;
  while (!known_.compare_exchange_weak(node->next, node.get(), std::memory_order_acq_rel)) {
  }
  return node.release()->resolved;
}

Resolved RuleSet::combine(std::span<const std::size_t> matched) const {
  Resolved result;
  result.rules.assign(matched.begin(), matched.end());
  for (const std::size_t i : matched) {
    const Rule& rule = rules_[i];
    if (result.manager.empty() && !rule.manager.empty()) {
      result.manager = rule.manager;
      result.manager_origin = rule.origin;
    }
    for (const PolicySetting& setting : rule.settings) {
      if (std::ranges::find(result.settings, setting.name, &PolicySetting::name) ==
          result.settings.end()) {
        result.settings.push_back(setting);
      }
    }
  }
  std::ranges::sort(result.settings, {}, orderOf);
  return result;
}

}  // namespace larder
