#include "larder/cache/settings_reader.h"

#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "larder/cache/suggest.h"
#include "larder/cache/units.h"

namespace larder {
namespace {

using Raw = decltype(RawSetting::value);

std::string show(const Raw& value) {
  struct Show {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      char text[32];
      return {text, std::to_chars(text, text + sizeof text, v).ptr};
    }
    std::string operator()(const std::string& v) const { return '"' + v + '"'; }
    std::string operator()(const std::vector<std::string>& v) const {
      std::string text = "[";
      for (const auto& item : v) text += (text.size() > 1 ? ", \"" : "\"") + item + '"';
      return text + "]";
    }
  };
  return std::visit(Show{}, value);
}

Error mismatch(const Raw& value, SettingType type) {
  return Error{show(value) + " is not " + std::string(notationOf(type))};
}

template <class T>
Result<Settings::Value> widen(Result<T> parsed) {
  if (!parsed) return parsed.error();
  return Settings::Value(static_cast<std::int64_t>(*parsed));
}

Result<Settings::Value> convert(const Raw& value, SettingType type) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* integer = std::get_if<std::int64_t>(&value);
  switch (type) {
    case SettingType::boolean:
      if (const auto* v = std::get_if<bool>(&value)) return Settings::Value(*v);
      break;
    case SettingType::integer:
      if (integer) return Settings::Value(*integer);
      break;
    case SettingType::real:
      if (const auto* v = std::get_if<double>(&value)) return Settings::Value(*v);
      if (integer) return Settings::Value(static_cast<double>(*integer));
      break;
    case SettingType::text:
      if (text) return Settings::Value(*text);
      break;
    case SettingType::texts:
      if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return Settings::Value(*v);
      break;
    case SettingType::duration:
      // A bare number gets the explanation that its text would get.
      if (text || integer) return widen(parseDuration(text ? *text : std::to_string(*integer)));
      break;
    case SettingType::size:
      if (text || integer) return widen(parseSize(text ? *text : std::to_string(*integer)));
      break;
  }
  return mismatch(value, type);
}

/// Reads `["a", "b"]`; nothing when it is not written so.
std::optional<std::vector<std::string>> parseList(std::string_view text) {
  const auto skipBlanks = [&] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  const auto take = [&](char c) {
    skipBlanks();
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  };
  std::vector<std::string> items;
  if (!take('[')) return std::nullopt;
  if (!take(']')) {
    do {
      if (!take('"')) return std::nullopt;
      const std::size_t end = text.find('"');
      if (end == std::string_view::npos) return std::nullopt;
      items.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    } while (take(','));
    if (!take(']')) return std::nullopt;
  }
  skipBlanks();
  if (!text.empty()) return std::nullopt;
  return items;
}

/// A schema writes its fallbacks as text in the notation of the file.
Result<Settings::Value> parseFallback(std::string_view text, SettingType type) {
  const auto number = [&]<class T>(T value) -> std::optional<Raw> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Raw(value);
  };
  std::optional<Raw> raw = Raw(std::string(text));
  if (type == SettingType::boolean && (text == "true" || text == "false")) raw = text == "true";
  if (type == SettingType::integer) raw = number(std::int64_t{});
  if (type == SettingType::real) raw = number(double{});
  if (type == SettingType::texts) {
    const auto items = parseList(text);
    raw = items ? std::optional<Raw>(*items) : std::nullopt;
  }
  if (!raw) return mismatch(Raw(std::string(text)), type);
  return convert(*raw, type);
}

const SettingSpec* findSpec(std::span<const SettingSpec> schema, std::string_view name) {
  for (const SettingSpec& spec : schema) {
    if (name == spec.name || (spec.alias && name == spec.alias)) return &spec;
  }
  return nullptr;
}

std::string unknown(std::span<const SettingSpec> schema, std::string_view name) {
  std::vector<std::string_view> names;
  for (const SettingSpec& spec : schema) names.emplace_back(spec.name);
  std::string hint = didYouMean(name, names);
  if (names.empty()) hint = "; it takes none";
  return "unknown setting '" + std::string(name) + "'" + hint;
}

}  // namespace

std::string_view notationOf(SettingType type) noexcept {
  switch (type) {
    case SettingType::boolean:
      return "true or false";
    case SettingType::integer:
      return "a whole number like 12";
    case SettingType::real:
      return "a number like 0.5";
    case SettingType::text:
      return R"(a text like "x")";
    case SettingType::texts:
      return R"(a list of texts like ["a", "b"])";
    case SettingType::duration:
      return R"(a duration like "90s", "1h30m" or "forever")";
    case SettingType::size:
      return R"(a size like "64M" or "4096B")";
  }
  return "known";
}

Result<Settings> readSettings(std::span<const SettingSpec> schema, const RawSettings& raw,
                              std::string_view owner) {
  Settings settings;
  std::string problems;
  const auto problem = [&](const std::string& where, const std::string& what) {
    if (!problems.empty()) problems += '\n';
    problems += where + ": " + what;
  };

  std::set<const SettingSpec*> mentioned;
  for (const auto& [name, given] : raw) {
    const SettingSpec* spec = findSpec(schema, name);
    if (!spec) {
      problem(given.origin, unknown(schema, name));
      continue;
    }
    if (!mentioned.insert(spec).second) {
      problem(given.origin, "'" + name + "' sets '" + spec->name +
                                "' a second time; keep one of '" + spec->name + "' and '" +
                                spec->alias + "'");
      continue;
    }
    Result<Settings::Value> value = convert(given.value, spec->type);
    if (!value) {
      problem(given.origin, "'" + name + "': " + value.error().message);
      continue;
    }
    settings.set(spec->name, std::move(*value));
  }

  for (const SettingSpec& spec : schema) {
    if (mentioned.contains(&spec) || settings.has(spec.name)) continue;
    if (!spec.fallback) {
      problem(std::string(owner), "'" + std::string(spec.name) + "' is missing: give it " +
                                      std::string(notationOf(spec.type)));
      continue;
    }
    Result<Settings::Value> value = parseFallback(spec.fallback, spec.type);
    if (!value) {
      problem(std::string(owner), "the plugin's own default of '" + std::string(spec.name) +
                                      "' is wrong: " + value.error().message);
      continue;
    }
    settings.set(spec.name, std::move(*value));
  }

  if (!problems.empty()) return Error{problems};
  return settings;
}

}  // namespace larder
