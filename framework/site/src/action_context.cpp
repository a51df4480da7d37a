#include "action_context.h"

#include <sodium.h>

namespace larder::site {

namespace {

/// The server ends a session that is not used any more, and prolongs the others: the cookie has to
/// outlive them. Browsers keep none longer than 400 days (RFC 6265bis).
constexpr Millis kCookieLifetime = 400LL * 24 * 3600 * 1000;

bool sameSecret(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

RequestActionContext::RequestActionContext(Site& site, State* sessions, RequestState& state,
                                           const Route& route, CallContext& context)
    : site_(site),
      sessions_(sessions),
      state_(state),
      context_(context),
      reads_(site, state, route, no_arguments_, context, recorder_) {}

std::string_view RequestActionContext::contentType() const {
  return state_.request().header("content-type").value_or(std::string_view());
}

std::optional<std::string_view> RequestActionContext::form(std::string_view name) {
  if (!form_) {
    auto& params = form_.emplace();
    if (contentType().starts_with("application/x-www-form-urlencoded")) {
      if (const auto s = params.addForm(body(), {.count = 1000, .bytes = body().size() + 1});
          s != cache::ParamStatus::ok) {
        throw HttpError{400, "the form cannot be read: " + std::string(cache::describe(s))};
      }
    }
  }
  return form_->first(name);
}

Receipt RequestActionContext::edit(const std::function<void(Edit&)>& work) {
  const auto* who = state_.user();
  const CallContext::Writing writing(context_);
  return site_.store().edit(work,
                            who ? std::string_view(who->login) : std::string_view("anonymous"));
}

void RequestActionContext::requireCsrf() {
  if (const auto origin = state_.request().header("origin"); origin && *origin != state_.origin()) {
    throw HttpError{403, "this form was sent from another site (" + std::string(*origin) + ")"};
  }
  const auto* session = state_.session();
  if (!session) return;  // nothing to ride on
  const auto sent = form("csrf");
  if (!sent || !sameSecret(*sent, session->csrf)) {
    throw HttpError{403, "the form's token is missing or old: reload the page and send it again"};
  }
}

std::string RequestActionContext::sessionCookie(std::string_view token, Millis max_age) const {
  std::string cookie(kSessionCookie);
  cookie.append("=").append(token).append("; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
  cookie.append(std::to_string(max_age / 1000));
  if (state_.request().secure()) cookie.append("; Secure");
  return cookie;
}

bool RequestActionContext::logIn(std::string_view login, std::string_view password) {
  if (!sessions_) throw std::runtime_error("this site has no sessions");
  const auto result = sessions_->logIn(login, password, state_.request().peer());
  if (result.outcome == LogInOutcome::throttled) {
    throw HttpError{429, "too many failed attempts: try again in " +
                             std::to_string((result.retry_after + 999) / 1000) + " seconds"};
  }
  if (result.outcome != LogInOutcome::ok) return false;
  // A new token with each log-in: one that was planted beforehand is worth nothing.
  if (state_.hasSessionCookie()) sessions_->endSession(state_.sessionToken());
  const auto session = sessions_->startSession(result.user.id);
  set_cookie_ = sessionCookie(session.token, kCookieLifetime);
  state_.changeSession(session.token);
  return true;
}

void RequestActionContext::logOut() {
  if (sessions_ && state_.hasSessionCookie()) sessions_->endSession(state_.sessionToken());
  set_cookie_ = sessionCookie("", 0);
  state_.changeSession({});
}

}  // namespace larder::site
