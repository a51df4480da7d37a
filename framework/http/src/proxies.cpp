#include "larder/http/proxies.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace larder::http {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Some proxies write a port, too: "192.0.2.1:4711", "[2001:db8::1]:4711".
std::string_view withoutPort(std::string_view text) {
  if (text.starts_with('[')) return text.substr(1, text.find(']') - 1);
  const auto colon = text.find(':');
  return colon == text.rfind(':') ? text.substr(0, colon) : text;
}

}  // namespace

PeerAddress unmapped(const PeerAddress& address) noexcept {
  if (!address.ipv6 || !std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin()))
    return address;
  PeerAddress inner{.port = address.port};
  std::copy(address.bytes.begin() + kMapped.size(), address.bytes.end(), inner.bytes.begin());
  return inner;
}

std::optional<PeerAddress> parseAddress(std::string_view text) {
  PeerAddress address;
  const std::string copy(text);
  if (inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.ipv6 = true;
  return unmapped(address);
}

Result<Networks> Networks::parse(std::span<const std::string> texts) {
  Networks networks;
  for (const std::string& text : texts) {
    const auto slash = text.find('/');
    const auto address = parseAddress(std::string_view(text).substr(0, slash));
    const unsigned most = address && address->ipv6 ? 128 : 32;
    unsigned bits = most;
    bool good = address.has_value();
    if (good && slash != text.npos) {
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + slash + 1, end, bits);
      good = read.ec == std::errc() && read.ptr == end && bits <= most;
    }
    if (!good) {
      return Error{"'" + text +
                   "' is no address or network: write \"127.0.0.1\", \"10.0.0.0/8\" or "
                   "\"fd00::/8\""};
    }
    networks.networks_.push_back({*address, bits});
  }
  return networks;
}

bool Networks::contain(const PeerAddress& address) const noexcept {
  return std::ranges::any_of(networks_, [&address](const Network& network) {
    if (network.address.ipv6 != address.ipv6) return false;
    for (unsigned bit = 0; bit < network.bits; bit += 8) {
      const unsigned kept = std::min(network.bits - bit, 8U);
      const unsigned differing = network.address.bytes[bit / 8] ^ address.bytes[bit / 8];
      if (differing >> (8 - kept) != 0) return false;
    }
    return true;
  });
}

PeerAddress clientBehind(const Networks& proxies, const PeerAddress& peer,
                         const RequestHead& head) {
  PeerAddress client = peer;
  for (std::size_t i = head.fieldCount(); i-- > 0;) {
    if (!equalsIgnoringCase(head.fieldName(i), "x-forwarded-for")) continue;
    std::string_view list = head.fieldValue(i);
    while (proxies.contain(client)) {
      const auto comma = list.rfind(',');
      const std::string_view last = comma == list.npos ? list : list.substr(comma + 1);
      const auto address = parseAddress(withoutPort(trimmed(last)));
      if (!address) return client;
      client = *address;
      if (comma == list.npos) break;
      list = list.substr(0, comma);
    }
  }
  return client;
}

}  // namespace larder::http
