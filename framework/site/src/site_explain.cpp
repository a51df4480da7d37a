#include "larder/cache/path.h"
#include "page_call.h"
#include "site_internal.h"

namespace larder::site {

Result<Explanation> Site::explain(const RequestView& request) try {
  std::string scratch;
  const auto path = cache::canonicalPath(request.rawPath(), scratch);
  if (path.status != cache::PathStatus::ok)
    return Error{"the path cannot be shown: " + std::string(path.problem)};
  RequestState state(request, state_);
  if (const auto s = state.parse(); s != cache::ParamStatus::ok)
    return Error{"the parameters cannot be read: " + std::string(cache::describe(s))};
  const auto snapshot = store_.read();
  const auto route = resolve(path.object, path.view, "GET", *snapshot);
  Explanation e;
  e.path = route->path;
  e.view = route->view->name;
  e.app = route->mount->path;
  e.policy = route->binding->policy;
  if (const auto* rules = route->binding->rules) {
    e.settings = rules->settings;
    e.manager_origin = rules->manager_origin;
    for (const auto index : rules->rules)
      e.rules.push_back(route->config->config.rules->rules()[index]);
  }
  if (const auto& m = route->binding->manager) {
    e.manager = m->identity();
    e.waits = m->waits();
  }
  if (!route->binding->manager) e.why_not = "no cache manager serves it";
  if (e.policy.mode == KeyMode::off) e.why_not = "its mode is \"off\"";
  if (e.policy.mode == KeyMode::observe) e.why_not = "its mode is \"observe\"";
  if (route->binding->trust.lost()) e.why_not = "too many of its audits differed";
  const auto deadline = addMillis(options_.clock->monotonic(), options_.cache_timeout);
  PageCall call(*this, state, route, PageCall::OverHttp());
  e.inspection = engine_.inspect(call, deadline);
  return e;
} catch (const HttpError& e) {
  return Error{e.message};
} catch (const MethodNotAllowed&) {
  return Error{"nothing answers GET at " + std::string(request.rawPath())};
} catch (const std::exception& e) {
  return Error{e.what()};
}

}  // namespace larder::site
