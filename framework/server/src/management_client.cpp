#include "management_client.h"

#include <Poco/Exception.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/StreamCopier.h>
#include <Poco/Timespan.h>

#include <fstream>

#include "larder/server/management.h"
#include "management_port.h"

namespace larder::server {
namespace {

constexpr long kPatienceSeconds = 20;

}  // namespace

Result<ManagementClient> ManagementClient::of(const Config& config) {
  if (!config.management.enabled)
    return Error{config.file + ": the management port is switched off ([management] enabled)"};
  const auto token = readToken(tokenFile(config.data));
  if (!token) return token.error();
  ManagementClient client;
  client.address_ = config.management.address;
  client.port_ = config.management.port;
  client.token_ = *token;
  if (client.port_ == 0 && !(std::ifstream(portFile(config.data)) >> client.port_))
    return Error{portFile(config.data).string() + ": cannot be read; is the server running?"};
  return client;
}

Result<nlohmann::json> ManagementClient::ask(const std::string& method, const std::string& target,
                                             const std::string& body) {
  const std::string place = address_ + ':' + std::to_string(port_);
  try {
    Poco::Net::HTTPClientSession session(address_, port_);
    session.setTimeout(Poco::Timespan(kPatienceSeconds, 0));
    Poco::Net::HTTPRequest request(method, target, Poco::Net::HTTPMessage::HTTP_1_1);
    request.set("Authorization", "Bearer " + token_);
    if (!body.empty()) {
      request.setContentType("application/json");
      request.setContentLength(static_cast<std::streamsize>(body.size()));
    }
    session.sendRequest(request) << body;
    Poco::Net::HTTPResponse response;
    std::string text;
    Poco::StreamCopier::copyToString(session.receiveResponse(response), text);
    nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
    if (!answer.is_object())
      return Error{place + ": this is no management port of Larder; see [management] port"};
    if (response.getStatus() != Poco::Net::HTTPResponse::HTTP_OK)
      return Error{place + ": " + answer.value("error", std::to_string(response.getStatus()))};
    return answer;
  } catch (const Poco::Exception& e) {
    return Error{place + ": no answer (" + e.displayText() + "); is the server running?"};
  }
}

}  // namespace larder::server
