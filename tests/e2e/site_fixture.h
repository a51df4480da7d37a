// A served site with both sample apps on real content, for tests from the visitor's side.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "installation.h"
#include "larder/entry.h"
#include "larder/testing/memcached_server.h"

namespace larder::e2e {

using server::HttpAnswer;
using server::httpAsk;

/// Value of a header of an answer, or empty.
[[nodiscard]] std::string headerOf(const HttpAnswer& answer, std::string_view name);
/// "hit", "fwd=..." and so on, without the name of the cache.
[[nodiscard]] std::string cacheStatus(const HttpAnswer& answer);
[[nodiscard]] bool isHit(const HttpAnswer& answer);

/// Tables of a configuration: a TieredManager over the managers "fast" and `shared` serves `path`.
[[nodiscard]] std::string tieredOver(const std::string& shared, const std::string& path,
                                     const std::string& settings = {});

/// A visitor with a cookie.
class Visitor {
 public:
  explicit Visitor(std::uint16_t port) : port_(port) {}
  HttpAnswer get(const std::string& target);
  HttpAnswer post(const std::string& target, const std::map<std::string, std::string>& form);
  /// Fails the test when refused.
  void logIn(const std::string& login, const std::string& password);
  /// Changes a page by its edit form; the answer of the save.
  HttpAnswer edit(const std::string& page, const std::string& body);
  [[nodiscard]] const std::string& cookie() const noexcept { return cookie_; }
  void goTo(std::uint16_t port) { port_ = port; }

 private:
  [[nodiscard]] std::string fields() const;
  std::uint16_t port_;
  std::string cookie_;
};

/// `manager`: "RAMCache", "MemcachedManager" or "TieredManager": the one word that differs.
class SiteTest : public server::Installation {
 protected:
  static constexpr const char* kLogin = "demo";
  static constexpr const char* kPassword = "correct horse battery";

  /// Writes the configuration; starts a memcached if the manager needs one.
  void configureSite(const std::string& manager, const std::string& more = {});
  /// The same for the app whose pages say what they were made of (chaos_app/), in a file `name`.
  /// `timeout` of memcached. `more` of the configuration.
  void configureChaos(const std::string& name, const std::string& data, std::uint16_t port,
                      std::uint16_t management, const std::string& timeout = "50ms",
                      const std::string& more = {});
  /// Unless one runs.
  void startMemcached();
  /// Imports the content of the repository, and that of the folder LARDER_TEST_CONTENT if the
  /// environment names one, and makes the account.
  void seed();
  /// What the entry that answers this target depends on, as `larder explain` tells it.
  [[nodiscard]] std::vector<ScopeId> scopesOf(const std::string& target);
  /// Of the ledger's log: the scopes of all changes, and how many changes there are.
  [[nodiscard]] std::pair<std::set<ScopeId>, int> changesAfter(int count);
  /// Another configuration of the same site with no cache at all, on another port.
  [[nodiscard]] std::string uncachedConfiguration(std::uint16_t port);
  /// Every page reachable from the front page by links, without forms, in a fixed order.
  [[nodiscard]] std::vector<std::string> crawl(std::uint16_t port);
  [[nodiscard]] std::map<std::string, HttpAnswer> fetchAll(std::uint16_t port,
                                                           const std::vector<std::string>& targets);

  std::string handbook_ = test::sourceDir() + "/sample-app/handbook";
  std::optional<testing::MemcachedServer> memcached_;
};

}  // namespace larder::e2e
