#include "management_port.h"

#include <fstream>

namespace larder::server {

Result<std::unique_ptr<ManagementPort>> ManagementPort::start(const Config& config,
                                                              ManagementBackend& backend,
                                                              const Clock& clock) {
  auto port = std::make_unique<ManagementPort>();
  if (!config.management.enabled) return port;
  const std::filesystem::path token_file = tokenFile(config.data);
  const auto token = readOrMakeToken(token_file);
  if (!token) return token.error();

  http::ServerOptions options;
  options.host = config.management.address;
  options.port = config.management.port;
  options.workers = 2;
  options.max_connections = 100;
  options.queue_limit = 100;
  options.limits.body = std::uint64_t{64} * 1024;
  port->handler_ = std::make_unique<ManagementHandler>(backend, *token);
  auto server = http::Server::start(options, *port->handler_, clock);
  if (!server) return Error{"management port: " + server.error().message};
  port->server_ = std::move(*server);
  port->token_file_ = token_file.string();
  port->url_ = siteUrl(options, port->server_->port());
  std::ofstream(portFile(config.data), std::ios::trunc) << port->server_->port() << '\n';
  return port;
}

std::string ManagementPort::describe() const {
  if (!server_) return {};
  return ", management " + url_ + " (token in " + token_file_ + ")";
}

std::filesystem::path portFile(const std::filesystem::path& data_folder) {
  return data_folder / "management.port";
}

std::string siteUrl(const http::ServerOptions& http, std::uint16_t port) {
  const bool ipv6 = http.host.find(':') != std::string::npos;
  return "http://" + (ipv6 ? '[' + http.host + ']' : http.host) + ':' + std::to_string(port);
}

}  // namespace larder::server
