// The settings of a Policy by their names in the configuration, where managers and rules give them.
//
//   for (const SettingSpec& spec : policySchema()) ...       // what may be given
//   Policy policy;
//   const auto set = applySetting(policy, "max_age", Millis{60'000});
//   if (!set) report(set.error().message);
//
// Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "larder/cache/policy.h"
#include "larder/result.h"
#include "larder/settings.h"

namespace larder {

/// A setting of a Policy by its name in the configuration.
struct PolicySetting {
  std::string name;
  Settings::Value value;
  std::string origin;  ///< where it was written: "conf/larder.toml:12"
};

/// The settings that a manager and a rule may give, by name, with their types and help.
[[nodiscard]] std::span<const SettingSpec> policySchema() noexcept;

/// Sets one field. The error says what is expected, without the place: "jitter must be between 0
/// and 1". Giving request_vars switches to declared keys; a `mode` applied later prevails.
Result<> applySetting(Policy& policy, std::string_view name, const Settings::Value& value);

/// The field as the configuration would write it, for people.
[[nodiscard]] std::string settingText(const Policy& policy, std::string_view name);

/// What is wrong with the whole (declared inputs that need a finite max_age ...), if anything.
Result<> checkPolicy(const Policy& policy);

}  // namespace larder
