#include "config_schema.h"

#include <algorithm>
#include <array>

#include "larder/cache/suggest.h"
#include "larder/cache/units.h"

namespace larder::server {
namespace {

constexpr auto kText = SettingType::text;
constexpr auto kTexts = SettingType::texts;
constexpr auto kInteger = SettingType::integer;
constexpr auto kDuration = SettingType::duration;
constexpr auto kSize = SettingType::size;
constexpr auto kBoolean = SettingType::boolean;

constexpr SettingSpec kSite[] = {
    {"data", kText, "var", "Folder of the site's data: content, ledger, token, logs."},
    {"name", kText, "site",
     "Part of every cache key: sites that share a memcached need different ones."},
};

void applySite(const Checked& table, Config& config) {
  config.data = table.folder("data");
  config.site_name = table.settings().text("name");
  if (config.site_name.empty()) table.problem("name", "must not be empty");
}

constexpr SettingSpec kHttp[] = {
    {"address", kText, "127.0.0.1", "Address to listen on."},
    {"port", kInteger, "8080", "Port to listen on; 0: any free one."},
    {"hosts", kTexts, "[]",
     "Names of the site, \"example.org\" or \"*.example.org\"; another one gets 421. Empty: any."},
    {"proxies", kTexts, "[]",
     "Servers in front, addresses or networks, that tell who asked them by X-Forwarded-For."},
    {"secure", kBoolean, "false", "Visitors come by TLS, through a server in front."},
    {"reactors", kInteger, "1", "Threads that hold the connections and answer hits."},
    {"workers", kInteger, "16", "Threads that render."},
    {"queue", kInteger, "1000", "Requests that may wait for a worker; more get 503."},
    {"queue_timeout", kDuration, "10s", "How long a request may wait for a worker."},
    {"request_timeout", kDuration, "30s", "How long a request may take once a worker has it."},
    {"drain_timeout", kDuration, "4s", "How long requests may go on when the server is to end."},
    {"head_timeout", kDuration, "10s", "For a request's whole head, however slowly it comes."},
    {"body_timeout", kDuration, "60s", "For a request's whole body."},
    {"idle_timeout", kDuration, "65s", "Between two requests of a connection."},
    {"write_timeout", kDuration, "30s",
     "In this time a client takes write_minimum or all of its answer."},
    {"write_minimum", kSize, "64K", "See write_timeout."},
    {"max_connections", kInteger, "20000", "Per process; past it the longest idle one makes room."},
    {"max_request_line", kSize, "16K", "Longer: 414."},
    {"max_head", kSize, "32K", "Request line and headers; larger: 431."},
    {"max_headers", kInteger, "100", "More: 431."},
    {"max_body", kSize, "2M", "Larger: 413."},
    {"max_input", kSize, "256M", "Requests that come, wait or run, in all; past it 503."},
};

constexpr std::int64_t kAnyCount = 1'000'000'000;

std::vector<std::string> hostNames(const Checked& table) {
  std::vector<std::string> names = table.settings().texts("hosts");
  for (const std::string& name : names) {
    const std::string_view rest = std::string_view(name).substr(name.starts_with("*.") ? 2 : 0);
    if (rest.empty() || rest.find_first_of("*:/ ") != rest.npos) {
      table.problem("hosts", "'" + name +
                                 "' is no host name: write \"example.org\" without a port, or "
                                 "\"*.example.org\" for all below it");
    }
  }
  return names;
}

http::Networks proxies(const Checked& table) {
  auto networks = http::Networks::parse(table.settings().texts("proxies"));
  if (!networks) table.problem("proxies", networks.error().message);
  return networks ? std::move(*networks) : http::Networks();
}

void applyHttp(const Checked& table, Config& config) {
  http::ServerOptions& http = config.http;
  http.host = table.settings().text("address");
  http.port = table.number<std::uint16_t>("port", 0, 65535);
  http.hosts = hostNames(table);
  http.proxies = proxies(table);
  http.secure = table.settings().boolean("secure");
  http.reactors = table.number<unsigned>("reactors", 1, 256);
  http.workers = table.number<unsigned>("workers", 1, 4096);
  http.queue_limit = table.number<std::size_t>("queue", 1, kAnyCount);
  http.queue_deadline = table.time("queue_timeout");
  config.request_timeout = table.time("request_timeout");
  config.drain_timeout = table.time("drain_timeout");
  http.head_deadline = table.time("head_timeout");
  http.body_deadline = table.time("body_timeout");
  http.idle_deadline = table.time("idle_timeout");
  http.write_deadline = table.time("write_timeout");
  http.write_minimum = table.size("write_minimum", 1);
  http.max_connections = table.number<std::size_t>("max_connections", 1, kAnyCount);
  http.limits.request_line = table.size("max_request_line", 256);
  http.limits.head = table.size("max_head", 256);
  http.limits.fields = table.number<std::size_t>("max_headers", 1, 100'000);
  http.limits.body = table.size("max_body", 0);
  http.input_budget = table.size("max_input", std::size_t{1} << 20);
  if (http.limits.request_line > http.limits.head)
    table.problem("max_request_line", "must not be larger than max_head, which it is part of");
}

constexpr SettingSpec kManagement[] = {
    {"enabled", kBoolean, "true", "Whether there is a management port."},
    {"address", kText, "127.0.0.1", "A loopback address: 127.0.0.1 or ::1."},
    {"port", kInteger, "8081", "Port to listen on; 0: any free one."},
};

void applyManagement(const Checked& table, Config& config) {
  ManagementConfig& management = config.management;
  management.enabled = table.settings().boolean("enabled");
  management.address = table.settings().text("address");
  management.port = table.number<std::uint16_t>("port", 0, 65535);
  if (!management.address.starts_with("127.") && management.address != "::1") {
    table.problem("address",
                  "the management port stays on this machine: write \"127.0.0.1\" or "
                  "\"::1\", and reach it from elsewhere through ssh -L");
  }
}

constexpr SettingSpec kStore[] = {
    {"synchronous", kText, "normal",
     "\"full\": each save waits for the disk; \"normal\": a power loss may take back the last "
     "saves."},
    {"writer_wait", kDuration, "5s", "How long a save waits for other writers."},
    {"ledger_scopes", kInteger, "1000000", "Scopes whose last change is kept apart in memory."},
    {"keep_log", kInteger, "100000", "Changes that the ledger's log keeps one by one."},
};

void applyStore(const Checked& table, Config& config) {
  const std::string& synchronous = table.settings().text("synchronous");
  constexpr std::array<std::string_view, 2> kValid = {"normal", "full"};
  if (std::ranges::find(kValid, synchronous) == kValid.end())
    table.problem("synchronous",
                  "'" + synchronous + "' is unknown" + didYouMean(synchronous, kValid));
  config.store.full_sync = synchronous == "full";
  config.store.writer_wait = table.time("writer_wait");
  config.store.map_scopes = table.number<std::size_t>("ledger_scopes", 1000, kAnyCount);
  config.store.keep_log = table.number<std::size_t>("keep_log", 1000, kAnyCount);
}

constexpr SettingSpec kCache[] = {
    {"background_threads", kInteger, "2", "Threads that refresh stale results and check managers."},
    {"max_renders", kInteger, "256",
     "Renders at a time in this process; more wait for their turn."},
    {"render_wait", kDuration, "1s", "How long; then they are refused with 503."},
};

void applyCache(const Checked& table, Config& config) {
  config.background_threads = table.number<std::size_t>("background_threads", 1, 256);
  config.max_renders = table.number<std::size_t>("max_renders", 1, kAnyCount);
  config.render_wait = table.time("render_wait");
}

constexpr SettingSpec kLog[] = {
    {"level", kText, "info", "\"debug\", \"info\", \"warning\" or \"error\"."},
    {"file", kText, "", "Where it goes; empty: standard error."},
    {"access", kText, "", "File with one line for each request; empty: none."},
};

void applyLog(const Checked& table, Config& config) {
  constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};
  const std::string& level = table.settings().text("level");
  const auto found = std::ranges::find(kLevels, level);
  if (found == kLevels.end())
    table.problem("level", "'" + level + "' is unknown" + didYouMean(level, kLevels));
  else
    config.log.level = static_cast<LogLevel>(found - kLevels.begin());
  config.log.file = table.settings().text("file");
  config.log.access = table.settings().text("access");
}

constexpr SettingSpec kPlugins[] = {
    {"folders", kTexts, "[]",
     "Absolute folders of cache plugins; empty: ../lib/larder/plugins beside the program."},
    {"app_folders", kTexts, "[]",
     "Absolute folders of app libraries; empty: ../lib/larder/apps beside the program."},
};

std::vector<std::filesystem::path> absoluteFolders(const Checked& table, std::string_view name) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& folder : table.settings().texts(name)) {
    folders.emplace_back(folder);
    if (!folders.back().is_absolute())
      table.problem(name, "'" + folder + "' must be absolute: code is loaded from it");
  }
  return folders;
}

void applyPlugins(const Checked& table, Config& config) {
  config.plugin_folders = absoluteFolders(table, "folders");
  config.app_folders = absoluteFolders(table, "app_folders");
}

constexpr SettingSpec kNginx[] = {
    {"listen", kText, "127.0.0.1:8000", "Where nginx listens, as its directive takes it."},
    {"server_name", kText, "localhost", "Names of the site, as nginx's directive takes them."},
    {"memcached", kText, "127.0.0.1:11211",
     "The memcached that nginx reads: \"host:port\", \"[IPv6]:port\" or \"/socket\"."},
    {"prefix", kText, "", "Of the keys, before the path; $host in it keeps hosts apart."},
    {"types", kTexts, "[]",
     "\"/PATH TYPE\": what pages below a path are whose extension does not tell; else text/html."},
};

/// What would end a directive, or be more than text in it.
bool fitsNginx(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 &&
           std::string_view("{};\"'\\$#\x7f").find(c) == std::string_view::npos;
  });
}

void applyNginx(const Checked& table, Config& config) {
  NginxConfig& nginx = config.nginx;
  const auto text = [&table](std::string_view name) {
    const std::string& value = table.settings().text(name);
    if (value.empty() || !fitsNginx(value))
      table.problem(name, "'" + value + "' cannot be written into nginx's configuration");
    return value;
  };
  nginx.listen = text("listen");
  nginx.server_name = text("server_name");
  nginx.memcached = text("memcached");
  if (nginx.memcached.find(':') == std::string::npos && !nginx.memcached.starts_with('/'))
    table.problem("memcached", "must be \"host:port\", \"[IPv6]:port\" or \"/socket\"");
  nginx.prefix = table.settings().text("prefix");
  constexpr std::string_view kHost = "$host";
  std::string fixed = nginx.prefix;
  if (const auto at = fixed.find(kHost); at != std::string::npos) fixed.erase(at, kHost.size());
  constexpr std::size_t kMostPrefix = 100;
  if (!fitsNginx(fixed) || fixed.find_first_of(" %") != std::string::npos ||
      fixed.size() > kMostPrefix)
    table.problem("prefix", "takes letters, digits and the like, at most " +
                                std::to_string(kMostPrefix) + " bytes, and $host once");
  for (const std::string& item : table.settings().texts("types")) {
    const auto space = item.find(' ');
    if (!item.starts_with('/') || space == std::string::npos || space + 1 == item.size() ||
        item.find_first_of("{}\"'\\$#\n\r\t") != std::string::npos) {
      table.problem("types",
                    "'" + item + "': write \"/PATH TYPE\", like \"/api application/json\"");
    } else if (const std::string path = item.substr(0, space); std::ranges::any_of(
                   nginx.types, [&path](const auto& other) { return other.first == path; })) {
      table.problem("types", "'" + path + "' is listed twice; keep one of them");
    } else {
      nginx.types.emplace_back(path, item.substr(space + 1));
    }
  }
}

constexpr TableSchema kTables[] = {
    {"site", kSite, applySite},
    {"http", kHttp, applyHttp},
    {"management", kManagement, applyManagement},
    {"store", kStore, applyStore},
    {"cache", kCache, applyCache},
    {"log", kLog, applyLog},
    {"nginx", kNginx, applyNginx},
    {"plugins", kPlugins, applyPlugins},
};

}  // namespace

std::int64_t Checked::within(std::string_view name, std::int64_t value, std::int64_t least,
                             std::int64_t most) const {
  if (value >= least && value <= most) return value;
  problem(name, most == kAnyCount
                    ? "must be at least " + std::to_string(least)
                    : "must be between " + std::to_string(least) + " and " + std::to_string(most));
  return least;
}

Millis Checked::time(std::string_view name) const {
  const Millis value = settings_.duration(name);
  if (value <= 0 || value == kForever)
    problem(name, "must be longer than \"0s\" and not \"forever\"");
  return value;
}

std::size_t Checked::size(std::string_view name, std::size_t least) const {
  const std::size_t value = settings_.size(name);
  if (value < least) problem(name, "must be at least \"" + formatSize(least) + '"');
  return value;
}

std::filesystem::path Checked::folder(std::string_view name) const {
  const std::string& text = settings_.text(name);
  if (text.empty()) problem(name, "must name a folder");
  return text;
}

void Checked::problem(std::string_view name, const std::string& what) const {
  const auto given = raw_.settings.find(name);
  problems_.add(given == raw_.settings.end() ? raw_.origin : given->second.origin,
                "'" + std::string(name) + "': " + what);
}

std::span<const TableSchema> tableSchemas() noexcept {
  return kTables;
}

}  // namespace larder::server
