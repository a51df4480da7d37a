// The management port: what the caches hold and how they do, and invalidation by hand.
//
//   GET  /@@health
//   GET  /@@caches?entries=1000&under=/handbook&sort=hits
//                                       managers, counters by view, objects and entries by path
//   GET  /@@explain?url=/handbook?page=2
//                                       how this is cached, and why the last miss was one
//   POST /@@invalidate                  {"path": "/handbook/dpkg"}, see parseInvalidation()
//
// Answers are JSON. Every request needs "Authorization: Bearer TOKEN" with the token of the data
// folder, a Host of this machine and, if it sends an Origin, one of this machine: so that no web
// page in somebody's browser can reach it. Without a token nothing is told, not even what exists.
//
//   LocalBackend backend(...);                  // of one process
//   ManagementHandler handler(backend, token);
//   auto server = http::Server::start(options, handler, clock);
//
// With several processes the supervisor serves the port; its backend asks every worker and adds up
// (supervisor.h). Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/app.h"
#include "larder/cache/scope.h"
#include "larder/http/handler.h"
#include "larder/result.h"

namespace larder::server {

struct ReportQuery {
  std::size_t entries = 1000;    ///< objects listed, and paths of each manager, largest first
  std::string under = "/";       ///< only these
  std::string sort = "lookups";  ///< what objects are listed first: one of kObjectColumns
};

/// What the list of objects can be sorted by: "path", else a number, the largest first. Recent hits
/// are those of the last five to ten minutes, the age is that of the oldest entry, the cost what
/// making all entries took.
inline constexpr std::array<std::string_view, 12> kObjectColumns = {
    "path",    "lookups",  "hits",    "recent_hits", "stale",   "misses",
    "renders", "saved_us", "entries", "bytes",       "cost_us", "age_ms"};

/// The error names the nearest valid one.
[[nodiscard]] Result<std::string> readObjectColumn(std::string_view name);

class ManagementBackend {
 public:
  virtual ~ManagementBackend() = default;
  /// A JSON object.
  [[nodiscard]] virtual std::string caches(const ReportQuery& query) = 0;
  [[nodiscard]] virtual std::string health() = 0;
  /// {"url", "processes": [...]}, of each process how it would answer a GET of this address.
  [[nodiscard]] virtual Result<std::string> explain(std::string_view url) = 0;
  /// When it returns a receipt, no request that starts later is served what was invalidated.
  [[nodiscard]] virtual Result<Receipt> invalidate(std::span<const Change> changes) = 0;
};

/// One of: {"path": "/a"} the object with all its views, {"path": "/a", "view": "page"},
/// {"subtree": "/a"}, {"tag": "news"}, {"table": "comment"}, {"manager": "fast", "at": "/"},
/// {"site": true}; with "hardness": "soft" what it covers may be served once more while it is
/// rendered anew. Paths are written as in a URL.
Result<std::vector<Change>> parseInvalidation(std::string_view json);

/// The JSON for the command line's notation: /a, /a/@@page, /a/**, tag:news, table:comment,
/// manager:fast, manager:/a:fast, site.
Result<std::string> invalidationBody(std::string_view target, bool soft);

/// 64 hexadecimal digits in `file`, mode 0600, made if it is missing. The error names the file.
Result<std::string> readOrMakeToken(const std::filesystem::path& file);
/// Without making one.
Result<std::string> readToken(const std::filesystem::path& file);
[[nodiscard]] std::filesystem::path tokenFile(const std::filesystem::path& data_folder);

/// What GET /@@proof?NONCE answers: that who answers knows the token, without telling it. Asked for
/// before the token is sent, since anybody may listen on the port while no server runs.
[[nodiscard]] std::string proofOfToken(std::string_view token, std::string_view nonce);
/// Of a nonce, characters.
inline constexpr std::size_t kNonceDigits = 64;

class ManagementHandler final : public http::Handler {
 public:
  /// The backend outlives it.
  ManagementHandler(ManagementBackend& backend, std::string_view token);

  http::Fast tryFast(const http::Request&, http::Response&) noexcept override {
    return http::Fast::ask;
  }
  void handle(const http::Request& request, http::Response& response,
              http::Finding* finding) noexcept override;

 private:
  [[nodiscard]] bool knowsToken(std::string_view authorization) const noexcept;
  void answer(const http::Request& request, http::Response& response);

  ManagementBackend& backend_;
  std::string token_digest_;
};

}  // namespace larder::server
