// Settings of a plugin: declared by a schema, checked by the host before create(), read by type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "larder/clock.h"

namespace larder {

enum class SettingType : std::uint8_t {
  boolean,   ///< true, false
  integer,   ///< 12
  real,      ///< 0.5
  text,      ///< "x"
  texts,     ///< ["a", "b"]
  duration,  ///< "90s", "1h30m", "forever"; in Settings: Millis
  size,      ///< "64M"; in Settings: bytes
};

/// One line of a plugin's schema. All pointers are to static storage.
struct SettingSpec {
  const char* name;
  SettingType type;
  /// In the notation of the configuration file ("256M", "true", "[]"); null if the setting must be
  /// given.
  const char* fallback;
  /// One sentence for `larder check` and the UI.
  const char* help;
  /// Another name accepted for it (Zope's), or null.
  const char* alias = nullptr;
};

/// What create() gets: every setting of the schema has a value of its type.
class Settings {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

  void set(std::string name, Value value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return values_.find(name) != values_.end();
  }
  /// Throw std::out_of_range or std::bad_variant_access when the schema does not declare it so: a
  /// plugin's mistake.
  [[nodiscard]] bool boolean(std::string_view name) const { return std::get<bool>(at(name)); }
  [[nodiscard]] std::int64_t integer(std::string_view name) const {
    return std::get<std::int64_t>(at(name));
  }
  [[nodiscard]] double real(std::string_view name) const { return std::get<double>(at(name)); }
  [[nodiscard]] Millis duration(std::string_view name) const { return integer(name); }
  [[nodiscard]] std::size_t size(std::string_view name) const {
    return static_cast<std::size_t>(integer(name));
  }
  [[nodiscard]] const std::string& text(std::string_view name) const {
    return std::get<std::string>(at(name));
  }
  [[nodiscard]] const std::vector<std::string>& texts(std::string_view name) const {
    return std::get<std::vector<std::string>>(at(name));
  }

 private:
  [[nodiscard]] const Value& at(std::string_view name) const;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace larder
