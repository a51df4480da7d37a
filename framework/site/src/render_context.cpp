#include "render_context.h"

#include <algorithm>
#include <stdexcept>

#include <sodium.h>

#include "larder/cache/scope.h"

namespace larder::site {

RequestContext::RequestContext(Site& site, RequestState& state, const Route& route,
                               const Document& arguments, CallContext& context, Recorder& recorder)
    : site_(site),
      state_(state),
      route_(route),
      arguments_(arguments),
      context_(context),
      recorder_(recorder) {}

ReadSnapshot& RequestContext::snapshot() {
  return static_cast<ReadSnapshot&>(context_.snapshot());  // the store opened it
}

void RequestContext::checkTime() const {
  context_.checkTime(*site_.options().clock);
}

const Normaliser* RequestContext::read(const std::string& input) {
  checkTime();
  const auto* normaliser = route_.binding ? route_.binding->normaliser(input) : nullptr;
  recorder_.input(normaliser ? normaliser->inputName() : input);
  return normaliser;
}

std::optional<std::string_view> RequestContext::simplified(const Normaliser* normaliser,
                                                           std::optional<std::string_view> value) {
  if (!normaliser) return value;
  auto simple = normaliser->apply(value);
  if (!simple) return std::nullopt;
  return simplified_.emplace_back(std::move(*simple));
}

std::optional<std::string_view> RequestContext::param(std::string_view name) {
  const auto values = paramAll(name);
  if (values.empty()) return std::nullopt;
  return values.front();
}

std::vector<std::string_view> RequestContext::paramAll(std::string_view name) {
  const auto* normaliser = read("param:" + std::string(name));
  std::vector<std::string_view> values;
  for (const auto& p : state_.params()) {
    if (p.name != name) continue;
    if (const auto value = simplified(normaliser, p.value)) values.push_back(*value);
  }
  if (normaliser && state_.params().count(name) == 0) {
    if (const auto value = simplified(normaliser, std::nullopt)) values.push_back(*value);
  }
  return values;
}

std::vector<std::pair<std::string_view, std::string_view>> RequestContext::params() {
  checkTime();
  recorder_.input("params");
  std::vector<std::pair<std::string_view, std::string_view>> all;
  for (const auto& p : state_.params()) {
    const auto* normaliser =
        route_.binding ? route_.binding->normaliser("param:" + std::string(p.name)) : nullptr;
    if (const auto value = simplified(normaliser, p.value)) all.emplace_back(p.name, *value);
  }
  return all;
}

std::optional<std::string_view> RequestContext::header(std::string_view name) {
  std::string lower(name);
  for (auto& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  // What these carry reaches a view as user, session and cookie, or not at all.
  if (lower == "cookie" || lower == "authorization") {
    recorder_.refuse("read the header " + lower);
  }
  return simplified(read("header:" + lower), state_.request().header(lower));
}

std::optional<std::string_view> RequestContext::cookie(std::string_view name) {
  if (isOurCookie(name)) {
    throw std::invalid_argument("the cookie " + std::string(name) +
                                " is not for views: ask for user() or session()");
  }
  return simplified(read("cookie:" + std::string(name)), state_.cookies().first(name));
}

std::string_view RequestContext::origin() {
  recorder_.input("host");
  return state_.origin();
}

const User* RequestContext::user() {
  recorder_.input("user");
  return state_.user();
}

bool RequestContext::hasRole(std::string_view role) {
  recorder_.input("roles");
  const auto* user = state_.user();
  return user && std::find(user->roles.begin(), user->roles.end(), role) != user->roles.end();
}

std::optional<std::string_view> RequestContext::session(std::string_view name) {
  recorder_.input("session:" + std::string(name));
  const auto* session = state_.session();
  if (!session) return std::nullopt;
  const auto it = session->values.find(name);
  if (it == session->values.end()) return std::nullopt;
  return it->second;
}

std::string RequestContext::csrfToken() {
  recorder_.input("session:csrf");  // what shows it is one visitor's
  recorder_.refuse("shows a CSRF token");
  const auto* session = state_.session();
  return session ? session->csrf : std::string();
}

const Node& RequestContext::arg(std::size_t index) {
  recorder_.input("arg:" + std::to_string(index));
  return arguments_.root().at(index);
}

Millis RequestContext::now() {
  recorder_.input("now");
  return site_.options().clock->wall();
}

std::uint64_t RequestContext::random() {
  recorder_.input("random");
  std::uint64_t value = 0;
  randombytes_buf(&value, sizeof value);
  return value;
}

std::string_view RequestContext::pathVariable(std::string_view name) {
  for (const auto& [n, value] : route_.variables) {
    if (n == name) return value;
  }
  return {};
}

std::string_view RequestContext::path() {
  return route_.path;
}
std::string_view RequestContext::viewName() {
  return route_.view ? route_.view->name : route_.action->name;
}
std::string_view RequestContext::appPath() {
  return route_.mount->path;
}

ObjectPtr RequestContext::object() {
  return open(route_.path);
}

ObjectPtr RequestContext::open(std::string_view path) {
  return reading([&] {
    recorder_.object(path);
    return snapshot().object(path, recorder_);
  });
}

std::vector<ObjectPtr> RequestContext::children(std::string_view path, const ChildrenQuery& query) {
  return reading([&] {
    recorder_.object(path);
    return snapshot().children(path, query, recorder_);
  });
}

std::size_t RequestContext::countChildren(std::string_view path, const ChildrenQuery& query) {
  return reading([&] {
    recorder_.object(path);
    return snapshot().countChildren(path, query, recorder_);
  });
}

Document RequestContext::row(std::string_view table, std::int64_t id) {
  return reading([&] { return snapshot().row(table, id, recorder_); });
}

Document RequestContext::query(std::string_view sql, const Arguments& arguments,
                               const QueryLimits& limits) {
  return reading([&] {
    QueryLimits in_time = limits;
    in_time.time = std::min(limits.time, context_.deadline() - site_.options().clock->monotonic());
    return snapshot().query(sql, arguments, recorder_, in_time);
  });
}

Document RequestContext::acquire(std::string_view property) {
  for (std::string_view at = route_.path; !at.empty(); at = parentPath(at)) {
    const auto object = open(at);
    if (object && object->properties.root().has(property)) {
      return object->properties.part(object->properties.root()[property]);
    }
  }
  return {};
}

Value RequestContext::callRoute(std::string_view path, std::string_view view, Document arguments) {
  std::shared_ptr<const Route> route;
  try {
    route = reading([&] { return site_.nestedRoute(path, view, snapshot()); });
  } catch (const HttpError&) {
    recorder_.object(path);  // it may be there one day
    throw std::runtime_error("there is no view '" + std::string(view) + "' of " +
                             std::string(path));
  }
  recorder_.scopes(route->scopes, route->scope_names);
  if (!route->view->permission.empty() && !hasRole(route->view->permission)) {
    throw HttpError{
        403, "the view '" + std::string(view) + "' needs the role " + route->view->permission};
  }
  PageCall child(site_, state_, std::move(route), std::move(arguments));
  return site_.engine_.call(child, context_, &recorder_).entry->value;
}

Value RequestContext::call(std::string_view path, std::string_view view,
                           std::span<const Tree> arguments) {
  return callRoute(path, view,
                   Document::from(Tree::list(Tree::List(arguments.begin(), arguments.end()))));
}

// Named arguments travel as one map, so that they are one input of the method. A method belongs to
// the app, not to an object: asked at its mount, one result serves every page that asks the same.
Document RequestContext::sql(std::string_view name, const Arguments& arguments) {
  Tree named = Tree::map();
  for (const auto& [key, value] : arguments) named.set(key, value);
  return callRoute(route_.mount->path, name, Document::from(Tree::list({std::move(named)})))
      .document();
}

void RequestContext::tag(std::string_view name) {
  recorder_.scope(tagScope(name));
}
void RequestContext::maxAge(Millis limit) {
  recorder_.limitMaxAge(limit);
}
void RequestContext::expiresAt(Millis wall) {
  recorder_.limitUntil(wall);
}
void RequestContext::noStore(std::string_view reason) {
  recorder_.refuse(reason);
}

}  // namespace larder::site
