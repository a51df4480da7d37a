#include "page_call.h"

#include "larder/ignore_case.h"
#include "larder/site/json.h"
#include "page_dates.h"
#include "render_context.h"
#include "site_internal.h"

namespace larder::site {

/// Owns the request that a PageCall borrows.
class DetachedCall final : public Call {
 public:
  explicit DetachedCall(const PageCall& call)
      : request_(copyRequest(call.state_.request())),
        state_(*request_, call.site_.state_),
        call_(call.site_, state_, call.route_, call.arguments_, call.form_) {
    ok_ = state_.parse() == cache::ParamStatus::ok;
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] const Target& target() const noexcept override { return call_.target(); }
  [[nodiscard]] const InputSource& inputs() const noexcept override { return call_.inputs(); }
  [[nodiscard]] Value render(CallContext& context, Recorder& recorder) override {
    return call_.render(context, recorder);
  }
  [[nodiscard]] std::unique_ptr<Call> detach() const override { return nullptr; }

 private:
  std::unique_ptr<RequestView> request_;
  RequestState state_;
  PageCall call_;
  bool ok_;
};

PageCall::PageCall(Site& site, RequestState& state, std::shared_ptr<const Route> route,
                   Document arguments, Form form)
    : site_(site),
      state_(state),
      route_(std::move(route)),
      arguments_(std::move(arguments)),
      form_(form),
      view_name_(form == Form::json ? std::string(kJsonForm) + route_->view->name
                                    : route_->view->name),
      inputs_(state_, arguments_),
      target_(route_->target(site.options().name, view_name_)) {}

PageCall::PageCall(Site& site, RequestState& state, const std::shared_ptr<const Route>& route,
                   OverHttp)
    : PageCall(site, state, route, Document(),
               route->memory->yields_document.load(std::memory_order_relaxed) ? Form::json
                                                                              : Form::value) {
  may_store_ = state.request().method() != "HEAD";
}

Answer PageCall::answerOverHttp(Site& site, RequestState& state,
                                const std::shared_ptr<const Route>& route, CallContext& context) {
  PageCall call(site, state, route, OverHttp());
  auto answer = site.engine_.call(call, context, nullptr);
  if (answer.entry->value.isPage()) return answer;
  route->memory->yields_document.store(true, std::memory_order_relaxed);
  PageCall json(site, state, route, OverHttp());
  return site.engine_.call(json, context, nullptr);
}

std::unique_ptr<Call> PageCall::detach() const {
  if (!may_store_) return nullptr;
  auto call = std::make_unique<DetachedCall>(*this);
  if (!call->ok()) return nullptr;
  return call;
}

Value PageCall::renderView(CallContext& context, Recorder& recorder) {
  RequestContext view_context(site_, *this, arguments_, context, recorder);
  try {
    return route_->view->view->render(view_context);
  } catch (const HttpError& e) {
    return errorPage(e.status, e.message);
  }
}

/// A view that has answered with a document may answer with a page, which is what it is.
Value PageCall::renderJson(CallContext& context, Recorder& recorder) {
  PageCall view(site_, state_, route_, arguments_);
  view.may_store_ = may_store_;
  const auto answer = site_.engine_.call(view, context, &recorder);
  if (answer.entry->value.isPage()) return answer.entry->value;
  Page page;
  page.setHeader("Content-Type", "application/json");
  page.body = toJson(answer.entry->value.document().root());
  return page;
}

Value PageCall::render(CallContext& context, Recorder& recorder) {
  // A render waits for its turn, in the background for long: what it renders may be of another type
  // by now.
  const auto now = context.snapshot().stamp();
  if (route_->stamp.schema != now.schema ||
      site_.engine_.ledger().judge(route_->stamp, route_->scopes, now.as_of) != Verdict::valid) {
    recorder.refuse("what answers this address may have changed before the render");
  }
  recorder.scopes(route_->scopes, route_->scope_names);
  Value value = form_ == Form::json ? renderJson(context, recorder) : renderView(context, recorder);
  const auto made = value.page();
  if (!made || !made->head.empty() || !site_.options().finish) return value;
  Page page = made->copy();
  // Before the head is made, which hits repeat.
  if (target_.policy->strip_set_cookie) {
    std::erase_if(page.headers, [](const Header& header) {
      return equalsIgnoringCase(header.name, "Set-Cookie");
    });
  }
  const bool current =
      route_->config->number == site_.config_number_.load(std::memory_order_acquire);
  page.last_modified = current ? site_.dates_->of(target_, recorder) : 0;
  site_.options().finish(page, recorder.isPrivate());
  return page;
}

}  // namespace larder::site
