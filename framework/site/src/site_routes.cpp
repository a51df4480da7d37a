// What answers a path, and how it is cached.
#include <algorithm>

#include "larder/cache/path.h"
#include "larder/cache/scope.h"
#include "parts_hash.h"
#include "site_internal.h"

namespace larder::site {

Target Route::target(std::string_view site, std::string_view view_name) const noexcept {
  Target t;
  t.site = site;
  t.path = path;
  t.view = view_name;
  t.definition = definition;
  t.revision = revision;
  t.inputs = binding->inputs.get();
  t.policy = &binding->policy;
  t.manager = binding->manager.get();
  t.counters = &memory->counters;
  t.object = counters;
  t.partition = partition;
  t.renders = &memory->renders;
  t.trust = &binding->trust;
  return t;
}

const Normaliser* Binding::normaliser(std::string_view input) const noexcept {
  const auto found = std::find_if(normalisers.begin(), normalisers.end(),
                                  [input](const Normaliser& n) { return n.input() == input; });
  return found == normalisers.end() ? nullptr : &*found;
}

namespace {

/// Path segments against "/comments/{id}"; fills the variables.
bool matchPattern(std::string_view pattern, std::string_view path,
                  std::vector<std::pair<std::string, std::string>>& variables) {
  variables.clear();
  if (pattern == "/") pattern = {};
  while (!pattern.empty() || !path.empty()) {
    if (pattern.empty() || path.empty()) return false;
    pattern.remove_prefix(1);
    path.remove_prefix(1);
    const auto p = pattern.substr(0, pattern.find('/'));
    const auto s = path.substr(0, path.find('/'));
    if (p.size() > 2 && p.front() == '{' && p.back() == '}' && !s.empty()) {
      variables.emplace_back(p.substr(1, p.size() - 2), s);
    } else if (p != s) {
      return false;
    }
    pattern.remove_prefix(p.size());
    path.remove_prefix(s.size());
  }
  return true;
}

/// Those of an app's routes that match an address.
struct Matching {
  const RouteDefinition* own = nullptr;    ///< of this method, and of this view if one was named
  const RouteDefinition* first = nullptr;  ///< of any method
  std::string methods;                     ///< that they answer
};

Matching routesAt(const AppDefinition& app, std::string_view below, std::string_view method,
                  std::string_view view) {
  Matching found;
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& r : app.routes) {
    if (!matchPattern(r.pattern, below, variables)) continue;
    if (!found.first) found.first = &r;
    if (!found.own && r.method == method && (view.empty() || r.name == view)) found.own = &r;
    if (found.methods.find(r.method) == std::string::npos)
      found.methods += (found.methods.empty() ? "" : ", ") + r.method;
  }
  return found;
}

std::string_view belowMount(std::string_view path, std::string_view mount) noexcept {
  auto rest = mount == "/" ? path : path.substr(mount.size());
  return rest == "/" ? std::string_view() : rest;
}

/// Everything beside path and name that tells this definition, and how it was asked for, from
/// others: no two of them may have one key (L14).
void describe(Route& route, const RouteDefinition* routed, std::string_view below) {
  const auto& type = route.view ? route.view->type : route.action->type;
  if (!type.empty()) {
    route.definition = "type " + type;
  } else if (routed) {
    route.definition = "route " + routed->pattern;
    (void)matchPattern(routed->pattern, below, route.variables);
  }
}

}  // namespace

Site::RoutePtr Site::resolve(std::string_view object_path, std::string_view view,
                             std::string_view method, ReadSnapshot& snapshot) {
  const auto config = configured();
  auto route = std::make_shared<Route>();
  route->config = config;
  route->path = object_path;
  route->named = !view.empty();
  route->stamp = snapshot.stamp();
  const Mount* const mount = config->mountOf(object_path);
  if (!mount) throw HttpError{404, "There is nothing at " + route->path + "."};
  route->mount = mount;
  const AppDefinition& app = *mount->app;

  // Also of what a route answers: an action on the address ends all of its pages (rule 24).
  Recorder recorder;
  recorder.scope(kSiteScope);
  recorder.object(object_path);
  route->scope_names = recorder.scopes();
  for (const auto& scope : route->scope_names) route->scopes.push_back(scopeId(scope));

  const bool reads = readsOnly(method);
  const auto below = belowMount(object_path, mount->path);
  const auto matching = routesAt(app, below, reads ? "GET" : method, view);
  const RouteDefinition* routed = matching.own;
  std::string object_manager;
  std::string type;
  if (view.empty() && matching.first) {
    if (!routed) throw MethodNotAllowed{matching.methods};
    view = routed->name;
  } else {
    const auto object = snapshot.object(object_path, recorder);
    // An app's own views that are for no type can be asked for at its mount and on its routes, also
    // where there is no object.
    if (!object && !routed) routed = matching.first;
    if (!object && !routed && (object_path != mount->path || view.empty()))
      throw HttpError{404, "There is nothing at " + route->path + "."};
    if (object) {
      type = object->type;
      object_manager = object->manager;
      if (view.empty()) {
        const auto* definition = app.findType(type);
        if (!definition)
          throw HttpError{404, "No app here shows objects of type '" + object->type + "'."};
        view = definition->default_view;
      }
    }
  }
  if (reads) {
    route->view = app.findView(view, type);
  } else {
    route->action = app.findAction(view, type);
    if (!route->action && app.findView(view, type)) throw MethodNotAllowed{"GET, HEAD"};
  }
  if (!route->view && !route->action) {
    throw HttpError{404, "There is no view '" + std::string(view) + "' of " + route->path + "."};
  }
  describe(*route, routed, below);
  if (route->view) bind(*route, object_manager);
  return route;
}

void Site::bind(Route& route, std::string_view object_manager) {
  const auto& config = *route.config;
  const auto& view = *route.view;
  const std::string id = viewId(*route.mount, view);
  route.memory = &memory(id);
  route.counters = &objects_.of(route.path, view.name);
  route.partition = static_cast<std::uint32_t>(hash64(route.mount->path + " " + view.name));
  route.revision = config.revisionOf(*route.mount, view);
  const Resolved& resolved = config.rulesFor(route.path, view.name);
  const ManagerPtr manager = config.managerOf(route.path, view, object_manager);
  const std::lock_guard lock(config.mutex);
  // What is resolved for no rules at all is one static object, so the key holds.
  auto& binding =
      config.bindings[{&view, manager.get(), config.config.rules ? &resolved : nullptr}];
  if (!binding) {
    auto made = std::make_shared<Binding>();
    made->manager = manager;
    made->revision = config.config.revision;
    Policy policy = manager ? manager->policy() : Policy{};
    const auto& caching = view.caching;
    if (caching.max_age) policy.max_age = *caching.max_age;
    if (caching.stale_while_revalidate)
      policy.stale_while_revalidate = *caching.stale_while_revalidate;
    if (caching.stale_if_error) policy.stale_if_error = *caching.stale_if_error;
    if (!caching.request_vars.empty()) {
      policy.mode = KeyMode::declared;
      policy.request_vars = caching.request_vars;
    }
    made->policy = resolved.apply(std::move(policy));
    if (config.config.rules) made->rules = &resolved;
    for (const auto& text : made->policy.normalise) {
      if (auto normaliser = Normaliser::parse(text)) made->normalisers.push_back(*normaliser);
    }
    if (made->policy.mode == KeyMode::declared) {
      auto names = made->policy.request_vars;
      for (auto& name : names) {
        if (const auto* normaliser = made->normaliser(name)) name = normaliser->inputName();
      }
      made->inputs = std::make_shared<LearnedInputs>(std::move(names));
    } else {
      PartsHash normalisers;
      for (const auto& text : made->policy.normalise) normalisers.add(text);
      made->inputs =
          learnedInputs(learnedPrefix(id, route.revision) + std::to_string(normalisers.value()));
    }
    binding = std::move(made);
  }
  route.binding = binding;
  // Managers may share a cache; what one stored falls with that one, so no other may serve it.
  if (manager) route.revision = PartsHash().add(route.revision).add(manager->scope()).value();
}

Site::RoutePtr Site::cachedRoute(std::string_view full_path) noexcept {
  auto route = routes_->find(full_path);
  // A request that began before configure() may have put in what it found under the old
  // configuration.
  if (!route || route->config->number != config_number_.load(std::memory_order_acquire)) {
    return nullptr;
  }
  const auto verdict =
      engine_.ledger().judge(route->stamp, route->scopes, Ledger::kNoLimit, route->validated_at);
  return verdict == Verdict::valid ? route : nullptr;
}

Site::RoutePtr Site::nestedRoute(std::string_view path, std::string_view view,
                                 ReadSnapshot& snapshot) {
  std::string full(path);
  full.append("/@@").append(view);
  if (auto route = routes_->find(full);
      route && route->config->number == config_number_.load(std::memory_order_acquire) &&
      route->stamp.schema == snapshot.stamp().schema &&
      engine_.ledger().judge(route->stamp, route->scopes, snapshot.stamp().as_of,
                             route->validated_at) == Verdict::valid) {
    return route;
  }
  auto route = resolve(path, view, "GET", snapshot);
  routes_->put(full, route);
  return route;
}

}  // namespace larder::site
