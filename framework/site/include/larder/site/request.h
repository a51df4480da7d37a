// The request as the site sees it, whatever protocol brought it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache/query.h"

namespace larder::site {

/// Borrowed during one request. Header names are compared without case.
class RequestView {
 public:
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

  virtual ~RequestView() = default;
  [[nodiscard]] virtual std::string_view method() const noexcept = 0;
  /// Undecoded, before '?' and after it.
  [[nodiscard]] virtual std::string_view rawPath() const noexcept = 0;
  [[nodiscard]] virtual std::string_view rawQuery() const noexcept = 0;
  /// Host and port as the client named them.
  [[nodiscard]] virtual std::string_view authority() const noexcept = 0;
  [[nodiscard]] virtual bool secure() const noexcept = 0;
  [[nodiscard]] virtual std::optional<std::string_view> header(
      std::string_view name) const noexcept = 0;
  /// Every header in order.
  [[nodiscard]] virtual Fields headers() const = 0;
  /// Appends the cookies of all Cookie fields, in order.
  [[nodiscard]] virtual cache::ParamStatus readCookies(cache::Params& cookies) const = 0;
  [[nodiscard]] virtual std::string_view body() const noexcept = 0;
  /// Address of the client, for throttling.
  [[nodiscard]] virtual std::string peer() const = 0;
};

/// A copy that outlives the request, without its body: for a render in the background.
[[nodiscard]] std::unique_ptr<RequestView> copyRequest(const RequestView& request);

}  // namespace larder::site
