#include "config_text.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include <toml++/toml.h>

#include "larder/cache/suggest.h"

namespace larder::server {
namespace {

constexpr std::string_view kArrays[] = {"app", "manager", "rule"};

std::string at(const std::string& file, const toml::source_region& source) {
  return file + ':' + std::to_string(source.begin.line);
}

std::string_view kindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list of other things than texts";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    default:
      return "this";
  }
}

std::optional<decltype(RawSetting::value)> scalarOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& item : *array) {
      const auto* text = item.as_string();
      if (!text) return std::nullopt;
      texts.push_back(text->get());
    }
    return texts;
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  RawTable table(std::string_view name, const toml::table& from) {
    RawTable table{.name = std::string(name), .origin = at(file_, from.source()), .settings = {}};
    for (const auto& [key, node] : from) {
      const std::string origin = at(file_, key.source());
      auto value = scalarOf(node);
      if (!value) {
        problems_.add(origin,
                      "'" + std::string(key.str()) + "' cannot be " + std::string(kindOf(node)));
        continue;
      }
      put(table, std::string(key.str()), std::move(*value), origin);
    }
    return table;
  }

  void put(RawTable& table, std::string key, decltype(RawSetting::value) value,
           const std::string& origin) {
    const auto expand = [&](std::string& text) {
      if (auto expanded = expandEnvironment(text))
        text = std::move(*expanded);
      else
        problems_.add(origin, "'" + key + "': " + expanded.error().message);
    };
    if (auto* text = std::get_if<std::string>(&value)) expand(*text);
    if (auto* texts = std::get_if<std::vector<std::string>>(&value))
      std::ranges::for_each(*texts, expand);
    table.settings.insert_or_assign(std::move(key), RawSetting{std::move(value), origin});
  }

  void readDocument(const toml::table& document, std::span<const std::string_view> table_names,
                    RawConfig& raw) {
    std::vector<std::string_view> known(table_names.begin(), table_names.end());
    known.insert(known.end(), std::begin(kArrays), std::end(kArrays));
    for (const auto& [key, node] : document) {
      const std::string_view name = key.str();
      const std::string origin = at(file_, key.source());
      if (std::ranges::find(known, name) == known.end()) {
        const bool is_table = node.is_table() || node.is_array_of_tables();
        problems_.add(origin, (is_table ? "unknown table '" : "unknown key '") + std::string(name) +
                                  "'" + didYouMean(name, known));
      } else if (std::ranges::find(kArrays, name) != std::end(kArrays)) {
        readArray(name, node, origin, raw);
      } else if (const toml::table* from = node.as_table()) {
        auto& slot = *std::ranges::find(raw.tables, name, &RawTable::name);
        slot = table(name, *from);
      } else {
        problems_.add(origin, "'" + std::string(name) + "' must be a table: write [" +
                                  std::string(name) + "]");
      }
    }
  }

 private:
  void readArray(std::string_view name, const toml::node& node, const std::string& origin,
                 RawConfig& raw) {
    const toml::array* array = node.as_array();
    if (!array || !node.is_array_of_tables()) {
      problems_.add(origin, "'" + std::string(name) + "' must be a list of tables: write [[" +
                                std::string(name) + "]]");
      return;
    }
    auto& tables = name == "app" ? raw.apps : name == "manager" ? raw.managers : raw.rules;
    for (const toml::node& item : *array) tables.push_back(table(name, *item.as_table()));
  }

  const std::string& file_;
  Problems& problems_;
};

decltype(RawSetting::value) overrideValue(const std::string& text) {
  try {
    const toml::table parsed = toml::parse("value = " + text);
    if (parsed.size() == 1) {
      if (auto value = scalarOf(*parsed.get("value"))) return std::move(*value);
    }
  } catch (const toml::parse_error&) {  // then it is a text
  }
  return text;
}

/// Tables named `id` of an array whose identity is the key `id_key`.
std::vector<RawTable*> named(std::vector<RawTable>& tables, std::string_view id_key,
                             std::string_view id) {
  std::vector<RawTable*> found;
  for (RawTable& table : tables) {
    const auto it = table.settings.find(id_key);
    const auto* text =
        it == table.settings.end() ? nullptr : std::get_if<std::string>(&it->second.value);
    if (text && *text == id) found.push_back(&table);
  }
  return found;
}

void applyOverride(const Override& given, Reader& reader, RawConfig& raw, Problems& problems) {
  const std::string origin = given.origin.empty()
                                 ? "-D " + given.key + '=' + shownValue(given.key, given.value)
                                 : given.origin;
  const auto targets = tablesOf(given.key, raw);
  if (!targets) return problems.add(origin, targets.error().message);
  for (RawTable* target : *targets)
    reader.put(*target, given.key.substr(given.key.rfind('.') + 1), overrideValue(given.value),
               origin);
}

}  // namespace

void Problems::add(std::string_view where, std::string_view what) {
  lines_.push_back(std::string(where) + ": " + std::string(what));
}

Error Problems::all() const {
  std::string text;
  for (const std::string& line : lines_) text += (text.empty() ? "" : "\n") + line;
  return {text};
}

Result<std::vector<RawTable*>> tablesOf(std::string_view key, RawConfig& raw) {
  const auto first = key.find('.');
  const auto last = key.rfind('.');
  if (first == std::string_view::npos || last + 1 == key.size())
    return Error{"a key is TABLE.KEY, manager.ID.KEY, app.MOUNT.KEY or rule.PATH.KEY"};
  const std::string_view head = key.substr(0, first);
  if (head == "manager" || head == "app" || head == "rule") {
    if (first == last)
      return Error{"say which one: manager.ID.KEY, app.MOUNT.KEY or rule.PATH.KEY"};
    const std::string_view id = key.substr(first + 1, last - first - 1);
    auto targets = head == "app"    ? named(raw.apps, "mount", id)
                   : head == "rule" ? named(raw.rules, "path", id)
                                    : named(raw.managers, "id", id);
    if (!targets.empty()) return targets;
    return Error{"the file has no " + std::string(head) + " '" + std::string(id) + "'"};
  }
  const auto table = std::ranges::find(raw.tables, head, &RawTable::name);
  if (table != raw.tables.end() && first == last) return std::vector<RawTable*>{&*table};
  std::vector<std::string_view> names{"manager", "app", "rule"};
  for (const RawTable& known : raw.tables) names.emplace_back(known.name);
  return Error{"unknown table '" + std::string(head) + "'" + didYouMean(head, names)};
}

Result<std::string> expandEnvironment(std::string_view text) {
  std::string result;
  while (true) {
    const auto start = text.find("${");
    result += text.substr(0, start);
    if (start == std::string_view::npos) return result;
    if (start > 0 && text[start - 1] == '$') {
      result += '{';  // the first `$` is there already
      text.remove_prefix(start + 2);
      continue;
    }
    const auto end = text.find('}', start);
    if (end == std::string_view::npos) return Error{"'${' is not closed by '}'"};
    const std::string name(text.substr(start + 2, end - start - 2));
    const char* value = std::getenv(name.c_str());
    if (!value) {
      return Error{"the environment variable '" + name +
                   "' is not set; set it, or write $${ for a plain ${"};
    }
    result += value;
    text.remove_prefix(end + 1);
  }
}

RawConfig readText(std::string_view text, const std::string& file,
                   std::span<const std::string_view> table_names,
                   std::span<const Override> overrides, Problems& problems) {
  RawConfig raw;
  for (const std::string_view name : table_names)
    raw.tables.push_back({.name = std::string(name), .origin = file, .settings = {}});
  Reader reader(file, problems);
  try {
    reader.readDocument(toml::parse(text, file), table_names, raw);
  } catch (const toml::parse_error& error) {
    problems.add(at(file, error.source()), "not valid TOML: " + std::string(error.description()));
    return raw;
  }
  for (const Override& given : overrides) applyOverride(given, reader, raw, problems);
  return raw;
}

}  // namespace larder::server
