// PageCall: one cached call of a view of an object, as the engine sees it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "larder/cache/engine.h"
#include "request_state.h"
#include "route.h"

namespace larder::site {

class PageCall final : public Call {
 public:
  /// By another view: the value is what the view returns.
  PageCall(Site& site, RequestState& state, std::shared_ptr<const Route> route, Document arguments)
      : PageCall(site, state, std::move(route), std::move(arguments), Form::value) {}
  /// By a visitor: a document is answered as JSON. Its text is asked for at once where the view has
  /// answered with a document before; else the result may be one, see answerOverHttp().
  struct OverHttp {};
  PageCall(Site& site, RequestState& state, const std::shared_ptr<const Route>& route, OverHttp);
  /// The page that a visitor gets.
  [[nodiscard]] static Answer answerOverHttp(Site& site, RequestState& state,
                                             const std::shared_ptr<const Route>& route,
                                             CallContext& context);

  [[nodiscard]] const Target& target() const noexcept override { return target_; }
  [[nodiscard]] const InputSource& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] Value render(CallContext& context, Recorder& recorder) override;
  [[nodiscard]] std::unique_ptr<Call> detach() const override;
  [[nodiscard]] bool mayStore() const noexcept override { return may_store_; }
  [[nodiscard]] RequestState& state() const noexcept { return state_; }
  [[nodiscard]] const std::shared_ptr<const Route>& route() const noexcept { return route_; }

 private:
  friend class DetachedCall;
  enum class Form : std::uint8_t {
    value,  ///< what the view returns
    json,   ///< a page with the JSON text of what the view returns
  };
  PageCall(Site& site, RequestState& state, std::shared_ptr<const Route> route, Document arguments,
           Form form);
  [[nodiscard]] Value renderJson(CallContext& context, Recorder& recorder);
  [[nodiscard]] Value renderView(CallContext& context, Recorder& recorder);

  Site& site_;
  RequestState& state_;
  std::shared_ptr<const Route> route_;
  Document arguments_;
  Form form_;
  bool may_store_ = true;
  std::string view_name_;
  CallInputs inputs_;
  Target target_;
};

}  // namespace larder::site
