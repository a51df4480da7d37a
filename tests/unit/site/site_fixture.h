// What tests of a whole site share: a site over the store, requests, views that are functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../cache/engine_fixture.h"
#include "larder/site/site.h"
#include "store_fixture.h"

namespace larder::site {

class FakeRequest final : public RequestView {
 public:
  struct Parts {
    std::string method = "GET";
    std::string path;
    std::string query = {};
    std::string cookies = {};
  };
  explicit FakeRequest(Parts parts) : parts_(std::move(parts)) {}
  [[nodiscard]] std::string_view method() const noexcept override { return parts_.method; }
  [[nodiscard]] std::string_view rawPath() const noexcept override { return parts_.path; }
  [[nodiscard]] std::string_view rawQuery() const noexcept override { return parts_.query; }
  [[nodiscard]] std::string_view authority() const noexcept override { return "site.test"; }
  [[nodiscard]] bool secure() const noexcept override { return false; }
  [[nodiscard]] std::optional<std::string_view> header(std::string_view) const noexcept override {
    return std::nullopt;
  }
  [[nodiscard]] Fields headers() const override { return {}; }
  [[nodiscard]] cache::ParamStatus readCookies(cache::Params& cookies) const override {
    return parts_.cookies.empty() ? cache::ParamStatus::ok : cookies.addCookies(parts_.cookies);
  }
  [[nodiscard]] std::string_view body() const noexcept override { return {}; }
  [[nodiscard]] std::string peer() const override { return "192.0.2.1"; }

 private:
  Parts parts_;
};

struct FunctionView final : View {
  using Code = std::function<std::string(RenderContext&)>;
  explicit FunctionView(Code view_code) : code(std::move(view_code)) {}
  Value render(RenderContext& context) override {
    Page page;
    page.body = code(context);
    return page;
  }
  Code code;
};

class WholeSiteTest : public StoreTest {
 protected:
  /// As the front does: what takes more than a look-up is handled.
  Reply answer(FakeRequest::Parts parts) {
    const FakeRequest request(std::move(parts));
    Reply reply;
    if (request.method() != "GET" || site_->tryFast(request, reply) != Quick::hit) {
      reply = {};
      site_->handle(request, reply);
    }
    return reply;
  }
  std::unique_ptr<Site> makeSite() {
    return std::make_unique<Site>(SiteOptions{.clock = &clock_,
                                              .executor = &executor_,
                                              .log = [](LogLevel, std::string_view) {},
                                              .finish = [](Page&, bool) {}},
                                  *store_, state_.get(), engine_);
  }

  larder::testing::ManualExecutor executor_{clock_,
                                            larder::testing::ManualExecutor::Waiting::drives};
  std::unique_ptr<State> state_ = [this] {
    StateOptions options;
    options.data_dir = dir_.file("var");
    options.clock = &clock_;
    return State::open(std::move(options));
  }();
  Engine engine_{store_->ledger(), *store_, clock_, executor_, {}, {}};
  std::unique_ptr<Site> site_ = makeSite();
};

}  // namespace larder::site
