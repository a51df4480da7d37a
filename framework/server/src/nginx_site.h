// What Larder and the nginx in front of it have to agree on: under which key a page lies, which
// type nginx gives it, and the configuration that makes nginx do so.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "larder/server/config.h"

namespace larder::server {

/// The key that nginx makes of a request for this canonical path: the prefix and $uri, of which
/// ngx_http_memcached_module encodes the bytes 0x00-0x20 and "%" again. Nothing where it would be
/// longer than memcached takes, or where the prefix holds the host and `authority` is not a host as
/// nginx writes it: lower case, without a port.
[[nodiscard]] std::optional<std::string> nginxKey(const NginxConfig& config, std::string_view path,
                                                  std::string_view authority);

/// The Content-Type that nginx gives to what it finds under this path.
[[nodiscard]] std::string_view nginxType(const NginxConfig& config, std::string_view path) noexcept;

/// Whether the key holds the host.
[[nodiscard]] bool nginxKeyHasHost(const NginxConfig& config) noexcept;

/// For nginx's http block.
[[nodiscard]] std::string nginxServerBlock(const Config& config);

/// nginx's flag of values that are gzip, by memcached_gzip_flag.
inline constexpr unsigned kNginxGzipFlag = 2;

}  // namespace larder::server
