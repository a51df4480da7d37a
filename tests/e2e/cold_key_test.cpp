// A thousand visitors come for the same page at once, and no cache has it.
#include <sys/resource.h>

#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocket.h>

#include <set>

#include "site_fixture.h"

namespace larder::e2e {
namespace {

constexpr std::size_t kClients = 1'000;

class ColdKey : public SiteTest {
 protected:
  void SetUp() override {
    rlimit files{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
    ASSERT_NO_FATAL_FAILURE(
        configureChaos("larder.toml", dir_.file("var"), port_, management_port_, "2s", more()));
  }
  [[nodiscard]] virtual std::string more() const { return {}; }

  /// Opens all connections and asks on each; the bodies that came, all at once.
  std::multiset<std::string> askAll(const std::string& target,
                                    const std::function<void()>& meanwhile = {}) {
    std::vector<Poco::Net::StreamSocket> clients;
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.emplace_back(Poco::Net::SocketAddress("127.0.0.1", port_));
      clients.back().setReceiveTimeout(Poco::Timespan(20, 0));
    }
    for (auto& client : clients) client.sendBytes(request.data(), static_cast<int>(request.size()));
    if (meanwhile) meanwhile();
    std::multiset<std::string> bodies;
    for (auto& client : clients) {
      std::string text;
      char chunk[4096];
      for (int count = 0; (count = client.receiveBytes(chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(count));
      bodies.insert(text.starts_with("HTTP/1.1 200") ? text.substr(text.find("\r\n\r\n") + 4)
                                                     : text);
    }
    return bodies;
  }
  /// So that every process knows what the view reads.
  void learnInputs() {
    for (int i = 0; i < 20; ++i) httpAsk(port_, "GET", "/chaos/p1/@@slow");
  }
  static std::size_t renders(const std::multiset<std::string>& bodies) {
    return std::set<std::string>(bodies.begin(), bodies.end()).size();
  }
};

TEST_F(ColdKey, AThousandClientsOfOneProcessGetOneRender) {
  const auto server = serve();
  ASSERT_EQ(httpAsk(port_, "POST", "/chaos/setup").status, 200);
  learnInputs();
  const auto bodies = askAll("/chaos/p2/@@slow");
  EXPECT_EQ(bodies.size(), kClients);
  EXPECT_EQ(renders(bodies), 1U) << *bodies.begin() << *bodies.rbegin();
}

class ColdKeyOfTwoProcesses : public ColdKey, public ::testing::WithParamInterface<const char*> {
  [[nodiscard]] std::string more() const override {
    return std::string_view(GetParam()) == "TieredManager" ? tieredOver("shared", "/**") : "";
  }
};

TEST_P(ColdKeyOfTwoProcesses, Semantics31_AThousandClientsOfTwoProcessesGetOneRender) {
  const auto server = serve({"--processes", "2"});
  ASSERT_EQ(httpAsk(port_, "POST", "/chaos/setup").status, 200);
  learnInputs();
  const auto bodies = askAll("/chaos/p2/@@slow");
  EXPECT_EQ(bodies.size(), kClients);
  EXPECT_EQ(renders(bodies), 1U) << *bodies.begin() << *bodies.rbegin();
}

TEST_P(ColdKeyOfTwoProcesses, Semantics31_TwoRendersAtMostWhenMemcachedDiesMeanwhile) {
  const auto server = serve({"--processes", "2"});
  ASSERT_EQ(httpAsk(port_, "POST", "/chaos/setup").status, 200);
  learnInputs();
  const auto bodies = askAll("/chaos/p2/@@slow", [&] { memcached_->kill(); });
  EXPECT_EQ(bodies.size(), kClients);
  EXPECT_LE(renders(bodies), 2U) << *bodies.begin() << *bodies.rbegin();
}

INSTANTIATE_TEST_SUITE_P(, ColdKeyOfTwoProcesses,
                         ::testing::Values("MemcachedManager", "TieredManager"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace larder::e2e
