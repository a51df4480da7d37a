#include "larder/server/management.h"
#include "larder/view.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "larder/cache/path.h"
#include "larder/cache/suggest.h"

namespace larder::server {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEntries = 100'000;

std::string digestOfToken(std::string_view token) {
  std::array<unsigned char, crypto_generichash_BYTES> digest;
  ::crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<const unsigned char*>(token.data()), token.size(), nullptr,
                       0);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string proofBy(std::string_view token_digest, std::string_view nonce) {
  std::array<unsigned char, crypto_generichash_BYTES> proof;
  ::crypto_generichash(proof.data(), proof.size(),
                       reinterpret_cast<const unsigned char*>(nonce.data()), nonce.size(),
                       reinterpret_cast<const unsigned char*>(token_digest.data()),
                       token_digest.size());
  std::array<char, 2 * crypto_generichash_BYTES + 1> digits;
  ::sodium_bin2hex(digits.data(), digits.size(), proof.data(), proof.size());
  return digits.data();
}

void respond(http::Response& response, int status, const json& body) {
  response.setStatus(status);
  response.addHeader("Content-Type", "application/json");
  response.addHeader("Cache-Control", "no-store");
  response.addHeader("X-Content-Type-Options", "nosniff");
  response.setBody(body.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

void refuse(http::Response& response, int status, std::string_view what) {
  respond(response, status, {{"error", what}});
}

/// The host of "host:port", "[::1]:port".
std::string_view hostOnly(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

/// A name that a browser cannot be led to by somebody else's DNS.
bool isThisMachine(std::string_view authority) {
  const std::string_view host = hostOnly(authority);
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

bool isOwnOrigin(std::string_view origin, std::string_view authority) {
  constexpr std::string_view kScheme = "http://";
  return origin.starts_with(kScheme) && origin.substr(kScheme.size()) == authority;
}

Result<ReportQuery> readQuery(std::string_view text) {
  ReportQuery query;
  cache::Params params;
  if (const auto status = params.addForm(text); status != cache::ParamStatus::ok)
    return Error{std::string(cache::describe(status))};
  for (const cache::Param& param : params) {
    if (param.name == "entries") {
      const char* end = param.value.data() + param.value.size();
      const auto [stop, error] = std::from_chars(param.value.data(), end, query.entries);
      if (error != std::errc() || stop != end || query.entries > kMostEntries)
        return Error{"entries must be a number up to " + std::to_string(kMostEntries)};
    } else if (param.name == "under") {
      std::string scratch;
      const std::string encoded = urlPath(param.value);
      const auto path = cache::canonicalPath(encoded, scratch);
      if (path.status != cache::PathStatus::ok) return Error{"under must be a path of the site"};
      query.under = path.full;
    } else if (param.name == "sort") {
      auto column = readObjectColumn(param.value);
      if (!column) return column.error();
      query.sort = std::move(*column);
    } else {
      return Error{"unknown parameter '" + std::string(param.name) +
                   "'; valid: entries, sort, under"};
    }
  }
  return query;
}

Result<std::string> readUrl(std::string_view text) {
  cache::Params params;
  if (const auto status = params.addForm(text); status != cache::ParamStatus::ok)
    return Error{std::string(cache::describe(status))};
  if (params.size() != 1 || !params.first("url"))
    return Error{"give the address as url=, percent-encoded, and nothing else"};
  return std::string(*params.first("url"));
}

bool isJson(std::string_view content_type) {
  return content_type.substr(0, content_type.find(';')) == "application/json";
}

}  // namespace

Result<std::string> readObjectColumn(std::string_view name) {
  if (std::ranges::find(kObjectColumns, name) != kObjectColumns.end()) return std::string(name);
  return Error{"objects cannot be sorted by '" + std::string(name) + "'" +
               didYouMean(name, kObjectColumns)};
}

std::string proofOfToken(std::string_view token, std::string_view nonce) {
  return proofBy(digestOfToken(token), nonce);
}

ManagementHandler::ManagementHandler(ManagementBackend& backend, std::string_view token)
    : backend_(backend), token_digest_(digestOfToken(token)) {}

bool ManagementHandler::knowsToken(std::string_view authorization) const noexcept {
  constexpr std::string_view kScheme = "Bearer ";
  if (!authorization.starts_with(kScheme)) return false;
  // Digests have one length, so that neither length nor first difference shows in the time.
  const std::string given = digestOfToken(authorization.substr(kScheme.size()));
  return ::sodium_memcmp(given.data(), token_digest_.data(), token_digest_.size()) == 0;
}

void ManagementHandler::handle(const http::Request& request, http::Response& response,
                               http::Finding*) noexcept {
  try {
    answer(request, response);
  } catch (const std::exception& e) {
    response.clear();
    refuse(response, 500, e.what());
  }
}

void ManagementHandler::answer(const http::Request& request, http::Response& response) {
  if (!isThisMachine(request.authority()))
    return refuse(response, 421, "ask for this machine by its loopback address");
  const auto origin = request.header("Origin");
  if (origin && !isOwnOrigin(*origin, request.authority()))
    return refuse(response, 403, "not from pages of another origin");
  const std::string_view path = request.path();
  if (path == "/@@proof" && request.query().size() == kNonceDigits)
    return respond(response, 200, {{"proof", proofBy(token_digest_, request.query())}});
  if (!knowsToken(request.header("Authorization").value_or(""))) {
    response.addHeader("WWW-Authenticate", "Bearer realm=\"larder\"");
    return refuse(response, 401, "the token of the data folder is missing or wrong");
  }

  const bool is_post = request.method() == http::Method::post;
  const bool is_get = request.method() == http::Method::get;
  if (path == "/@@invalidate") {
    if (!is_post) {
      response.addHeader("Allow", "POST");
      return refuse(response, 405, "use POST");
    }
    if (!isJson(request.header("Content-Type").value_or("")))
      return refuse(response, 415, "send Content-Type: application/json");
    const auto changes = parseInvalidation(request.body());
    if (!changes) return refuse(response, 400, changes.error().message);
    const auto receipt = backend_.invalidate(*changes);
    if (!receipt) return refuse(response, 503, receipt.error().message);
    json scopes = json::array();
    for (const Change& change : *changes) scopes.push_back(change.scope);
    // The era is 64 random bits, more than a JavaScript number holds.
    return respond(response, 200,
                   {{"seq", receipt->seq},
                    {"era", std::to_string(receipt->era)},
                    {"invalidated", std::move(scopes)}});
  }
  if (path != "/@@caches" && path != "/@@health" && path != "/@@explain")
    return refuse(response, 404, "there are /@@health, /@@caches, /@@explain and /@@invalidate");
  if (!is_get) {
    response.addHeader("Allow", "GET");
    return refuse(response, 405, "use GET");
  }
  if (path == "/@@explain") {
    const auto url = readUrl(request.query());
    if (!url) return refuse(response, 400, url.error().message);
    const auto explained = backend_.explain(*url);
    if (!explained) return refuse(response, 404, explained.error().message);
    return respond(response, 200, json::parse(*explained));
  }
  const auto query = readQuery(request.query());
  if (!query) return refuse(response, 400, query.error().message);
  respond(response, 200,
          json::parse(path == "/@@health" ? backend_.health() : backend_.caches(*query)));
}

}  // namespace larder::server
