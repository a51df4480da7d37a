#include "larder/site/request.h"

#include <algorithm>

#include "larder/ignore_case.h"

namespace larder::site {

namespace {

class OwnedRequest final : public RequestView {
 public:
  explicit OwnedRequest(const RequestView& r)
      : method_(r.method()),
        path_(r.rawPath()),
        query_(r.rawQuery()),
        authority_(r.authority()),
        peer_(r.peer()),
        secure_(r.secure()) {
    for (const auto& [name, value] : r.headers()) headers_.emplace_back(name, value);
  }
  [[nodiscard]] std::string_view method() const noexcept override { return method_; }
  [[nodiscard]] std::string_view rawPath() const noexcept override { return path_; }
  [[nodiscard]] std::string_view rawQuery() const noexcept override { return query_; }
  [[nodiscard]] std::string_view authority() const noexcept override { return authority_; }
  [[nodiscard]] bool secure() const noexcept override { return secure_; }
  [[nodiscard]] std::optional<std::string_view> header(
      std::string_view name) const noexcept override {
    for (const auto& [n, value] : headers_) {
      if (equalsIgnoringCase(n, name)) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] Fields headers() const override { return Fields(headers_.begin(), headers_.end()); }
  [[nodiscard]] cache::ParamStatus readCookies(cache::Params& cookies) const override {
    for (const auto& [name, value] : headers_) {
      if (!equalsIgnoringCase(name, "cookie")) continue;
      if (const auto s = cookies.addCookies(value); s != cache::ParamStatus::ok) return s;
    }
    return cache::ParamStatus::ok;
  }
  [[nodiscard]] std::string_view body() const noexcept override { return {}; }
  [[nodiscard]] std::string peer() const override { return peer_; }

 private:
  std::string method_, path_, query_, authority_, peer_;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool secure_;
};

}  // namespace

std::unique_ptr<RequestView> copyRequest(const RequestView& request) {
  return std::make_unique<OwnedRequest>(request);
}

}  // namespace larder::site
