#include "larder/http/proxies.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parsed_request.h"
#include "raw_client.h"
#include "test_server.h"

namespace larder::http {
namespace {

Networks networks(const std::vector<std::string>& texts) {
  auto parsed = Networks::parse(texts);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return std::move(*parsed);
}

/// The client of a request from `peer`.
std::string behind(const Networks& proxies, const char* peer, const std::string& fields) {
  return clientBehind(proxies, *parseAddress(peer), test::ParsedRequest(fields).head()).host();
}

TEST(Networks, ContainTheirAddressesAndNoOthers) {
  const Networks some = networks({"127.0.0.1", "10.16.0.0/12", "fd00::/8", "2001:db8::7"});
  for (const char* inside :
       {"127.0.0.1", "10.16.0.0", "10.31.255.255", "fd12::1", "2001:db8::7", "::ffff:127.0.0.1"})
    EXPECT_TRUE(some.contain(*parseAddress(inside))) << inside;
  for (const char* outside :
       {"127.0.0.2", "10.15.255.255", "10.32.0.0", "fe00::1", "2001:db8::8", "::1", "::7f00:1"})
    EXPECT_FALSE(some.contain(*parseAddress(outside))) << outside;
  EXPECT_TRUE(networks({"0.0.0.0/0"}).contain(*parseAddress("192.0.2.1")));
  EXPECT_FALSE(networks({}).contain(*parseAddress("127.0.0.1")));
}

TEST(Networks, WhatIsNoNetworkIsRefusedByName) {
  for (const char* bad : {"", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0/8",
                          "::1/129", "10.0.0.0/-1"}) {
    const auto parsed = Networks::parse(std::vector<std::string>{bad});
    ASSERT_FALSE(parsed) << bad;
    EXPECT_TRUE(parsed.error().message.starts_with("'" + std::string(bad) + "' is no address"));
  }
}

TEST(ClientBehind, FaultA22_TheLastAddressThatIsNoProxyIsTheClient) {
  const Networks proxies = networks({"127.0.0.1", "10.0.0.0/8"});
  const std::string name = "X-Forwarded-For: ";
  struct Case {
    const char* peer;
    std::string fields;
    const char* client;
  };
  for (const auto& [peer, fields, client] : std::vector<Case>{
           {"192.0.2.9", name + "192.0.2.1\r\n", "192.0.2.9"},  // anybody may say anything
           {"127.0.0.1", "", "127.0.0.1"},
           {"127.0.0.1", name + "192.0.2.1\r\n", "192.0.2.1"},
           {"127.0.0.1", name + "6.6.6.6, 192.0.2.1 , 10.1.2.3\r\n", "192.0.2.1"},
           {"127.0.0.1", name + "6.6.6.6\r\nx-forwarded-for: 192.0.2.1\r\n", "192.0.2.1"},
           {"127.0.0.1", name + "192.0.2.1\r\n" + name + "10.0.0.1\r\n", "192.0.2.1"},
           {"127.0.0.1", name + "10.0.0.2, 10.0.0.1\r\n", "10.0.0.2"},
           {"127.0.0.1", name + "192.0.2.1, unknown, 10.0.0.1\r\n", "10.0.0.1"},
           {"127.0.0.1", name + "192.0.2.1,\r\n", "127.0.0.1"},
           {"127.0.0.1", name + "192.0.2.1:4711\r\n", "192.0.2.1"},
           {"127.0.0.1", name + "[2001:db8::1]:4711\r\n", "2001:db8::1"},
           {"127.0.0.1", name + "2001:db8::1\r\n", "2001:db8::1"},
           {"127.0.0.1", name + "::ffff:192.0.2.1\r\n", "192.0.2.1"},
           {"127.0.0.1", "Forwarded: for=192.0.2.1\r\n", "127.0.0.1"}}) {
    EXPECT_EQ(behind(proxies, peer, fields), client) << peer << ' ' << fields;
  }
}

TEST(ClientBehind, FaultA22_OnlyAProxyIsBelieved) {
  const std::string field = "X-Forwarded-For: 192.0.2.1\r\n";
  const test::TestServer open;
  EXPECT_EQ(test::fetch(open.port(), "/peer", field)->body, "127.0.0.1");
  const test::TestServer behind_one(
      [](ServerOptions& options) { options.proxies = networks({"127.0.0.1"}); });
  EXPECT_EQ(test::fetch(behind_one.port(), "/peer", field)->body, "192.0.2.1");
}

}  // namespace
}  // namespace larder::http
