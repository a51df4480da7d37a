// Any request: authorised, then answered by a view or an action.
#include <algorithm>

#include "action_context.h"
#include "larder/cache/path.h"
#include "larder/cache/scope.h"
#include "page_call.h"
#include "receipt.h"
#include "site_internal.h"

namespace larder::site {

namespace {

/// To the log-in page.
struct Redirect {
  std::string location;
};

}  // namespace

void Site::handle(const RequestView& request, Reply& reply, RequestMemo* first_look) noexcept {
  RequestState state(request, state_);
  try {
    serve(state, reply, first_look);
  } catch (const Redirect& e) {
    Page page;
    page.status = 302;
    page.setHeader("Location", e.location);
    page.setHeader("Cache-Control", "no-store");
    fillPage(reply, std::move(page));
  } catch (const MethodNotAllowed& e) {
    Page page = errorPage(405, "Only " + e.allow + " is allowed here.");
    page.setHeader("Allow", e.allow);
    fillPage(reply, std::move(page));
  } catch (const HttpError& e) {
    fillError(reply, e.status, e.message);
  } catch (const RenderTimeout& e) {
    options_.log(LogLevel::warning, std::string(state.request().rawPath()) + ": " + e.reason);
    fillBusy(reply, e.reason);
  } catch (const CallRefused& e) {
    fillBusy(reply, e.reason);
  } catch (const CallCycle& e) {
    fail(state, reply, e.problem + ": " + e.path);
  } catch (const EditConflict& e) {
    fillError(reply, 409,
              e.path + " was changed by somebody else meanwhile (revision " +
                  std::to_string(e.actual) + ", the edit began at " + std::to_string(e.expected) +
                  ").");
  } catch (const std::exception& e) {
    fail(state, reply, e.what());
  } catch (...) {
    fail(state, reply, "an exception that is no std::exception");
  }
}

void Site::serve(RequestState& state, Reply& reply, RequestMemo* first_look) {
  const auto& request = state.request();
  std::string scratch;
  const auto path = cache::canonicalPath(request.rawPath(), scratch);
  if (path.status == cache::PathStatus::bad) {
    throw HttpError{400, "The path cannot be read: " + std::string(path.problem) + "."};
  }
  if (path.status == cache::PathStatus::notFound) {
    throw HttpError{404, "There is nothing at this address: " + std::string(path.problem) + "."};
  }
  if (path.status == cache::PathStatus::redirect && readsOnly(request.method())) {
    Page page;
    page.status = 301;
    std::string location = urlPath(path.full);
    if (!request.rawQuery().empty()) location.append("?").append(request.rawQuery());
    page.setHeader("Location", std::move(location));
    fillPage(reply, std::move(page));
    return;
  }
  if (const auto s = state.parse(); s != cache::ParamStatus::ok) {
    throw HttpError{400, "The parameters cannot be read: " + std::string(cache::describe(s)) + "."};
  }
  const auto now = options_.clock->monotonic();
  CallContext context(engine_.snapshots(), addMillis(now, options_.request_timeout));
  if (first_look != nullptr) context.startWith(std::move(*first_look));
  if (readsOnly(request.method())) {
    const bool observed = engine_.ledger().observe() && observeFor(state);
    RoutePtr route = observed ? cachedRoute(path.full) : nullptr;
    if (!route) {
      // Its own snapshot: the page's is taken when it is rendered, if it has to be.
      const auto snapshot = store_.read();
      route = resolve(path.object, path.view, "GET", *snapshot);
      routes_->put(path.full, route);
    }
    if (route->view->internal)
      throw HttpError{404, "The view '" + route->view->name + "' is only for other views."};
    authorise(state, route->view->permission, *route->mount, path.full);
    serveView(state, route, context, reply);
    offer(request, path.full, *route, reply);
    return;
  }
  const auto snapshot = store_.read();
  const auto route = resolve(path.object, path.view, request.method(), *snapshot);
  authorise(state, route->action->permission, *route->mount, path.full);
  serveAction(state, *route, context, reply);
}

void Site::authorise(RequestState& state, const std::string& permission, const Mount& mount,
                     std::string_view path) {
  if (permission.empty()) return;
  const auto* user = state.user();
  if (user && std::find(user->roles.begin(), user->roles.end(), permission) != user->roles.end())
    return;
  if (!user && mount.app->findView("login", {}) && readsOnly(state.request().method())) {
    throw Redirect{(mount.path == "/" ? "" : urlPath(mount.path)) +
                   "/@@login?next=" + urlPath(path)};
  }
  throw HttpError{user ? 403 : 401, "This needs the role '" + permission + "'."};
}

void Site::serveView(RequestState& state, const RoutePtr& route, CallContext& context,
                     Reply& reply) {
  fill(reply, PageCall::answerOverHttp(*this, state, route, context), *route);
}

void Site::serveAction(RequestState& state, const Route& route, CallContext& context,
                       Reply& reply) {
  RequestActionContext action_context(*this, state_, state, route, context);
  Page page;
  try {
    page = route.action->action->run(action_context);
  } catch (const HttpError& e) {
    page = errorPage(e.status, e.message);
  }
  std::optional<Receipt> receipt;
  if (page.status < 400) {
    // Rule 24: what was stored of this object is over, also if the action did not say what it
    // changed, or changed something elsewhere. Who comes or goes changes nothing of it.
    const bool of_session = route.named && !action_context.setCookie().empty();
    const Change change{of_session ? viewScope(route.action->name, route.path)
                                   : objectScope(route.path)};
    const auto done = engine_.ledger().append({&change, 1});
    if (!done)
      throw std::runtime_error("the change could not be recorded: " + done.error().message);
    receipt = Receipt{engine_.ledger().known().era, *done};
  }
  if (!action_context.setCookie().empty()) page.setHeader("Set-Cookie", action_context.setCookie());
  if (receipt) page.headers.push_back({"Set-Cookie", receiptCookie(state, *receipt)});
  fillPage(reply, std::move(page), true);
}

std::string Site::receiptCookie(const RequestState& state, const Receipt& receipt) const {
  std::string cookie(kReceiptCookie);
  cookie.append("=").append(receipts_->issue(receipt, options_.clock->wall()));
  cookie.append("; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
  cookie.append(std::to_string(Receipts::kLifetime / 1000));
  if (state.request().secure()) cookie.append("; Secure");
  return cookie;
}

// L21. A seq above the head is of a history that was taken back, and ignored.
bool Site::observeFor(const RequestState& state) noexcept {
  auto& ledger = engine_.ledger();
  const auto text = state.cookies().first(kReceiptCookie);
  if (!text) return true;
  const auto receipt = receipts_->read(*text, options_.clock->wall());
  const auto known = ledger.known();
  return !receipt || receipt->era != known.era || receipt->seq <= known.as_of || ledger.observe();
}

}  // namespace larder::site
