// Request: one complete request as a handler sees it, its body included.
//
// Borrows everything; lives until its answer is complete. One thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "larder/cache/query.h"
#include "larder/http/message.h"

namespace larder::http {

/// Address of a client.
struct PeerAddress {
  std::array<std::uint8_t, 16> bytes{};  ///< network order; IPv4 uses the first four
  std::uint16_t port = 0;
  bool ipv6 = false;

  /// "192.0.2.1" or "2001:db8::1".
  [[nodiscard]] std::string host() const;
};

class Request {
 public:
  Request(const RequestHead& head, std::string_view body, const PeerAddress& peer, bool secure,
          const std::atomic<bool>* cancelled = nullptr) noexcept
      : head_(&head), body_(body), peer_(&peer), cancelled_(cancelled), secure_(secure) {}

  /// Everything about the head: fields, framing, version.
  [[nodiscard]] const RequestHead& head() const noexcept { return *head_; }
  [[nodiscard]] Method method() const noexcept { return head_->method(); }
  [[nodiscard]] std::string_view methodName() const noexcept { return head_->methodName(); }
  [[nodiscard]] std::string_view target() const noexcept { return head_->target(); }
  /// Undecoded; cache::canonicalPath() makes it usable.
  [[nodiscard]] std::string_view path() const noexcept { return head_->path(); }
  /// Undecoded; cache::Params::addForm() makes it usable.
  [[nodiscard]] std::string_view query() const noexcept { return head_->query(); }
  [[nodiscard]] std::string_view authority() const noexcept { return head_->authority(); }
  [[nodiscard]] std::string_view host() const noexcept { return head_->host(); }
  /// The first field of that name, compared without case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept {
    return head_->field(name);
  }
  /// Appends the cookies of all Cookie fields, in order.
  cache::ParamStatus readCookies(cache::Params& cookies,
                                 const cache::ParamLimits& limits = {}) const;
  /// Complete, with any transfer coding taken off.
  [[nodiscard]] std::string_view body() const noexcept { return body_; }
  /// Where the client is: at the other end of the connection, or behind a proxy there that the
  /// server's options name.
  [[nodiscard]] const PeerAddress& peer() const noexcept { return *peer_; }
  /// The client reaches the server by TLS.
  [[nodiscard]] bool secure() const noexcept { return secure_; }
  /// The client has gone: nobody will see the answer.
  [[nodiscard]] bool cancelled() const noexcept {
    return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
  }

 private:
  const RequestHead* head_;
  std::string_view body_;
  const PeerAddress* peer_;
  const std::atomic<bool>* cancelled_;
  bool secure_;
};

}  // namespace larder::http
