#include "server_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

namespace larder::memcached {

namespace {

constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

Error problem(std::string_view text, const std::string& what) {
  return Error{"server '" + std::string(text) + "': " + what};
}

/// A decimal number from `low` to `high`; nothing else, no sign, no blank.
template <class T>
bool readNumber(std::string_view text, T low, T high, T& number) {
  std::uint64_t wide = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wide);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  if (wide < low || wide > high) return false;
  number = static_cast<T>(wide);
  return true;
}

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Sets the address, or says why it cannot. Returns the address as a number, or nothing.
std::string lookUp(Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (failed != 0) {
    endpoint.problem = std::string("the name cannot be resolved: ") + gai_strerror(failed);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::string best;
  for (const addrinfo* info = found; info; info = info->ai_next) {
    char host[NI_MAXHOST];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof(host), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    const std::string rank = (info->ai_family == AF_INET6 ? "6 " : "4 ") + std::string(host);
    if (!best.empty() && best <= rank) continue;
    best = rank;
    std::memcpy(&endpoint.address, info->ai_addr, info->ai_addrlen);
    endpoint.address_size = info->ai_addrlen;
  }
  endpoint.problem = best.empty() ? "the name has no address" : "";
  return best.empty() ? best : best.substr(2);
}

}  // namespace

Result<ServerAddress> parseServer(std::string_view text) {
  ServerAddress server;
  std::string_view rest = text;
  const auto is_strange = [](char c) { return c <= 0x20 || c >= 0x7f || c == ','; };
  if (text.empty()) return problem(text, "it is empty; write \"host:port\"");
  if (std::any_of(text.begin(), text.end(), is_strange)) {
    return problem(text,
                   "it contains a blank, comma or unprintable character; write each server "
                   "as a text of its own");
  }
  if (const auto mark = rest.rfind('?'); mark != std::string_view::npos) {
    if (!readNumber<std::uint32_t>(rest.substr(mark + 1), 1, ServerAddress::kMaxWeight,
                                   server.weight)) {
      return problem(text, "the weight after '?' is a number from 1 to " +
                               std::to_string(ServerAddress::kMaxWeight));
    }
    rest = rest.substr(0, mark);
  }
  if (rest.starts_with('/')) {
    if (rest.size() > kMaxPath) {
      return problem(text, "the path of a Unix socket has at most " + std::to_string(kMaxPath) +
                               " bytes, this one " + std::to_string(rest.size()));
    }
    server.path = rest;
    return server;
  }

  std::string_view port;
  if (rest.starts_with('[')) {
    const auto end = rest.find("]:");
    if (end == std::string_view::npos) {
      return problem(text, "write an IPv6 address as \"[::1]:11211\"");
    }
    server.host = rest.substr(1, end - 1);
    port = rest.substr(end + 2);
    in6_addr ignored;
    const auto scope = server.host.find('%');
    if (inet_pton(AF_INET6, server.host.substr(0, scope).c_str(), &ignored) != 1) {
      return problem(text, "'" + server.host + "' is no IPv6 address");
    }
  } else {
    const auto colon = rest.find(':');
    if (colon == std::string_view::npos) {
      return problem(text, "the port is missing; memcached's own is 11211: \"" + std::string(rest) +
                               ":11211\"");
    }
    if (rest.find(':', colon + 1) != std::string_view::npos) {
      return problem(text, "write an IPv6 address in brackets: \"[::1]:11211\"");
    }
    server.host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
    if (server.host.empty()) return problem(text, "the host before ':' is missing");
  }
  if (!readNumber<std::uint16_t>(port, 1, 65535, server.port)) {
    return problem(text, "the port is a number from 1 to 65535");
  }
  return server;
}

Result<std::vector<ServerAddress>> parseServers(const std::vector<std::string>& texts) {
  if (texts.empty()) return Error{"there is none; write servers = [\"127.0.0.1:11211\"]"};
  std::vector<ServerAddress> servers;
  for (const auto& text : texts) {
    auto server = parseServer(text);
    if (!server) return server.error();
    const auto same = [&](const ServerAddress& other) {
      return std::tie(other.host, other.port, other.path) ==
             std::tie(server->host, server->port, server->path);
    };
    if (std::any_of(servers.begin(), servers.end(), same)) {
      return problem(text, "it is named twice; a weight gives it a larger share");
    }
    servers.push_back(std::move(*server));
  }
  return servers;
}

Endpoint endpointOf(const ServerAddress& server) {
  Endpoint endpoint;
  endpoint.weight = server.weight;
  endpoint.port = server.port;
  if (!server.path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    server.path.copy(address.sun_path, kMaxPath);
    std::memcpy(&endpoint.address, &address, sizeof(address));
    endpoint.address_size = sizeof(address);
    endpoint.name = endpoint.host = server.path;
    return endpoint;
  }
  endpoint.host = server.host;
  if (const std::string number = lookUp(endpoint, AI_NUMERICHOST); !number.empty()) {
    endpoint.host = number;
  } else {
    endpoint.is_name = true;
    std::transform(endpoint.host.begin(), endpoint.host.end(), endpoint.host.begin(), lower);
  }
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  endpoint.name =
      (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(server.port);
  return endpoint;
}

Endpoint resolved(Endpoint endpoint) {
  if (endpoint.is_name) lookUp(endpoint, 0);
  return endpoint;
}

bool areSame(const Endpoint& a, const Endpoint& b) noexcept {
  return a.name == b.name || (a.address_size > 0 && a.address_size == b.address_size &&
                              std::memcmp(&a.address, &b.address, a.address_size) == 0);
}

}  // namespace larder::memcached
