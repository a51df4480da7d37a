// RequestActionContext: what an action sees: all that a view sees, and the means to change things.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "larder/app.h"
#include "render_context.h"

namespace larder::site {

/// Everything a view can read is read through an inner RequestContext; nothing of an action is
/// stored, so what that records is dropped.
class RequestActionContext final : public ActionContext {
 public:
  RequestActionContext(Site& site, State* sessions, RequestState& state, const Route& route,
                       CallContext& context);

  std::optional<std::string_view> param(std::string_view name) override {
    return reads_.param(name);
  }
  std::vector<std::string_view> paramAll(std::string_view name) override {
    return reads_.paramAll(name);
  }
  std::vector<std::pair<std::string_view, std::string_view>> params() override {
    return reads_.params();
  }
  std::optional<std::string_view> header(std::string_view name) override {
    return reads_.header(name);
  }
  std::optional<std::string_view> cookie(std::string_view name) override {
    return reads_.cookie(name);
  }
  std::string_view origin() override { return reads_.origin(); }
  const User* user() override { return reads_.user(); }
  bool hasRole(std::string_view role) override { return reads_.hasRole(role); }
  std::optional<std::string_view> session(std::string_view name) override {
    return reads_.session(name);
  }
  std::string csrfToken() override { return reads_.csrfToken(); }
  const Node& arg(std::size_t index) override { return reads_.arg(index); }
  Millis now() override { return reads_.now(); }
  std::uint64_t random() override { return reads_.random(); }
  std::string_view pathVariable(std::string_view name) override {
    return reads_.pathVariable(name);
  }
  std::string_view path() override { return reads_.path(); }
  std::string_view viewName() override { return reads_.viewName(); }
  std::string_view appPath() override { return reads_.appPath(); }
  ObjectPtr object() override { return reads_.object(); }
  ObjectPtr open(std::string_view path) override { return reads_.open(path); }
  std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query) override {
    return reads_.children(path, query);
  }
  std::size_t countChildren(std::string_view path, const ChildrenQuery& query) override {
    return reads_.countChildren(path, query);
  }
  Document row(std::string_view table, std::int64_t id) override { return reads_.row(table, id); }
  Document query(std::string_view sql, const Arguments& arguments,
                 const QueryLimits& limits) override {
    return reads_.query(sql, arguments, limits);
  }
  Document acquire(std::string_view property) override { return reads_.acquire(property); }
  Value call(std::string_view path, std::string_view view,
             std::span<const Tree> arguments) override {
    return reads_.call(path, view, arguments);
  }
  Document sql(std::string_view name, const Arguments& arguments) override {
    return reads_.sql(name, arguments);
  }
  void tag(std::string_view name) override { reads_.tag(name); }
  void maxAge(Millis limit) override { reads_.maxAge(limit); }
  void expiresAt(Millis wall) override { reads_.expiresAt(wall); }
  void noStore(std::string_view reason) override { reads_.noStore(reason); }

  [[nodiscard]] std::string_view method() const override { return state_.request().method(); }
  [[nodiscard]] std::string_view body() const override { return state_.request().body(); }
  [[nodiscard]] std::string_view contentType() const override;
  [[nodiscard]] std::optional<std::string_view> form(std::string_view name) override;
  Receipt edit(const std::function<void(Edit&)>& work) override;
  void requireCsrf() override;
  bool logIn(std::string_view login, std::string_view password) override;
  void logOut() override;

  /// Set-Cookie of a log-in or log-out; empty if neither happened.
  [[nodiscard]] const std::string& setCookie() const noexcept { return set_cookie_; }

 private:
  [[nodiscard]] std::string sessionCookie(std::string_view token, Millis max_age) const;

  Site& site_;
  State* sessions_;
  RequestState& state_;
  CallContext& context_;
  Document no_arguments_;
  Recorder recorder_;
  RequestContext reads_;
  std::optional<cache::Params> form_;
  std::string set_cookie_;
};

}  // namespace larder::site
