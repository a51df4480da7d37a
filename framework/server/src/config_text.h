// The text of a configuration as tables of raw settings: TOML, overrides and the environment; no
// meaning yet.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/settings_reader.h"
#include "larder/server/config.h"

namespace larder::server {

/// Faults, one line each.
class Problems {
 public:
  void add(std::string_view where, std::string_view what);
  void add(const Error& error) { lines_.push_back(error.message); }
  [[nodiscard]] bool none() const noexcept { return lines_.empty(); }
  [[nodiscard]] Error all() const;

 private:
  std::vector<std::string> lines_;
};

struct RawTable {
  std::string name;    ///< "http", "manager"
  std::string origin;  ///< of its header; the file's name for one that is not there
  RawSettings settings;
};

struct RawConfig {
  /// One of each name, in the order given to readText.
  std::vector<RawTable> tables;
  std::vector<RawTable> apps;
  std::vector<RawTable> managers;
  std::vector<RawTable> rules;
};

/// Faults go to `problems`; the result holds what could be read.
RawConfig readText(std::string_view text, const std::string& file,
                   std::span<const std::string_view> table_names,
                   std::span<const Override> overrides, Problems& problems);

/// The tables that the key of an override ("http.port", "manager.ID.key") is about.
Result<std::vector<RawTable*>> tablesOf(std::string_view key, RawConfig& raw);

/// Replaces each `${NAME}`; "$${" becomes "${".
Result<std::string> expandEnvironment(std::string_view text);

}  // namespace larder::server
