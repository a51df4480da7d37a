// ManagementPort: the management handler on its own small HTTP front, and the files in the data
// folder by which `larder stats` finds it.
#pragma once

#include <memory>
#include <string>

#include "larder/clock.h"
#include "larder/http/server.h"
#include "larder/result.h"
#include "larder/server/config.h"
#include "larder/server/management.h"

namespace larder::server {

class ManagementPort {
 public:
  /// Backend and clock outlive it. With management disabled it does nothing.
  static Result<std::unique_ptr<ManagementPort>> start(const Config& config,
                                                       ManagementBackend& backend,
                                                       const Clock& clock);
  /// ", management http://127.0.0.1:8081 (token in var/management.token)", or nothing.
  [[nodiscard]] std::string describe() const;

 private:
  std::string url_;
  std::string token_file_;
  std::unique_ptr<ManagementHandler> handler_;
  std::unique_ptr<http::Server> server_;
};

/// File with the port's number, for a configuration that leaves its choice to the server.
[[nodiscard]] std::filesystem::path portFile(const std::filesystem::path& data_folder);

/// "http://127.0.0.1:8080"
[[nodiscard]] std::string siteUrl(const http::ServerOptions& http, std::uint16_t port);

}  // namespace larder::server
