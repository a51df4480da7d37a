#include "management_client.h"

#include <Poco/Exception.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/StreamCopier.h>
#include <Poco/Timespan.h>
#include <sodium.h>

#include <array>
#include <fstream>

#include "larder/server/management.h"
#include "management_port.h"

namespace larder::server {
namespace {

constexpr long kPatienceSeconds = 20;

struct Answer {
  Poco::Net::HTTPResponse head;
  nlohmann::json body;
};

Answer receive(Poco::Net::HTTPClientSession& session) {
  Answer answer;
  std::string text;
  Poco::StreamCopier::copyToString(session.receiveResponse(answer.head), text);
  answer.body = nlohmann::json::parse(text, nullptr, false);
  return answer;
}

/// Whether who is at the other end knows the token.
bool isLarder(Poco::Net::HTTPClientSession& session, const std::string& token) {
  if (::sodium_init() < 0) return false;
  std::array<unsigned char, kNonceDigits / 2> bytes;
  ::randombytes_buf(bytes.data(), bytes.size());
  std::array<char, kNonceDigits + 1> nonce;
  ::sodium_bin2hex(nonce.data(), nonce.size(), bytes.data(), bytes.size());
  Poco::Net::HTTPRequest request(Poco::Net::HTTPRequest::HTTP_GET,
                                 std::string("/@@proof?") + nonce.data(),
                                 Poco::Net::HTTPMessage::HTTP_1_1);
  session.sendRequest(request);
  const nlohmann::json answer = receive(session).body;
  return answer.is_object() && answer.contains("proof") &&
         answer["proof"] == proofOfToken(token, nonce.data());
}

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
    session.setKeepAlive(true);  // so that the token goes to who has proved to know it
    if (!isLarder(session, token_)) {
      return Error{place +
                   ": who listens there does not know this site's token, and was not told it; see "
                   "[management] port, or start the server"};
    }
    Poco::Net::HTTPRequest request(method, target, Poco::Net::HTTPMessage::HTTP_1_1);
    request.set("Authorization", "Bearer " + token_);
    if (!body.empty()) {
      request.setContentType("application/json");
      request.setContentLength(static_cast<std::streamsize>(body.size()));
    }
    session.sendRequest(request) << body;
    Answer answer = receive(session);
    if (!answer.body.is_object())
      return Error{place + ": this is no management port of Larder; see [management] port"};
    const int status = answer.head.getStatus();
    if (status != Poco::Net::HTTPResponse::HTTP_OK)
      return Error{place + ": " + answer.body.value("error", std::to_string(status))};
    return std::move(answer.body);
  } catch (const Poco::Exception& e) {
    return Error{place + ": no answer (" + e.displayText() + "); is the server running?"};
  }
}

}  // namespace larder::server
