#include "larder/http/request.h"

#include <arpa/inet.h>

namespace larder::http {

std::string PeerAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(ipv6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size()) == nullptr) {
    return {};
  }
  return text.data();
}

cache::ParamStatus Request::readCookies(cache::Params& cookies,
                                        const cache::ParamLimits& limits) const {
  cache::ParamStatus status = cache::ParamStatus::ok;
  head_->forEachField("cookie", [&](std::string_view value) {
    if (status == cache::ParamStatus::ok) status = cookies.addCookies(value, limits);
  });
  return status;
}

}  // namespace larder::http
