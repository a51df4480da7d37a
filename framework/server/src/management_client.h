// The other end of the management port: what `larder stats` and `larder invalidate` ask.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "larder/result.h"
#include "larder/server/config.h"

namespace larder::server {

class ManagementClient {
 public:
  /// Reads the token from the data folder of the configuration.
  static Result<ManagementClient> of(const Config& config);

  /// The error says why: no server, a wrong token, what it answered.
  Result<nlohmann::json> get(const std::string& target) { return ask("GET", target, {}); }
  Result<nlohmann::json> post(const std::string& target, const nlohmann::json& body) {
    return ask("POST", target, body.dump());
  }

 private:
  Result<nlohmann::json> ask(const std::string& method, const std::string& target,
                             const std::string& body);
  std::string address_;
  std::uint16_t port_ = 0;
  std::string token_;
};

}  // namespace larder::server
