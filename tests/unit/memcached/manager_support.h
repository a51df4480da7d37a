// A manager as the server would make it, over whatever servers a test gives it, with a clock and an
// executor that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache/settings_reader.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/manual_executor.h"
#include "larder/testing/memcached_server.h"
#include "larder/testing/test_host.h"
#include "memcached_manager.h"
#include "settings.h"

namespace larder::testing {

/// Throws std::runtime_error with what is wrong about the settings.
inline Settings memcachedSettings(std::vector<std::string> servers, RawSettings more = {}) {
  more["servers"] = {std::move(servers), "the test"};
  auto settings = readSettings(memcached::kSettings, more, "manager 'test'");
  if (!settings) throw std::runtime_error(settings.error().message);
  return std::move(*settings);
}

class ManagerTest : public ::testing::Test {
 protected:
  /// With time enough for a busy machine, unless a test is about time and sets another.
  std::unique_ptr<memcached::MemcachedManager> open(std::vector<std::string> servers,
                                                    RawSettings more = {}) {
    for (const char* name : {"timeout", "connect_timeout"})
      more.insert({name, {std::string("10s"), "the test"}});
    return std::make_unique<memcached::MemcachedManager>(
        host_, memcachedSettings(std::move(servers), std::move(more)));
  }
  static RawSettings with(std::string name, decltype(RawSetting::value) value) {
    return {{std::move(name), {std::move(value), "the test"}}};
  }
  /// A server of the test; its failure ends the test.
  static MemcachedServer launch(MemcachedServer::Options options = {}) {
    auto server = MemcachedServer::start(std::move(options));
    if (!server) throw std::runtime_error(server.error().message);
    return std::move(*server);
  }
  static std::uint64_t counter(const ByteCache& cache, std::string_view name) {
    for (const auto& [n, value] : cache.stats()) {
      if (n == name) return value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  /// The same of one server.
  static std::uint64_t counter(memcached::MemcachedManager& cache, const std::string& server,
                               std::string_view name) {
    for (const ServerReport& report : cache.servers(kForever)) {
      for (const auto& [n, value] : report.counted) {
        if (report.name == server && n == name) return value;
      }
    }
    ADD_FAILURE() << "no counter " << name << " of " << server;
    return 0;
  }
  /// Until the breakers are closed, as time would do it.
  void runProbes(Millis during) {
    const Millis end = clock_.monotonic() + during;
    while (clock_.monotonic() < end) {
      clock_.advance(100);
      executor_.runAll();
    }
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  TestHost host_{clock_, executor_};
};

inline std::string valueOf(const ByteLookup& found) {
  return found.status == Status::hit ? std::string(found.value.data)
                                     : "no value: " + std::string(reasonName(found.reason));
}

}  // namespace larder::testing
