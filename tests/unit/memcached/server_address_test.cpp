#include "server_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larder::memcached {
namespace {

using ::testing::HasSubstr;

ServerAddress parsed(std::string_view text) {
  const auto server = parseServer(text);
  EXPECT_TRUE(server) << server.error().message;
  return server ? *server : ServerAddress{};
}

std::string problemOf(std::string_view text) {
  const auto server = parseServer(text);
  return server ? "none" : server.error().message;
}

TEST(ServerAddress, ReadsHostPortAndWeight) {
  const auto server = parsed("cache1.example:11211?3");
  EXPECT_EQ(server.host, "cache1.example");
  EXPECT_EQ(server.port, 11211);
  EXPECT_EQ(server.weight, 3u);
  EXPECT_EQ(parsed("127.0.0.1:1").weight, 1u);
}

TEST(ServerAddress, ReadsIPv6InBrackets) {
  const auto server = parsed("[::1]:11211?2");
  EXPECT_EQ(server.host, "::1");
  EXPECT_EQ(server.port, 11211);
  EXPECT_EQ(server.weight, 2u);
}

TEST(ServerAddress, ReadsThePathOfAUnixSocket) {
  const auto server = parsed("/run/memcached.sock?7");
  EXPECT_EQ(server.path, "/run/memcached.sock");
  EXPECT_EQ(server.weight, 7u);
}

TEST(ServerAddress, ErrorsQuoteTheTextAndSayWhatToWrite) {
  EXPECT_THAT(problemOf("cache1"), HasSubstr("server 'cache1': the port is missing"));
  EXPECT_THAT(problemOf("cache1"), HasSubstr("\"cache1:11211\""));
  EXPECT_THAT(problemOf("::1:11211"), HasSubstr("\"[::1]:11211\""));
  EXPECT_THAT(problemOf("[::1]"), HasSubstr("\"[::1]:11211\""));
  EXPECT_THAT(problemOf("[::g]:11211"), HasSubstr("no IPv6 address"));
  EXPECT_THAT(problemOf(":11211"), HasSubstr("host"));
  EXPECT_THAT(problemOf(""), HasSubstr("empty"));
}

TEST(ServerAddress, RefusesPortsThatAreNone) {
  for (const auto* text :
       {"h:", "h:0", "h:99999", "h:-1", "h:+1", "h:1a", "h: 1", "h:4294978507"}) {
    EXPECT_THAT(problemOf(text), ::testing::AnyOf(HasSubstr("1 to 65535"), HasSubstr("blank")))
        << text;
  }
}

TEST(ServerAddress, RefusesWeightsThatAreNone) {
  for (const auto* text : {"h:1?", "h:1?0", "h:1?-1", "h:1?1001", "h:1?x", "/s?4294967297"}) {
    EXPECT_THAT(problemOf(text), HasSubstr("weight")) << text;
  }
}

TEST(ServerAddress, FaultA27_RefusesSeveralServersOrControlCharactersInOneText) {
  for (const auto* text : {"a:1,b:2", "a:1 b:2", "a\r\nset x:1", "a:1\n", "h\x7f:1"}) {
    EXPECT_THAT(problemOf(text), HasSubstr("text of its own")) << text;
  }
}

TEST(ServerAddress, RefusesAPathThatNoSocketCanHave) {
  EXPECT_EQ(problemOf("/" + std::string(106, 'x')), "none");
  EXPECT_THAT(problemOf("/" + std::string(107, 'x')), HasSubstr("107 bytes, this one 108"));
}

TEST(ServerAddress, EachServerIsNamedOnce) {
  EXPECT_TRUE(parseServers({"a:1", "a:2", "b:1", "/s"}));
  const auto twice = parseServers({"a:1", "a:1?2"});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("twice"));
  EXPECT_FALSE(parseServers({}));
}

TEST(ServerAddress, ANameStaysWhatItIsWhereverItsServerIs) {
  const auto endpoint = endpointOf(parsed("LocalHost:11211?2"));
  EXPECT_EQ(endpoint.name, "localhost:11211");
  EXPECT_EQ(endpoint.weight, 2u);
  EXPECT_EQ(endpoint.address_size, 0u);
  const auto there = resolved(endpoint);
  EXPECT_EQ(there.name, "localhost:11211");
  EXPECT_TRUE(areSame(there, endpointOf(parsed("127.0.0.1:11211"))));
  EXPECT_FALSE(areSame(there, endpointOf(parsed("127.0.0.1:11212"))));
}

TEST(ServerAddress, IPv6AddressesHaveOneSpelling) {
  const auto endpoint = endpointOf(parsed("[0:0::0:1]:11211"));
  EXPECT_EQ(endpoint.name, "[::1]:11211");
  EXPECT_GT(endpoint.address_size, 0u);
}

TEST(ServerAddress, ANameWithoutAnAddressKeepsTheOneItHad) {
  Endpoint endpoint = resolved(endpointOf(parsed("no-such-host.invalid:11211")));
  EXPECT_EQ(endpoint.address_size, 0u);
  EXPECT_THAT(endpoint.problem, HasSubstr("the name cannot be resolved"));
  endpoint.address_size = 1;
  EXPECT_EQ(resolved(endpoint).address_size, 1u);
}

}  // namespace
}  // namespace larder::memcached
