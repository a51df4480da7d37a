// A site of its own for tests of the program: configuration, data folder, and the real binary.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/test/paths.h"
#include "larder/testing/process.h"
#include "larder/testing/temp_dir.h"

namespace larder::server {

/// One answer over a connection of its own; status 0: none came.
struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;
};
/// `fields`: header lines, each with its line end.
HttpAnswer httpAsk(std::uint16_t port, const std::string& method, const std::string& target,
                   const std::string& fields = {}, const std::string& body = {});
/// The same for a request of these bytes, after which the server closes.
HttpAnswer httpSend(std::uint16_t port, const std::string& request);

class Installation : public ::testing::Test {
 protected:
  struct Finished {
    int status = -1;
    std::string output;
  };

  Installation();

  /// Writes larder.toml: folders and free ports, then `rest`.
  void configure(std::string_view rest);
  /// Runs the program to its end.
  Finished run(std::vector<std::string> arguments,
               std::vector<std::pair<std::string, std::string>> environment = {});
  /// Starts `larder serve` and waits until it serves.
  testing::Process serve(std::vector<std::string> more = {});

  /// GET or, with a body, POST on the management port with the token.
  nlohmann::json manage(const std::string& target, const std::string& body = {});
  [[nodiscard]] std::string token() const;
  /// Process ids of the workers, by the management port.
  std::vector<pid_t> workers();
  /// Until `ready` is true; false when it does not become so within so many ms.
  static bool within(int time, const std::function<bool()>& ready);
  static bool eventually(const std::function<bool()>& ready) { return within(20'000, ready); }

  testing::TempDir dir_;
  std::string conf_;
  std::uint16_t port_;
  std::uint16_t management_port_;
};

}  // namespace larder::server
