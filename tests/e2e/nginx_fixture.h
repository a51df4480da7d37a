// A site with Debian's nginx in front, which reads what Larder publishes from a real memcached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "site_fixture.h"

namespace larder::e2e {

class NginxTest : public SiteTest {
 protected:
  /// Writes the configuration of a site that publishes, and imports the content.
  void SetUp() override;
  /// Starts nginx with what `larder nginx-conf` prints for that configuration.
  void startNginx();
  /// The same with this file as it stands.
  void startNginxWith(const std::string& server_block);

  HttpAnswer through(const std::string& target, const std::string& fields = {},
                     const std::string& method = "GET") const;
  /// Keys that memcached holds.
  [[nodiscard]] std::vector<std::string> keys();
  [[nodiscard]] bool isPublished(const std::string& key);
  /// Until the page of this address, asked for again, lies in memcached.
  [[nodiscard]] bool becomesPublished(const std::string& target);
  /// Requests that have reached the app server, in all its processes.
  [[nodiscard]] std::uint64_t requests();
  /// Lines of the app server's log of requests, after it was asked for the page `mark`, whose line
  /// is the last one.
  [[nodiscard]] std::size_t requestsLogged(const std::string& mark);
  /// A counter of what became of offered pages.
  [[nodiscard]] std::uint64_t published(const std::string& what);

  std::uint16_t nginx_port_ = testing::freePort();
  std::optional<testing::Process> nginx_;
};

}  // namespace larder::e2e
