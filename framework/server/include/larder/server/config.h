// Config: what conf/larder.toml says, checked and typed, with where each setting was written.
//
//   auto config = loadConfig("conf/larder.toml", {{"http.port", "9000"}});
//   if (!config) fail(config.error().message);    // one line a fault: "conf/larder.toml:12: ..."
//   http::Server::start(config->http, ...);
//
// Strict: an unknown key, a value of another type, a bare number where a unit belongs, a duplicate
// is an error that names file, line, key, what is expected, and the nearest valid name. `${NAME}`
// in a text is replaced by the environment variable ("$${" stays "${"). An override wins over the
// file. Relative paths are relative to the working directory.
//
// Plain values; loadConfig() is safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache/cache_manager.h"
#include "larder/cache/rules.h"
#include "larder/cache/settings_reader.h"
#include "larder/clock.h"
#include "larder/host.h"
#include "larder/http/server.h"
#include "larder/result.h"

namespace larder::server {

/// `-D key=value`: "http.port", "manager.ID.key", "app.MOUNT.key" or "rule.PATH.key" (every one of
/// that id, mount or path). The value is read as TOML;
/// what is not TOML is a text.
struct Override {
  std::string key;
  std::string value;
  std::string origin = {};  ///< for messages; empty: "-D key=value"
  friend bool operator==(const Override&, const Override&) = default;
};
/// Splits "key=value".
Result<Override> parseOverride(std::string_view text);

struct ManagementConfig {
  std::string address;  ///< of the loopback network
  std::uint16_t port = 0;
  bool enabled = true;
};

struct StoreConfig {
  bool full_sync = false;
  std::size_t map_scopes = 0;
  Millis writer_wait = 0;
  std::size_t keep_log = 0;
};

struct LogConfig {
  LogLevel level = LogLevel::info;
  std::filesystem::path file;    ///< empty: standard error
  std::filesystem::path access;  ///< empty: no access log
};

/// The nginx in front of the site, and the memcached that it reads pages from.
struct NginxConfig {
  std::string listen;  ///< as nginx's directive takes it
  std::string server_name;
  std::string memcached;  ///< "host:port", "[IPv6]:port" or "/socket"
  std::string prefix;     ///< of the keys; "$host" in it stands for the host
  /// Paths and the type of what is below them, where the extension does not tell.
  std::vector<std::pair<std::string, std::string>> types;
};

struct AppConfig {
  std::string mount;
  std::filesystem::path folder;  ///< with app.toml; empty for a library alone
  std::string library;           ///< "comments.so", below an app folder; may be empty
  std::string origin;
};

struct ManagerConfig {
  CacheManager::Identity identity;
  std::vector<PolicySetting> settings;  ///< of its policy
  Policy policy;                        ///< the defaults with them
  RawSettings plugin;                   ///< checked against the plugin's schema when it is loaded
  std::string origin;
};

/// A setting as `larder check` shows it.
struct ShownSetting {
  std::string name;    ///< "http.port"
  std::string value;   ///< as the file would write it
  std::string origin;  ///< "conf/larder.toml:12", "-D http.port=0", "default"
};

struct Config {
  std::string file;
  std::string site_name;
  std::filesystem::path data;
  http::ServerOptions http;
  ManagementConfig management;
  StoreConfig store;
  LogConfig log;
  NginxConfig nginx;
  std::vector<std::filesystem::path> plugin_folders;  ///< absolute
  std::vector<std::filesystem::path> app_folders;     ///< absolute
  std::size_t background_threads = 0;
  std::size_t max_renders = 0;  ///< at a time in this process
  Millis render_wait = 0;       ///< for one's turn
  Millis request_timeout = 0;   ///< a request whose answer takes longer fails
  Millis drain_timeout = 0;     ///< requests that take longer when the server ends are cut off

  std::vector<AppConfig> apps;
  std::vector<ManagerConfig> managers;
  std::vector<Rule> rules;

  std::vector<Override> changes;      ///< made while running
  std::vector<ShownSetting> shown;    ///< of the tables above apps
  std::vector<std::string> warnings;  ///< with file:line
};

/// The error holds one line a fault.
Result<Config> loadConfig(const std::string& file, std::span<const Override> overrides);
/// The same from a text; `file` is what its errors say.
Result<Config> parseConfig(std::string_view text, const std::string& file,
                           std::span<const Override> overrides);

/// What the file and the overrides give for the key of an override, as a file would write it;
/// "(default)" if nothing, a list if the key names several rules.
Result<std::string> writtenValue(const std::string& file, std::span<const Override> overrides,
                                 const std::string& key);

/// The folder that all paths of a rule's pattern are at or below: "/a/b" of "/a/b/*/c".
[[nodiscard]] std::string_view rootOfPattern(std::string_view pattern);

/// The value of a setting of this name or of an override's key as anybody may see it: that of a
/// password or secret is "(set)", if there is one.
[[nodiscard]] std::string shownValue(std::string_view name, std::string value);

/// The value of `spec` in `settings`, as the file would write it.
[[nodiscard]] std::string showSetting(const SettingSpec& spec, const Settings& settings);

}  // namespace larder::server
