// Rules: which manager and which settings a view of an object gets, from the configuration's
// [[rule]] tables.
//
//   RuleSet rules({{.pattern = "/handbook/**", .view = "listing", .manager = "shared"}});
//   const Resolved& r = rules.resolve("/handbook/linux", "listing");
//   ManagerPtr m = r.manager.empty() ? registry.nearestDefault(path)
//                                    : registry.acquire(path, r.manager);
//   Policy policy = r.apply(m->policy());
//
// Patterns are canonical paths. In a segment `*` stands for any run of characters, the segment `**`
// for any number of segments, none included: "/a/**" covers /a, /a/b and /a/b/c, not /ab.
//
// Every rule that matches takes part; where two give the same setting (or a manager) the stronger
// one wins: the one whose path has more literal segments, then more of each kind of wildcard that
// says more (a partly literal segment, `*`, none of `**`), then one that names the view, then the
// later one.
//
// Immutable; resolve() is safe from any thread and takes no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/policy.h"
#include "larder/cache/policy_settings.h"
#include "larder/result.h"

namespace larder {

struct Rule {
  std::string pattern;
  std::string view = {};     ///< empty: every view
  std::string manager = {};  ///< an id, "none", or empty: says nothing about it
  std::vector<PolicySetting> settings = {};
  std::string origin = {};
};

/// What the rules say of one view of one object.
struct Resolved {
  std::string manager;  ///< an id, "none", or empty: no rule names one
  std::string manager_origin;
  /// Each setting once, as the strongest rule gives it; applied in this order.
  std::vector<PolicySetting> settings;
  /// Indices of the rules that matched, strongest first.
  std::vector<std::size_t> rules;

  [[nodiscard]] bool disabled() const noexcept { return manager == "none"; }
  /// The manager's policy with the rules' settings on top.
  [[nodiscard]] Policy apply(Policy base) const;
};

/// Whether the pattern covers the canonical path.
[[nodiscard]] bool patternMatches(std::string_view pattern, std::string_view path) noexcept;

/// Says what is wrong with a pattern: no leading slash, empty segments, "**" inside a segment.
Result<> checkPattern(std::string_view pattern);

class RuleSet {
 public:
  RuleSet() = default;
  explicit RuleSet(std::vector<Rule> rules);
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  /// `view` by its name, the type's default view included. The same rules yield the same object,
  /// which lives as long as the set.
  [[nodiscard]] const Resolved& resolve(std::string_view path, std::string_view view) const;
  [[nodiscard]] const std::vector<Rule>& rules() const noexcept { return rules_; }

 private:
  struct Known;
  [[nodiscard]] Resolved combine(std::span<const std::size_t> matched) const;

  std::vector<Rule> rules_;
  std::vector<std::size_t> by_strength_;
  /// A list that only grows: one node for each set of rules that ever matched together.
  mutable std::atomic<const Known*> known_{nullptr};
};

}  // namespace larder
