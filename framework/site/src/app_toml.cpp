#include "app_toml.h"

#include <algorithm>

#include "larder/cache/suggest.h"
#include "larder/cache/units.h"

namespace larder::site {

std::string placeOf(const toml::source_region& source) {
  return std::string(kAppFile) + ":" + std::to_string(source.begin.line);
}

AppTable::AppTable(const toml::table& table, std::string_view what,
                   std::span<const std::string_view> keys)
    : table_(table), what_(what) {
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    if (std::find(keys.begin(), keys.end(), name) == keys.end())
      fail(placeOf(key.source()),
           "unknown key '" + std::string(name) + "'" + didYouMean(name, keys));
  }
}

void AppTable::fail(const std::string& place, const std::string& problem) const {
  throw AppTomlError{place + ": " + what_ + ": " + problem};
}

std::string AppTable::place(std::string_view key) const {
  for (const auto& [name, value] : table_) {
    if (name.str() == key) return placeOf(name.source());
  }
  return place();
}

void AppTable::wrongType(std::string_view key, std::string_view expected) const {
  fail(place(key), "'" + std::string(key) + "' has to be " + std::string(expected));
}

void AppTable::refuse(std::string_view key, std::string_view why) const {
  if (has(key)) fail(place(key), "'" + std::string(key) + "' " + std::string(why));
}

std::optional<std::string> AppTable::text(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_string();
  if (value == nullptr) wrongType(key, "text in quotes");
  if (value->get().empty()) wrongType(key, "text that is not empty");
  return value->get();
}

std::string AppTable::required(std::string_view key) const {
  std::optional<std::string> value = text(key);
  if (!value) fail(place(), "'" + std::string(key) + "' is missing");
  return *std::move(value);
}

std::optional<std::int64_t> AppTable::number(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  if (value == nullptr || value->get() <= 0) wrongType(key, "a whole number above 0");
  return value->get();
}

std::optional<bool> AppTable::truth(std::string_view key) const {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_boolean();
  if (value == nullptr) wrongType(key, "true or false");
  return value->get();
}

std::optional<Millis> AppTable::duration(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  if (find(key)->as_string() == nullptr) wrongType(key, "a duration like \"90s\" or \"1h30m\"");
  const Result<Millis> value = parseDuration(*text(key));
  if (!value) fail(place(key), "'" + std::string(key) + "': " + value.error().message);
  return *value;
}

std::optional<std::size_t> AppTable::size(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  if (find(key)->as_string() == nullptr) wrongType(key, "a size like \"32M\"");
  const Result<std::size_t> value = parseSize(*text(key));
  if (!value) fail(place(key), "'" + std::string(key) + "': " + value.error().message);
  return *value;
}

std::vector<std::string> AppTable::texts(std::string_view key) const {
  std::vector<std::string> values;
  const toml::node* node = find(key);
  if (node == nullptr) return values;
  const toml::array* array = node->as_array();
  if (array == nullptr) wrongType(key, "a list of texts");
  for (const toml::node& item : *array) {
    const auto* value = item.as_string();
    if (value == nullptr) wrongType(key, "a list of texts");
    values.push_back(value->get());
  }
  return values;
}

std::vector<std::pair<std::string, std::string>> AppTable::pairs(std::string_view key) const {
  std::vector<std::pair<std::string, std::string>> values;
  const toml::node* node = find(key);
  if (node == nullptr) return values;
  const toml::table* table = node->as_table();
  if (table == nullptr) wrongType(key, "a table like { related = \"related\" }");
  for (const auto& [name, value] : *table) {
    const auto* text = value.as_string();
    if (text == nullptr) wrongType(key, "a table like { related = \"related\" }");
    values.emplace_back(name.str(), text->get());
  }
  return values;
}

std::vector<const toml::table*> tablesOf(const toml::table& root, std::string_view name) {
  std::vector<const toml::table*> tables;
  const toml::node* node = root.get(name);
  if (node == nullptr) return tables;
  const toml::array* array = node->as_array();
  const auto problem = [&] {
    return AppTomlError{placeOf(node->source()) + ": '" + std::string(name) +
                        "' is written as tables: [[" + std::string(name) + "]]"};
  };
  if (array == nullptr) throw problem();
  for (const toml::node& item : *array) {
    const toml::table* table = item.as_table();
    if (table == nullptr) throw problem();
    tables.push_back(table);
  }
  return tables;
}

}  // namespace larder::site
