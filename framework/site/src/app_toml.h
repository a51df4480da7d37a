// Reads the tables of an app.toml, strictly: a key that nobody knows and a value of another type
// are errors with file and line.
#pragma once

#include <toml++/toml.h>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/clock.h"
#include "larder/result.h"

namespace larder::site {

constexpr const char* kAppFile = "app.toml";

/// "app.toml:12".
[[nodiscard]] std::string placeOf(const toml::source_region& source);

/// Thrown inside the reader of one file, and only there.
struct AppTomlError {
  std::string message;
};

class AppTable {
 public:
  /// `what` begins messages: "view". Throws for a key that is not among `keys`.
  AppTable(const toml::table& table, std::string_view what, std::span<const std::string_view> keys);

  [[nodiscard]] std::string place() const { return placeOf(table_.source()); }
  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::string required(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;
  [[nodiscard]] std::optional<bool> truth(std::string_view key) const;
  [[nodiscard]] std::optional<Millis> duration(std::string_view key) const;
  [[nodiscard]] std::optional<std::size_t> size(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// Of a table whose values are texts; in order of the keys.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs(std::string_view key) const;
  /// The key has no meaning here; `why` says so.
  void refuse(std::string_view key, std::string_view why) const;
  /// Where the key stands.
  [[nodiscard]] std::string place(std::string_view key) const;
  [[noreturn]] void fail(const std::string& place, const std::string& problem) const;

 private:
  [[nodiscard]] const toml::node* find(std::string_view key) const { return table_.get(key); }
  [[noreturn]] void wrongType(std::string_view key, std::string_view expected) const;

  const toml::table& table_;
  std::string what_;
};

/// The tables of an array [[name]], none if it is absent.
[[nodiscard]] std::vector<const toml::table*> tablesOf(const toml::table& root,
                                                       std::string_view name);

}  // namespace larder::site
