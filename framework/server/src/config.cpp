#include "larder/server/config.h"
#include "larder/view.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "config_schema.h"
#include "config_text.h"
#include "larder/cache/path.h"
#include "larder/cache/suggest.h"
#include "larder/cache/units.h"
#include "publishing.h"

namespace larder::server {
namespace {

const SettingSpec* specOf(std::span<const SettingSpec> schema, std::string_view name) {
  const auto found =
      std::ranges::find_if(schema, [&](const SettingSpec& spec) { return name == spec.name; });
  return found == schema.end() ? nullptr : &*found;
}

Settings::Value valueOf(const SettingSpec& spec, const Settings& settings) {
  switch (spec.type) {
    case SettingType::boolean:
      return settings.boolean(spec.name);
    case SettingType::real:
      return settings.real(spec.name);
    case SettingType::text:
      return settings.text(spec.name);
    case SettingType::texts:
      return settings.texts(spec.name);
    case SettingType::integer:
    case SettingType::duration:
    case SettingType::size:
      break;
  }
  return settings.integer(spec.name);
}

/// Whether a path is written as canonicalPath() would write it, without a view.
bool isCanonical(std::string_view path) {
  std::string scratch;
  const std::string encoded = urlPath(path);  // the canonical path may point into it
  const cache::CanonicalPath canonical = cache::canonicalPath(encoded, scratch);
  return canonical.status == cache::PathStatus::ok && canonical.view.empty() &&
         canonical.full == path;
}

constexpr SettingSpec kApp[] = {
    {"mount", SettingType::text, nullptr, "Path that the app is mounted at."},
    {"folder", SettingType::text, "", "Folder with app.toml, templates, scripts and SQL files."},
    {"library", SettingType::text, "", "The app's library, a file name in an app folder."},
};

constexpr SettingSpec kManager[] = {
    {"id", SettingType::text, nullptr,
     "What views and rules name; the nearest one up the path serves."},
    {"path", SettingType::text, "/", "Where in the site it is placed."},
    {"type", SettingType::text, nullptr, "A plugin's type: \"RAMCache\", \"MemcachedManager\"."},
    {"default", SettingType::boolean, "false", "Serves the views below that name no manager."},
};

constexpr SettingSpec kRule[] = {
    {"path", SettingType::text, nullptr, "Which objects; * and ** are wildcards."},
    {"view", SettingType::text, "", "Which view of them; left out: every one."},
    {"manager", SettingType::text, "", "The manager that caches it, or \"none\"."},
};

class Builder {
 public:
  Builder(const RawConfig& raw, Config& config, Problems& problems)
      : raw_(raw), config_(config), problems_(problems) {}

  void build() {
    for (std::size_t i = 0; i < tableSchemas().size(); ++i)
      readTable(tableSchemas()[i], raw_.tables[i]);
    for (const RawTable& app : raw_.apps) readApp(app);
    for (const RawTable& manager : raw_.managers) readManager(manager);
    for (const RawTable& rule : raw_.rules) readRule(rule);
  }

 private:
  void readTable(const TableSchema& schema, const RawTable& raw) {
    const auto settings =
        readSettings(schema.settings, raw.settings, raw.origin + ": [" + raw.name + "]");
    if (!settings) return problems_.add(settings.error());
    schema.apply(Checked(*settings, raw, problems_), config_);
    for (const SettingSpec& spec : schema.settings) {
      const auto given = raw.settings.find(spec.name);
      config_.shown.push_back({raw.name + '.' + spec.name, showSetting(spec, *settings),
                               given == raw.settings.end() ? "default" : given->second.origin});
    }
  }

  void readApp(const RawTable& raw) {
    const auto settings = readSettings(kApp, raw.settings, raw.origin + ": [[app]]");
    if (!settings) return problems_.add(settings.error());
    AppConfig app{.mount = settings->text("mount"),
                  .folder = settings->text("folder"),
                  .library = settings->text("library"),
                  .origin = raw.origin};
    const Checked checked(*settings, raw, problems_);
    checkPath(checked, "mount", app.mount);
    if (app.folder.empty() && app.library.empty())
      problems_.add(raw.origin, "[[app]] at '" + app.mount + "' needs a folder, a library or both");
    if (app.library.find('/') != std::string::npos)
      checked.problem("library", "is a file name; its folder is listed in [plugins] app_folders");
    const auto twice = std::ranges::find(config_.apps, app.mount, &AppConfig::mount);
    if (twice != config_.apps.end()) {
      checked.problem("mount", "'" + app.mount + "' is taken by the app of " + twice->origin +
                                   "; mount this one elsewhere");
    }
    config_.apps.push_back(std::move(app));
  }

  void readManager(const RawTable& raw) {
    auto [own, policy, rest] = split(raw, kManager);
    const auto settings = readSettings(kManager, own, raw.origin + ": [[manager]]");
    if (!settings) return problems_.add(settings.error());
    ManagerConfig manager;
    manager.identity = {.path = settings->text("path"),
                        .id = settings->text("id"),
                        .type = settings->text("type"),
                        .is_default = settings->boolean("default")};
    manager.origin = raw.origin;
    manager.plugin = std::move(rest);
    manager.settings = readPolicy(policy, raw.origin, manager.policy);
    const Checked checked(*settings, raw, problems_);
    const auto& identity = manager.identity;
    checkPath(checked, "path", identity.path);
    if (identity.id.empty() || identity.id == "none")
      checked.problem("id", "'" + identity.id + "' cannot name a manager");
    for (const ManagerConfig& other : config_.managers) {
      if (other.identity.path != identity.path) continue;
      if (other.identity.id == identity.id) {
        checked.problem("id", "'" + identity.id + "' at " + identity.path + " is defined in " +
                                  other.origin + " already; give this one another id or path");
      }
      if (other.identity.is_default && identity.is_default) {
        checked.problem("default", identity.path + " has a default manager already, '" +
                                       other.identity.id + "' of " + other.origin);
      }
    }
    if (const auto whole = checkPolicy(manager.policy); !whole)
      problems_.add(raw.origin, "manager '" + identity.id + "': " + whole.error().message);
    config_.managers.push_back(std::move(manager));
  }

  void readRule(const RawTable& raw) {
    auto [own, policy, rest] = split(raw, kRule);
    own.merge(rest);  // so that an unknown key is reported with the rule's own names
    if (reportUnknown(own)) return;
    const auto settings = readSettings(kRule, own, raw.origin + ": [[rule]]");
    if (!settings) return problems_.add(settings.error());
    Rule rule{.pattern = settings->text("path"),
              .view = settings->text("view"),
              .manager = settings->text("manager"),
              .settings = {},
              .origin = raw.origin};
    const Checked checked(*settings, raw, problems_);
    if (const auto pattern = checkPattern(rule.pattern); !pattern)
      checked.problem("path", pattern.error().message);
    if (rule.view.starts_with("@@")) checked.problem("view", "is written without @@");
    Policy alone;
    rule.settings = readPolicy(policy, raw.origin, alone);
    checkManager(checked, rule);
    config_.rules.push_back(std::move(rule));
  }

  /// Unknown names of a rule: its own keys and the policy's are valid.
  bool reportUnknown(RawSettings& own) {
    std::vector<std::string_view> names;
    for (const SettingSpec& spec : kRule) names.emplace_back(spec.name);
    for (const SettingSpec& spec : policySchema()) names.emplace_back(spec.name);
    bool found = false;
    for (const auto& [name, setting] : own) {
      if (specOf(kRule, name)) continue;
      problems_.add(setting.origin,
                    "unknown setting '" + name + "' of a rule" + didYouMean(name, names));
      found = true;
    }
    return found;
  }

  struct Parts {
    RawSettings own;
    RawSettings policy;
    RawSettings rest;
  };
  static Parts split(const RawTable& raw, std::span<const SettingSpec> own) {
    Parts parts;
    for (const auto& [name, setting] : raw.settings) {
      auto& part = specOf(own, name)              ? parts.own
                   : specOf(policySchema(), name) ? parts.policy
                                                  : parts.rest;
      part.emplace(name, setting);
    }
    return parts;
  }

  std::vector<PolicySetting> readPolicy(RawSettings raw, const std::string& origin,
                                        Policy& policy) {
    std::erase_if(raw, [&](const auto& item) {
      const auto& [name, setting] = item;
      const auto* number = std::get_if<std::int64_t>(&setting.value);
      if (!name.starts_with("max_age") || !number || *number != 0) return false;
      problems_.add(setting.origin,
                    "'" + name +
                        "': 0 has no unit; write \"0s\" for: do not store, or \"forever\" for "
                        "what Zope's 0 meant");
      return true;
    });
    const auto settings = readSettings(policySchema(), raw, origin);
    if (!settings) {
      problems_.add(settings.error());
      return {};
    }
    std::vector<PolicySetting> given;
    for (const SettingSpec& spec : policySchema()) {
      const auto it = raw.find(spec.name);
      if (it == raw.end()) continue;
      PolicySetting setting{spec.name, valueOf(spec, *settings), it->second.origin};
      if (const auto applied = applySetting(policy, spec.name, setting.value); !applied)
        problems_.add(setting.origin, applied.error().message);
      else
        given.push_back(std::move(setting));
    }
    return given;
  }

  static void checkPath(const Checked& checked, std::string_view key, const std::string& path) {
    if (!isCanonical(path)) {
      checked.problem(key, "'" + path +
                               "' is not a path of the site; write it decoded, with a leading "
                               "slash and none at the end, like \"/handbook\"");
    }
  }

  void checkManager(const Checked& checked, const Rule& rule) {
    std::vector<std::string_view> ids;
    bool reachable = false;
    const std::string_view fixed = rootOfPattern(rule.pattern);
    for (const ManagerConfig& manager : config_.managers) {
      ids.push_back(manager.identity.id);
      if (rule.manager.empty() ? manager.identity.is_default : manager.identity.id == rule.manager)
        checkTogether(rule, manager);
      reachable |= manager.identity.id == rule.manager &&
                   (isAtOrBelow(fixed, manager.identity.path) ||
                    (fixed != rule.pattern && isAtOrBelow(manager.identity.path, fixed)));
    }
    if (rule.manager.empty() || rule.manager == "none") return;
    if (std::ranges::find(ids, std::string_view(rule.manager)) == ids.end()) {
      ids.emplace_back("none");
      checked.problem("manager", "no manager has the id '" + rule.manager + "'" +
                                     didYouMean(rule.manager, ids));
    } else if (!reachable) {
      config_.warnings.push_back(rule.origin + ": no manager '" + rule.manager +
                                 "' is at or above '" + rule.pattern +
                                 "', so what the rule covers is not cached");
    }
  }

  void checkTogether(const Rule& rule, const ManagerConfig& manager) {
    Policy policy = manager.policy;
    for (const PolicySetting& setting : rule.settings)
      (void)applySetting(policy, setting.name, setting.value);
    if (const auto whole = checkPolicy(policy); !whole && checkPolicy(manager.policy)) {
      problems_.add(rule.origin, "rule for '" + rule.pattern + "' with manager '" +
                                     manager.identity.id + "': " + whole.error().message);
    }
  }

  const RawConfig& raw_;
  Config& config_;
  Problems& problems_;
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') result += '\\';
    if (c == '$' && text[i + 1] == '{') result += '$';  // no name of an environment variable
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr const char* kHex = "0123456789abcdef";
      ((result += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
    } else {
      result += c;
    }
  }
  return result += '"';
}

std::string listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
  return '[' + list + ']';
}

std::string shown(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// As a file would write it.
std::string written(const RawSetting& setting) {
  struct Writer {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return shown(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(const std::vector<std::string>& value) const { return listed(value); }
  };
  return std::visit(Writer{}, setting.value);
}

std::vector<std::string_view> tableNames() {
  std::vector<std::string_view> names;
  for (const TableSchema& schema : tableSchemas()) names.emplace_back(schema.name);
  return names;
}

Result<std::string> textOf(const std::string& file) {
  std::error_code ignored;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in && std::filesystem::is_regular_file(file, ignored)) text << in.rdbuf();
  if (!in || !std::filesystem::is_regular_file(file, ignored))
    return Error{file + ": cannot be read; name the configuration file, like conf/larder.toml"};
  return text.str();
}

}  // namespace

std::string_view rootOfPattern(std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern;
  const auto slash = pattern.rfind('/', star);
  return slash == 0 || slash == std::string_view::npos ? "/" : pattern.substr(0, slash);
}

Result<Override> parseOverride(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{"-D " + std::string(text) + ": write -D KEY=VALUE, for example -D http.port=9000"};
  }
  return Override{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<Config> parseConfig(std::string_view text, const std::string& file,
                           std::span<const Override> overrides) {
  Problems problems;
  const RawConfig raw = readText(text, file, tableNames(), overrides, problems);
  Config config;
  config.file = file;
  Builder(raw, config, problems).build();
  if (!problems.none()) return problems.all();
  if (publishes(config) && config.http.proxies.empty()) {
    config.warnings.push_back(
        file +
        ": visitors who come through nginx all count as one, also for failed log-ins: write "
        "proxies = [\"127.0.0.1\"] into [http], or where nginx runs");
  }
  return config;
}

Result<Config> loadConfig(const std::string& file, std::span<const Override> overrides) {
  const auto text = textOf(file);
  return text ? parseConfig(*text, file, overrides) : text.error();
}

Result<std::string> writtenValue(const std::string& file, std::span<const Override> overrides,
                                 const std::string& key) {
  const auto text = textOf(file);
  if (!text) return text.error();
  Problems problems;
  RawConfig raw = readText(*text, file, tableNames(), overrides, problems);
  if (!problems.none()) return problems.all();
  const auto tables = tablesOf(key, raw);
  if (!tables) return tables.error();
  std::string values;
  for (const RawTable* table : *tables) {
    const auto setting = table->settings.find(key.substr(key.rfind('.') + 1));
    values += (values.empty() ? "" : ", ") +
              (setting == table->settings.end() ? "(default)" : written(setting->second));
  }
  return values;
}

std::string shownValue(std::string_view name, std::string value) {
  name = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  const bool has_one = value != "(default)" && value != "\"\"" && !value.empty();
  return has_one && (name == "secret" || name == "password") ? "(set)" : value;
}

std::string showSetting(const SettingSpec& spec, const Settings& settings) {
  switch (spec.type) {
    case SettingType::boolean:
      return settings.boolean(spec.name) ? "true" : "false";
    case SettingType::integer:
      return std::to_string(settings.integer(spec.name));
    case SettingType::real:
      return shown(settings.real(spec.name));
    case SettingType::text:
      return quoted(settings.text(spec.name));
    case SettingType::texts:
      return listed(settings.texts(spec.name));
    case SettingType::duration:
      return quoted(formatDuration(settings.duration(spec.name)));
    case SettingType::size:
      return quoted(formatSize(settings.size(spec.name)));
  }
  return {};
}

}  // namespace larder::server
