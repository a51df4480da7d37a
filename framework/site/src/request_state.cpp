#include "request_state.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "larder/cache/normaliser.h"

namespace larder::site {

cache::ParamStatus RequestState::parse() {
  if (!request_.rawQuery().empty()) {
    if (const auto s = params_.addForm(request_.rawQuery()); s != cache::ParamStatus::ok) return s;
  }
  return request_.readCookies(cookies_);
}

const std::string& RequestState::origin() {
  if (origin_.empty()) {
    origin_ = request_.secure() ? "https://" : "http://";
    origin_ += request_.authority();
  }
  return origin_;
}

const Session* RequestState::session() {
  if (!session_known_) {
    session_known_ = true;
    if (state_ && hasSessionCookie()) session_ = state_->session(sessionToken());
  }
  return session_ ? &*session_ : nullptr;
}

const User* RequestState::user() {
  const auto* s = session();
  return s && s->user ? &*s->user : nullptr;
}

bool RequestState::needsSession(const InputNames& names) const noexcept {
  return hasSessionCookie() && std::any_of(names.begin(), names.end(), [](const std::string& n) {
           return n == "user" || n == "roles" || n.starts_with("session:");
         });
}

namespace {

/// `ours`: of how many of them nothing is written.
void writeAll(std::string_view name, const cache::Params& params, KeyBuilder& key,
              std::size_t ours = 0) {
  key.input(name, 2 * (params.size() - ours));
  for (const auto& p : params) {
    if (ours > 0 && isOurCookie(p.name)) continue;
    key.text(p.name);
    key.text(p.value);
  }
}

void writeNamed(std::string_view name, const cache::Params& params, std::string_view wanted,
                KeyBuilder& key) {
  const auto n = params.count(wanted);
  if (n == 0) {
    key.absent(name);
    return;
  }
  key.input(name, n);
  for (const auto& p : params) {
    if (p.name == wanted) key.text(p.value);
  }
}

/// The values of a parameter or cookie as the normaliser leaves them.
void writeNormalised(std::string_view name, const Normaliser& normaliser,
                     const cache::Params& params, std::string_view wanted, KeyBuilder& key) {
  std::vector<std::string> values;
  for (const auto& p : params) {
    if (p.name != wanted) continue;
    if (auto value = normaliser.apply(p.value)) values.push_back(std::move(*value));
  }
  if (params.count(wanted) == 0) {
    if (auto value = normaliser.apply(std::nullopt)) values.push_back(std::move(*value));
  }
  if (values.empty()) return key.absent(name);
  key.input(name, values.size());
  for (const auto& value : values) key.text(value);
}

}  // namespace

void CallInputs::writeNormalisedInput(std::string_view name, KeyBuilder& key) const {
  const auto normaliser = Normaliser::ofInput(name);
  if (!normaliser) return key.absent(name);
  const std::string_view input = normaliser->input();
  const auto colon = input.find(':');
  const auto wanted = input.substr(colon + 1);
  if (input.starts_with("header:")) {
    const auto value = normaliser->apply(state_.request().header(wanted));
    if (!value) return key.absent(name);
    key.input(name, 1);
    key.text(*value);
  } else {
    writeNormalised(name, *normaliser,
                    input.starts_with("param:") ? state_.params() : state_.cookies(), wanted, key);
  }
}

void CallInputs::write(std::string_view name, KeyBuilder& key) const {
  if (name.starts_with(kNormalised)) return writeNormalisedInput(name, key);
  const auto colon = name.find(':');
  const auto kind = name.substr(0, colon);
  const auto rest = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  const auto& request = state_.request();
  if (kind == "param") {
    writeNamed(name, state_.params(), rest, key);
  } else if (kind == "params") {
    writeAll(name, state_.params(), key);
  } else if (kind == "cookie") {
    writeNamed(name, state_.cookies(), rest, key);
  } else if (kind == "cookies") {
    writeAll(name, state_.cookies(), key,
             state_.cookies().count(kSessionCookie) + state_.cookies().count(kReceiptCookie));
  } else if (kind == "header") {
    const auto value = request.header(rest);
    if (value) {
      key.input(name, 1);
      key.text(*value);
    } else {
      key.absent(name);
    }
  } else if (kind == "headers") {
    const auto all = request.headers();
    key.input(name, 2 * all.size());
    for (const auto& [n, value] : all) {
      key.text(n);
      key.text(value);
    }
  } else if (kind == "host") {
    key.input(name, 1);
    key.text(state_.origin());
  } else if (kind == "user") {
    // The immutable id, and every claim that a view can see.
    if (const auto* user = state_.user()) {
      key.input(name, 3 + user->roles.size());
      key.integer(user->id);
      key.text(user->login);
      key.text(user->name);
      for (const auto& role : user->roles) key.text(role);
    } else {
      key.absent(name);
    }
  } else if (kind == "roles") {
    if (const auto* user = state_.user()) {
      key.input(name, user->roles.size());
      for (const auto& role : user->roles) key.text(role);
    } else {
      key.absent(name);
    }
  } else if (kind == "session") {
    const auto* session = state_.session();
    const auto value =
        session ? session->values.find(rest) : decltype(session->values.find(rest)){};
    if (session && value != session->values.end()) {
      key.input(name, 1);
      key.text(value->second);
    } else {
      key.absent(name);
    }
  } else if (kind == "arg") {
    std::size_t index = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (index < arguments_.root().size()) {
      key.input(name, 1);
      key.node(arguments_.root().at(index));
    } else {
      key.absent(name);
    }
  } else {
    key.absent(name);
  }
}

}  // namespace larder::site
