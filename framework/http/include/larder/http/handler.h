// Handler: what the front serves. The one interface between HTTP and the application server.
#pragma once

#include <cstdint>
#include <string_view>

#include "larder/clock.h"
#include "larder/http/request.h"
#include "larder/http/response.h"

namespace larder::http {

/// One finished answer, for counters and the access log.
struct Served {
  int status = 0;
  std::uint64_t body_bytes = 0;  ///< 0 for HEAD
  bool fast = false;             ///< answered by tryFast()
  Millis duration = 0;           ///< from the complete request to the answer's first bytes
};

/// Called from several threads at once. Outlives the server. A request arrives whole: a body that
/// was cut off is never seen here, and one that is not read does no harm.
class Handler {
 public:
  virtual ~Handler() = default;

  /// On a reactor thread, so it must not block: every connection of that thread waits. True: the
  /// response is filled (a hit). False: handle() is asked on a worker; what was set in the response
  /// is dropped.
  virtual bool tryFast(const Request& request, Response& response) noexcept = 0;

  /// On a worker thread; may take its time.
  virtual void handle(const Request& request, Response& response) noexcept = 0;

  /// On a reactor thread after each answer to a request; must not block.
  virtual void served(const Request& request, const Served& answer) noexcept {
    (void)request;
    (void)answer;
  }

  /// On a reactor thread after the front refused a message by itself (400, 408, 413, 414 ...):
  /// there is no request to speak of. `reason` is static text. Must not block.
  virtual void refused(const PeerAddress& peer, int status, std::string_view reason) noexcept {
    (void)peer;
    (void)status;
    (void)reason;
  }
};

}  // namespace larder::http
