// Handler: what the front serves. The one interface between HTTP and the application server.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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

/// What tryFast() came to.
enum class Fast : std::uint8_t {
  answered,  ///< the response is filled (a hit)
  ask,       ///< handle() is to be asked, on a worker
  gather,    ///< first tryTogether(), with the other requests that wait for one
};

/// What tryTogether() learned about a request that it did not answer, for handle().
class Finding {
 public:
  virtual ~Finding() = default;
};

/// One of the requests of tryTogether().
struct Attempt {
  const Request& request;
  Response& response;
  std::unique_ptr<Finding> finding = nullptr;
  bool answered = false;
};

/// Called from several threads at once. Outlives the server. A request arrives whole: a body that
/// was cut off is never seen here, and one that is not read does no harm.
class Handler {
 public:
  virtual ~Handler() = default;

  /// On a reactor thread, so it must not block: every connection of that thread waits. Unless it
  /// answers, what was set in the response is dropped.
  virtual Fast tryFast(const Request& request, Response& response) noexcept = 0;

  /// On a worker thread: answers those of some requests that one round trip to a shared cache
  /// answers. The response of another one stays empty.
  virtual void tryTogether(std::span<Attempt> attempts) noexcept { (void)attempts; }

  /// On a worker thread; may take its time. `finding`: of tryTogether(), or null.
  virtual void handle(const Request& request, Response& response, Finding* finding) noexcept = 0;

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
