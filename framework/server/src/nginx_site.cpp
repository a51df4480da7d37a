#include "nginx_site.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "larder/site/state.h"

namespace larder::server {
namespace {

constexpr std::string_view kHost = "$host";
constexpr std::size_t kMostKey = 250;
constexpr std::string_view kDefaultType = "text/html; charset=utf-8";

/// By extension, in lower case.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kTypes = {{
    {"css", "text/css; charset=utf-8"},
    {"gif", "image/gif"},
    {"html", "text/html; charset=utf-8"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"svg", "image/svg+xml"},
    {"txt", "text/plain; charset=utf-8"},
    {"webp", "image/webp"},
    {"woff2", "font/woff2"},
    {"xml", "application/xml"},
}};

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// As nginx takes it from a path: behind the last dot of the last segment, unless that begins it.
std::string_view extensionOf(std::string_view path) noexcept {
  const auto dot = path.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || path[dot - 1] == '/' ||
      path.find('/', dot) != std::string_view::npos)
    return {};
  return path.substr(dot + 1);
}

bool isHost(std::string_view authority) noexcept {
  return !authority.empty() && authority.back() != '.' &&
         std::ranges::all_of(authority, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
         });
}

void encode(std::string_view text, std::string& key) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && c != '%') {
      key += c;
    } else {
      key += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
}

std::string addressOf(const http::ServerOptions& http) {
  if (http.host == "0.0.0.0" || http.host.empty()) return "127.0.0.1:" + std::to_string(http.port);
  if (http.host == "::") return "[::1]:" + std::to_string(http.port);
  const bool ipv6 = http.host.find(':') != std::string::npos;
  return (ipv6 ? '[' + http.host + ']' : http.host) + ':' + std::to_string(http.port);
}

std::string seconds(Millis duration) {
  return std::to_string((duration + 999) / 1000) + 's';
}

std::string location(std::string_view path, std::string_view type) {
  return "\n    location \"" + std::string(path) + "\" {\n        default_type \"" +
         std::string(type) + "\";\n        memcached_pass larder_pages;\n    }\n";
}

}  // namespace

bool nginxKeyHasHost(const NginxConfig& config) noexcept {
  return config.prefix.find(kHost) != std::string::npos;
}

std::optional<std::string> nginxKey(const NginxConfig& config, std::string_view path,
                                    std::string_view authority) {
  std::string key = config.prefix;
  if (const auto at = key.find(kHost); at != std::string::npos) {
    if (!isHost(authority)) return std::nullopt;
    key.replace(at, kHost.size(), authority);
  }
  encode(path, key);
  if (key.size() > kMostKey) return std::nullopt;
  return key;
}

std::string_view nginxType(const NginxConfig& config, std::string_view path) noexcept {
  const std::string_view extension = extensionOf(path);
  for (const auto& [known, type] : kTypes)
    if (std::ranges::equal(known, extension, {}, {}, lower)) return type;
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& place : config.types) {
    const bool longer = !best || place.first.size() > best->first.size();
    if (path.starts_with(place.first) && longer) best = &place;
  }
  return best ? std::string_view(best->second) : kDefaultType;
}

std::string nginxServerBlock(const Config& config) {
  const NginxConfig& nginx = config.nginx;
  const std::string memcached =
      nginx.memcached.starts_with('/') ? "unix:" + nginx.memcached : nginx.memcached;
  std::string text = "# Printed by `larder nginx-conf " + config.file +
                     "`. It belongs into nginx's http block: on Debian,\n"
                     "# save it as /etc/nginx/conf.d/larder.conf. Larder believes what it says of "
                     "visitors' addresses\n"
                     "# if [http] proxies names where it runs.\n\n"
                     "upstream larder_server {\n    server " +
                     addressOf(config.http) +
                     ";\n    keepalive 32;\n}\n\nupstream larder_pages {\n"
                     "    server " +
                     memcached + ";\n    keepalive 32;\n}\n\n";
  text +=
      "# nginx takes an encoded slash for a slash, and cuts the address at a bare #.\n"
      "map $request_uri $larder_ambiguous {\n    default \"\";\n    \"~*%2f|#\" 1;\n}\n\n"
      "# Looked for is only what has no query, for visitors without a session or a receipt.\n"
      "map \"$larder_ambiguous$args$cookie_" +
      std::string(site::kSessionCookie) + "$cookie_" + std::string(site::kReceiptCookie) +
      "\" $larder_asked {\n    default 1;\n    \"\" \"\";\n}\n\n";
  text +=
      "# What Larder takes for the host: that of the address if it has one, else of the field, "
      "else\n"
      "# server_name. $host is that, without the port.\n"
      "map $http_host $larder_host_port {\n    default \"\";\n"
      "    \"~(?<larder_of_host>:[0-9]+)$\" $larder_of_host;\n}\n"
      "map $request $larder_port {\n    default $larder_host_port;\n"
      "    \"~*^[^ ]+ [a-z]+://[^/? ]*(?<larder_of_address>:[0-9]+)[/? ]\" $larder_of_address;\n"
      "    \"~*^[^ ]+ [a-z]+://\" \"\";\n}\n\n";
  text += "server {\n    listen " + nginx.listen + ";\n    server_name " + nginx.server_name +
          ";\n    client_max_body_size " + std::to_string((config.http.limits.body + 1023) / 1024) +
          "k;\n\n    types {\n";
  std::set<std::string_view> written;
  for (const auto& [first, type] : kTypes) {
    if (!written.insert(type).second) continue;
    text += "        \"" + std::string(type) + '"';
    for (const auto& [extension, same] : kTypes)
      if (same == type) text += ' ' + std::string(extension);
    text += ";\n";
  }
  text += "    }\n\n    set $memcached_key \"" + nginx.prefix +
          "$uri\";\n    memcached_gzip_flag " + std::to_string(kNginxGzipFlag) +
          ";\n    memcached_connect_timeout 100ms;\n    memcached_send_timeout 100ms;\n"
          "    memcached_read_timeout 100ms;\n    gunzip on;\n    gzip_vary on;\n\n"
          "    error_page 404 405 418 502 504 = @larder;\n"
          "    if ($larder_asked) {\n        return 418;\n    }\n";
  if (std::ranges::find(nginx.types, "/", &std::pair<std::string, std::string>::first) ==
      nginx.types.end())
    text += location("/", kDefaultType);
  for (const auto& [path, type] : nginx.types) text += location(path, type);
  text +=
      "\n    location @larder {\n        proxy_pass http://larder_server;\n"
      "        proxy_http_version 1.1;\n        proxy_set_header Connection \"\";\n"
      "        proxy_set_header Host $host$larder_port;\n"
      "        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n"
      "        proxy_read_timeout " +
      seconds(config.request_timeout + config.http.queue_deadline) + ";\n    }\n}\n";
  return text;
}

}  // namespace larder::server
