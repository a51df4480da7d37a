// The tables of the configuration that have one fixed set of keys, and their meaning.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "config_text.h"
#include "larder/server/config.h"
#include "larder/settings.h"

namespace larder::server {

/// Reads typed settings and reports values out of bounds with their place.
class Checked {
 public:
  Checked(const Settings& settings, const RawTable& raw, Problems& problems)
      : settings_(settings), raw_(raw), problems_(problems) {}

  /// A whole number between `least` and `most`; `least` if it is not.
  template <class T>
  T number(std::string_view name, std::int64_t least, std::int64_t most) const {
    return static_cast<T>(within(name, settings_.integer(name), least, most));
  }
  /// A duration that is neither none nor for ever.
  Millis time(std::string_view name) const;
  std::size_t size(std::string_view name, std::size_t least) const;
  std::filesystem::path folder(std::string_view name) const;

  [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
  void problem(std::string_view name, const std::string& what) const;

 private:
  std::int64_t within(std::string_view name, std::int64_t value, std::int64_t least,
                      std::int64_t most) const;
  const Settings& settings_;
  const RawTable& raw_;
  Problems& problems_;
};

struct TableSchema {
  const char* name;
  std::span<const SettingSpec> settings;
  void (*apply)(const Checked& table, Config& config);
};

/// site, http, management, store, cache, log, nginx, plugins: in the order of the file.
[[nodiscard]] std::span<const TableSchema> tableSchemas() noexcept;

}  // namespace larder::server
