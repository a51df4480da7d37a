// Pages that are had without making anything: one at once, or several in one round trip.
#include <deque>

#include "larder/cache/path.h"
#include "page_call.h"
#include "site_internal.h"

namespace larder::site {

/// A request whose page may be looked up; stays where it was made.
struct Site::Lookable {
  explicit Lookable(const RequestView& request_in) : request(request_in) {}
  const RequestView& request;
  std::string scratch;
  std::string_view path;  ///< canonical, with the view
  RoutePtr route;
  std::optional<RequestState> state;
  std::optional<PageCall> call;
};

/// Whether a hit is all that it takes to answer.
bool Site::findRoute(Lookable& lookable) noexcept {
  const auto path = cache::canonicalPath(lookable.request.rawPath(), lookable.scratch);
  if (path.status != cache::PathStatus::ok) return false;
  lookable.path = path.full;
  lookable.route = cachedRoute(path.full);
  return lookable.route && lookable.route->view->permission.empty() &&
         !lookable.route->view->internal && lookable.route->binding->manager;
}

bool Site::prepare(Lookable& lookable) {
  RequestState& state = lookable.state.emplace(lookable.request, state_);
  const Route& route = *lookable.route;
  if (state.parse() != cache::ParamStatus::ok ||
      state.needsSession(route.binding->inputs->known()) || !observeFor(state)) {
    return false;
  }
  lookable.call.emplace(*this, state, lookable.route, PageCall::OverHttp());
  return true;
}

bool Site::take(std::optional<Answer>& answer, const Lookable& lookable, Reply& reply) {
  if (!answer || !answer->entry->value.isPage()) return false;
  fill(reply, std::move(*answer), *lookable.route);
  offer(lookable.request, lookable.path, *lookable.route, reply);
  return true;
}

Quick Site::tryFast(const RequestView& request, Reply& reply) noexcept try {
  if (!engine_.ledger().observe()) return Quick::ask;
  Lookable lookable(request);
  if (!findRoute(lookable)) return Quick::ask;
  const Binding& binding = *lookable.route->binding;
  const auto waits = binding.manager->waits();
  if (waits != Waits::always) {
    if (!prepare(lookable)) return Quick::ask;
    auto answer = engine_.tryHit(*lookable.call, options_.clock->monotonic());
    if (take(answer, lookable, reply)) return Quick::hit;
  }
  return waits != Waits::never && binding.policy.prefetch ? Quick::gather : Quick::ask;
} catch (...) {
  return Quick::ask;
}

void Site::tryTogether(std::span<Gathered> requests) noexcept try {
  // All of them have arrived, so what is observed now is new enough for each.
  if (!engine_.ledger().observe()) return;
  std::deque<Lookable> lookables;
  std::vector<Engine::Look> looks;
  std::vector<Gathered*> asked;
  for (Gathered& one : requests) {
    Lookable& lookable = lookables.emplace_back(*one.request);
    if (!findRoute(lookable) || !prepare(lookable)) {
      lookables.pop_back();
      continue;
    }
    looks.push_back({.call = &*lookable.call, .memo = &one.memo, .answer = {}});
    asked.push_back(&one);
  }
  engine_.tryHits(looks, addMillis(options_.clock->monotonic(), options_.cache_timeout));
  for (std::size_t i = 0; i < looks.size(); ++i)
    asked[i]->hit = take(looks[i].answer, lookables[i], asked[i]->reply);
} catch (const std::exception&) {
  // Out of memory: each is handled by itself.
}

}  // namespace larder::site
