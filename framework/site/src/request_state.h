// RequestState: what is parsed or looked up at most once per request, and the values of its inputs
// for cache keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "larder/cache/key_builder.h"
#include "larder/cache/learned_inputs.h"
#include "larder/cache/query.h"
#include "larder/document.h"
#include "larder/site/request.h"
#include "larder/site/state.h"

namespace larder::site {

/// Never an input: what they mean reaches views as user and session.
[[nodiscard]] constexpr bool isOurCookie(std::string_view name) noexcept {
  return name == kSessionCookie || name == kReceiptCookie;
}

/// Used by one thread.
class RequestState {
 public:
  /// `state` may be null: then there are no sessions.
  RequestState(const RequestView& request, State* state) : request_(request), state_(state) {}
  RequestState(const RequestState&) = delete;
  RequestState& operator=(const RequestState&) = delete;

  [[nodiscard]] const RequestView& request() const noexcept { return request_; }
  /// Parses the query and cookies; to be called, and found ok, before anything else.
  [[nodiscard]] cache::ParamStatus parse();
  [[nodiscard]] const cache::Params& params() const noexcept { return params_; }
  [[nodiscard]] const cache::Params& cookies() const noexcept { return cookies_; }
  /// "http://example.org"
  [[nodiscard]] const std::string& origin();
  [[nodiscard]] bool hasSessionCookie() const noexcept {
    return new_token_ ? !new_token_->empty() : cookies_.first(kSessionCookie).has_value();
  }
  [[nodiscard]] std::string_view sessionToken() const noexcept {
    return new_token_ ? *new_token_ : cookies_.first(kSessionCookie).value_or(std::string_view());
  }
  /// Looked up at the first call; null without a valid one.
  [[nodiscard]] const Session* session();
  [[nodiscard]] const User* user();
  /// After a log-in or log-out: the rest of the request is of the session with this token, or of
  /// none.
  void changeSession(std::string token) noexcept {
    new_token_ = std::move(token);
    session_known_ = false;
    session_.reset();
  }

  /// Whether writing these inputs needs a look-up of the session, which may wait.
  [[nodiscard]] bool needsSession(const InputNames& names) const noexcept;

 private:
  const RequestView& request_;
  State* state_;
  cache::Params params_;
  cache::Params cookies_;
  std::string origin_;
  std::optional<std::string> new_token_;
  std::optional<Session> session_;
  bool session_known_ = false;
};

/// The inputs of one call: the request's, and the arguments of the call.
class CallInputs final : public InputSource {
 public:
  CallInputs(RequestState& state, const Document& arguments)
      : state_(state), arguments_(arguments) {}
  void write(std::string_view name, KeyBuilder& key) const override;

 private:
  void writeNormalisedInput(std::string_view name, KeyBuilder& key) const;
  RequestState& state_;
  const Document& arguments_;
};

}  // namespace larder::site
