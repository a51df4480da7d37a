// PageCall: one cached call of a view of an object, as the engine sees it.
#pragma once

#include <memory>
#include <string>

#include "larder/cache/engine.h"
#include "request_state.h"
#include "route.h"

namespace larder::site {

class PageCall final : public Call {
 public:
  enum class Form : std::uint8_t {
    value,  ///< what the view returns
    json,   ///< a page with the JSON text of what the view returns
  };
  /// As the view is expected to answer over HTTP, from what it answered before.
  [[nodiscard]] static Form formOverHttp(const Route& route) noexcept {
    return route.memory->yields_document.load(std::memory_order_relaxed) ? Form::json : Form::value;
  }
  PageCall(Site& site, RequestState& state, std::shared_ptr<const Route> route,
           Document arguments = {}, Form form = Form::value);

  [[nodiscard]] const Target& target() const noexcept override { return target_; }
  [[nodiscard]] const InputSource& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] Value render(CallContext& context, Recorder& recorder) override;
  [[nodiscard]] std::unique_ptr<Call> detach() const override;
  [[nodiscard]] RequestState& state() const noexcept { return state_; }
  [[nodiscard]] const std::shared_ptr<const Route>& route() const noexcept { return route_; }

 private:
  friend class DetachedCall;
  [[nodiscard]] Value renderView(CallContext& context, Recorder& recorder);

  Site& site_;
  RequestState& state_;
  std::shared_ptr<const Route> route_;
  Document arguments_;
  Form form_;
  std::string view_name_;
  CallInputs inputs_;
  Target target_;
};

/// The page that tells of an error.
[[nodiscard]] Page errorPage(int status, std::string_view message);

}  // namespace larder::site
