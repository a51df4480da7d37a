// Turns what a configuration says about a plugin into the Settings that its create() gets, checked
// against the plugin's schema.
//
//   RawSettings raw = {{"max_size", {std::string("64M"), "conf/larder.toml:12"}}};
//   Result<Settings> settings = readSettings(plugin.settings(), raw,
//                                            "conf/larder.toml:10: manager 'fast' (RAMCache)");
//
// Pure. Where the text comes from (TOML, the command line, the management page) is no concern here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "larder/result.h"
#include "larder/settings.h"

namespace larder {

/// A value as the configuration's syntax knows it, and where it stands ("conf/larder.toml:12").
struct RawSetting {
  std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>> value;
  std::string origin;
};
using RawSettings = std::map<std::string, RawSetting, std::less<>>;

/// Every setting of the schema, by its canonical name. A schema may be put together from several;
/// what two of them declare is read by the first. The error names all that is wrong, a line
/// each: unknown names with the nearest valid one, values of another type or notation with the
/// expected one, a name given twice through its alias, and, with `owner` in front, missing
/// settings.
Result<Settings> readSettings(std::span<const SettingSpec> schema, const RawSettings& raw,
                              std::string_view owner);

/// How a value of this type is written, for errors and help: `a duration like "90s" or "forever"`.
[[nodiscard]] std::string_view notationOf(SettingType type) noexcept;

}  // namespace larder
