#include "larder/cache/policy_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "larder/cache/compare.h"
#include "larder/cache/normaliser.h"
#include "larder/cache/suggest.h"
#include "larder/cache/units.h"

namespace larder {
namespace {

using Value = Settings::Value;

Error outOfRange(std::string_view name, std::string_view expected) {
  return {std::string(name) + " must be " + std::string(expected)};
}

constexpr std::array<std::pair<std::string_view, KeyMode>, 4> kModes = {
    {{"auto", KeyMode::learned},
     {"declared", KeyMode::declared},
     {"observe", KeyMode::observe},
     {"off", KeyMode::off}}};

/// Input names that stand alone, and prefixes that need something behind them.
constexpr std::array<std::string_view, 6> kPlainInputs = {"params", "host", "user",
                                                          "roles",  "now",  "random"};
constexpr std::array<std::string_view, 5> kPrefixedInputs = {
    "param:", "header:", "cookie:", "session:", "arg:"};

bool isInput(std::string_view name) {
  return std::ranges::find(kPlainInputs, name) != kPlainInputs.end() ||
         std::ranges::any_of(kPrefixedInputs, [&](std::string_view prefix) {
           return name.size() > prefix.size() && name.starts_with(prefix);
         });
}

Result<> setInputs(Policy& policy, const Value& value) {
  std::vector<std::string> inputs = std::get<std::vector<std::string>>(value);
  for (std::string& input : inputs) {
    if (!isInput(input)) {
      return Error{"request_vars: '" + input +
                   "' is not an input; write param:NAME, params, header:NAME, cookie:NAME, host, "
                   "user, roles, session:NAME, arg:N or now"};
    }
    if (input == "random")
      return Error{"request_vars: what reads 'random' is never stored; leave it out"};
    if (input.starts_with("header:"))  // as recorded
      std::ranges::transform(input, input.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
  }
  std::ranges::sort(inputs);
  const auto twice = std::ranges::unique(inputs);
  inputs.erase(twice.begin(), twice.end());
  policy.request_vars = std::move(inputs);
  policy.mode = KeyMode::declared;
  return Done{};
}

Result<> setMode(Policy& policy, const Value& value) {
  const auto& name = std::get<std::string>(value);
  for (const auto& [known, mode] : kModes) {
    if (known == name) {
      policy.mode = mode;
      return Done{};
    }
  }
  std::array<std::string_view, kModes.size()> names;
  std::ranges::transform(kModes, names.begin(), [](const auto& mode) { return mode.first; });
  return Error{"mode: '" + name + "' is unknown" + didYouMean(name, names)};
}

Result<> setPublish(Policy& policy, const Value& value) {
  constexpr std::array<std::string_view, 1> kWhere = {"nginx"};
  const auto& where = std::get<std::string>(value);
  if (where != kWhere[0] && !where.empty())
    return Error{"publish: '" + where + "' is unknown" + didYouMean(where, kWhere)};
  policy.publish = where.empty() ? Publish::none : Publish::nginx;
  return Done{};
}

template <Millis Policy::*field>
Result<> setDuration(Policy& policy, const Value& value) {
  policy.*field = std::get<std::int64_t>(value);
  return Done{};
}

template <double Policy::*field>
Result<> setReal(Policy& policy, const Value& value) {
  policy.*field = std::get<double>(value);
  return Done{};
}

template <std::size_t Policy::*field>
Result<> setCount(Policy& policy, const Value& value) {
  policy.*field = static_cast<std::size_t>(std::get<std::int64_t>(value));
  return Done{};
}

template <bool Policy::*field>
Result<> setFlag(Policy& policy, const Value& value) {
  policy.*field = std::get<bool>(value);
  return Done{};
}

template <bool Policy::*field>
std::string flagText(const Policy& policy) {
  return policy.*field ? "true" : "false";
}

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

template <Millis Policy::*field>
std::string durationText(const Policy& policy) {
  return quoted(formatDuration(policy.*field));
}

/// -1 stands for: as max_age.
template <Millis Policy::*field>
std::string durationOrMaxAge(const Policy& policy) {
  return quoted(formatDuration(policy.*field < 0 ? policy.max_age : policy.*field));
}

template <double Policy::*field>
std::string realText(const Policy& policy) {
  std::string text = std::to_string(policy.*field);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text + '0' : text;
}

template <std::size_t Policy::*field>
std::string countText(const Policy& policy) {
  return std::to_string(policy.*field);
}

std::string modeText(const Policy& policy) {
  return quoted(
      std::ranges::find(kModes, policy.mode, &decltype(kModes)::value_type::second)->first);
}

template <std::vector<std::string> Policy::*field>
std::string textsText(const Policy& policy) {
  std::string text;
  for (const std::string& item : policy.*field) text += (text.empty() ? "" : ", ") + quoted(item);
  return "[" + text + "]";
}

Result<> setNormalisers(Policy& policy, const Value& value) {
  const auto& texts = std::get<std::vector<std::string>>(value);
  std::vector<std::string> inputs;
  for (const std::string& text : texts) {
    const auto normaliser = Normaliser::parse(text);
    if (!normaliser) return Error{"normalise: " + normaliser.error().message};
    if (std::ranges::find(inputs, normaliser->input()) != inputs.end())
      return Error{"normalise: " + normaliser->input() + " is given twice"};
    inputs.push_back(normaliser->input());
  }
  policy.normalise = texts;
  return Done{};
}

Result<> setMasks(Policy& policy, const Value& value) {
  const auto& masks = std::get<std::vector<std::string>>(value);
  for (const std::string& mask : masks) {
    if (const auto ok = checkMask(mask); !ok) return Error{"audit_mask: " + ok.error().message};
  }
  policy.audit_mask = masks;
  return Done{};
}

struct Range {
  double least = 0;
  double most = HUGE_VAL;
  const char* expected = "";
};
constexpr Range kAny{};
constexpr Range kShare{0, 1, "between 0 and 1"};
constexpr Range kNotNegative{0, HUGE_VAL, "0 or more"};
constexpr Range kPositive{1, HUGE_VAL, "1 or more"};
constexpr Range kSomeTime{1, HUGE_VAL, "longer than \"0s\""};
constexpr Range kPublishTime{1'000, 86'400'000, "between \"1s\" and \"24h\""};

struct Field {
  SettingSpec spec;
  Range range;
  Result<> (*set)(Policy&, const Value&);
  std::string (*text)(const Policy&);
};

constexpr SettingType kDuration = SettingType::duration;

// request_vars stands before mode: an explicit mode prevails.
constexpr std::array kFields = {
    Field{{"request_vars", SettingType::texts, "[]",
           "Inputs that make up the key; given, nothing else enters it (mode \"declared\")."},
          kAny,
          setInputs,
          textsText<&Policy::request_vars>},
    Field{{"mode", SettingType::text, "auto",
           "\"auto\" learns what a view reads; \"declared\" keys on request_vars; \"observe\": "
           "nothing is served from the cache, and what would have been is counted and compared; "
           "\"off\": not cached."},
          kAny,
          setMode,
          modeText},
    Field{{"max_age", kDuration, "1h",
           "How long a result is fresh; \"0s\": not stored (it does not mean for ever, as in Zope: "
           "write \"forever\")."},
          kAny,
          setDuration<&Policy::max_age>,
          durationText<&Policy::max_age>},
    Field{{"max_age_empty", kDuration, "1h",
           "The same for null and empty results; left out: as max_age."},
          kAny,
          setDuration<&Policy::max_age_empty>,
          durationOrMaxAge<&Policy::max_age_empty>},
    Field{{"max_age_not_found", kDuration, "1h", "The same for 404 and 410; left out: as max_age."},
          kAny,
          setDuration<&Policy::max_age_not_found>,
          durationOrMaxAge<&Policy::max_age_not_found>},
    Field{{"max_age_error", kDuration, "0s",
           "The same for answers of 5xx that a view chose to give."},
          kAny,
          setDuration<&Policy::max_age_error>,
          durationText<&Policy::max_age_error>},
    Field{{"stale_while_revalidate", kDuration, "0s",
           "After max_age: served for so long while one refresh runs."},
          kAny,
          setDuration<&Policy::stale_while_revalidate>,
          durationText<&Policy::stale_while_revalidate>},
    Field{{"stale_if_error", kDuration, "0s",
           "After that: served for so long if the render fails or takes too long."},
          kAny,
          setDuration<&Policy::stale_if_error>,
          durationText<&Policy::stale_if_error>},
    Field{{"early_refresh", SettingType::real, "0",
           "Weight of the early refresh by chance, before max_age is over; 0: off."},
          kNotNegative,
          setReal<&Policy::early_refresh>,
          realText<&Policy::early_refresh>},
    Field{{"jitter", SettingType::real, "0",
           "Share of max_age by which entries are shortened at random."},
          kShare,
          setReal<&Policy::jitter>,
          realText<&Policy::jitter>},
    Field{{"render_timeout", kDuration, "30s", "A render that takes longer fails."},
          kSomeTime,
          setDuration<&Policy::render_timeout>,
          durationText<&Policy::render_timeout>},
    Field{{"soft_timeout", kDuration, "0s",
           "After so long a result that stale_if_error still allows is served, and the render goes "
           "on in the background; \"0s\": off."},
          kAny,
          setDuration<&Policy::soft_timeout>,
          durationText<&Policy::soft_timeout>},
    Field{{"lease", kDuration, "10s",
           "Of several processes on one store one renders a key, the others wait for it; after so "
           "long, 2s at least, they wait no longer for one that died; \"0s\": off."},
          kAny,
          setDuration<&Policy::lease>,
          durationText<&Policy::lease>},
    Field{{"normalise", SettingType::texts, "[]",
           "Inputs of which the view sees a simpler value: \"param:page integer\", \"param:q "
           "lower\", \"param:sort one-of name date\", \"header:accept-language language en de\"."},
          kAny,
          setNormalisers,
          textsText<&Policy::normalise>},
    Field{{"max_variants", SettingType::integer, "1000",
           "Variants of one view of one object; more are rendered and not stored."},
          kPositive,
          setCount<&Policy::max_variants>,
          countText<&Policy::max_variants>},
    Field{{"max_renders", SettingType::integer, "64", "Renders of one view at a time."},
          kPositive,
          setCount<&Policy::max_renders>,
          countText<&Policy::max_renders>},
    Field{{"strip_set_cookie", SettingType::boolean, "false",
           "Store results without their Set-Cookie; otherwise such results are not stored."},
          kAny,
          setFlag<&Policy::strip_set_cookie>,
          flagText<&Policy::strip_set_cookie>},
    Field{{"prefetch", SettingType::boolean, "true",
           "Fetch what a page used last time in one round trip when its render starts, and nothing "
           "twice in one request; only of caches outside the process."},
          kAny,
          setFlag<&Policy::prefetch>,
          flagText<&Policy::prefetch>},
    Field{{"audit", SettingType::real, "0",
           "Share of hits that are rendered again and compared with what was served."},
          kShare,
          setReal<&Policy::audit>,
          realText<&Policy::audit>},
    Field{{"audit_limit", SettingType::real, "0.05",
           "Share of audits that may differ; past it the view is not cached until the next reload; "
           "1: never."},
          kShare,
          setReal<&Policy::audit_limit>,
          realText<&Policy::audit_limit>},
    Field{{"audit_mask", SettingType::texts, "[]",
           "What may differ: text with one *, as in \"<time>*</time>\"."},
          kAny,
          setMasks,
          textsText<&Policy::audit_mask>},
    Field{{"publish", SettingType::text, "",
           "\"nginx\": pages that read nothing of the request are put where nginx reads them."},
          kAny,
          setPublish,
          [](const Policy& policy) {
            return quoted(policy.publish == Publish::nginx ? "nginx" : "");
          }},
    Field{{"publish_max_age", kDuration, "60s",
           "How long a published page lives at most, whatever happens to the server."},
          kPublishTime,
          setDuration<&Policy::publish_max_age>,
          durationText<&Policy::publish_max_age>},
};

const Field* fieldOf(std::string_view name) {
  const auto* field =
      std::ranges::find_if(kFields, [&](const Field& known) { return name == known.spec.name; });
  return field == kFields.end() ? nullptr : field;
}

}  // namespace

std::span<const SettingSpec> policySchema() noexcept {
  static constexpr auto kSpecs = [] {
    std::array<SettingSpec, kFields.size()> specs{};
    for (std::size_t i = 0; i < kFields.size(); ++i) specs[i] = kFields[i].spec;
    return specs;
  }();
  return kSpecs;
}

Result<> applySetting(Policy& policy, std::string_view name, const Settings::Value& value) {
  const Field* field = fieldOf(name);
  if (!field) return Error{"'" + std::string(name) + "' is not a setting of a cache policy"};
  double number = 0;
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    number = static_cast<double>(*integer);
  if (!(number >= field->range.least && number <= field->range.most))
    return outOfRange(name, field->range.expected);
  return field->set(policy, value);
}

std::string settingText(const Policy& policy, std::string_view name) {
  const Field* field = fieldOf(name);
  return field ? field->text(policy) : std::string();
}

Result<> checkPolicy(const Policy& policy) {
  if (policy.mode == KeyMode::declared && policy.max_age == kForever &&
      std::ranges::find(policy.request_vars, "now") != policy.request_vars.end()) {
    return Error{"request_vars holds 'now', so max_age must not be \"forever\""};
  }
  if (policy.mode == KeyMode::learned && !policy.request_vars.empty())
    return Error{"request_vars needs mode \"declared\"; leave one of the two out"};
  return Done{};
}

}  // namespace larder
