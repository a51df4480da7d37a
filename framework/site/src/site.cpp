#include "larder/site/site.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include "action_context.h"
#include "larder/cache/path.h"
#include "larder/cache/scope.h"
#include "page_call.h"
#include "receipt.h"
#include "route.h"

namespace larder::site {

/// One configuration with the bindings that were made under it.
struct Configured {
  SiteConfig config;
  std::uint64_t number = 0;

  using BindingKey = std::tuple<const ViewDefinition*, const CacheManager*, const Resolved*>;
  mutable std::mutex mutex;
  mutable std::map<BindingKey, std::shared_ptr<const Binding>> bindings;
};

Target Route::target(std::string_view site, std::string_view view_name) const noexcept {
  Target t;
  t.site = site;
  t.path = path;
  t.view = view_name;
  t.revision = view->revision;
  t.inputs = binding->inputs;
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

Site::Site(SiteOptions options, Store& store, State* state, Engine& engine)
    : options_(std::move(options)),
      store_(store),
      state_(state),
      engine_(engine),
      routes_(std::make_unique<RouteCache>()),
      receipts_(std::make_unique<Receipts>(state)),
      configured_(std::make_shared<Configured>()) {}

Site::~Site() = default;

std::shared_ptr<const Configured> Site::configured() const {
  const std::lock_guard lock(configured_mutex_);
  return configured_;
}

Result<> Site::configure(SiteConfig config) {
  try {
    for (const auto& mount : config.mounts) {
      if (!mount.app->schema.empty()) store_.installSchema(mount.path, mount.app->schema);
    }
  } catch (const std::exception& e) {
    return Error{e.what()};
  }
  // The longest mount that covers a path is found first.
  std::stable_sort(config.mounts.begin(), config.mounts.end(),
                   [](const Mount& a, const Mount& b) { return a.path.size() > b.path.size(); });
  auto next = std::make_shared<Configured>();
  next->config = std::move(config);
  {
    const std::lock_guard lock(configured_mutex_);
    next->number = configured_->number + 1;
    configured_ = next;
    config_number_.store(next->number, std::memory_order_release);
  }
  routes_->clear();
  maintain();
  return Done{};
}

ViewMemory& Site::memory(const Mount& mount, const ViewDefinition& view) {
  std::string id = mount.path + " " + view.name + (view.type.empty() ? "" : " (" + view.type + ")");
  const std::lock_guard lock(memory_mutex_);
  auto& memory = memories_[id];
  if (!memory) {
    LearnedInputs::OnGrowth share;
    if (state_ && options_.executor) {
      share = [this, id](const InputNames& names) {
        options_.executor->post([this, id, names] {
          try {
            state_->learn(id, names);
          } catch (const std::exception& e) {
            options_.log(LogLevel::warning,
                         "the inputs of view '" + id + "' could not be shared: " + e.what());
          }
        });
      };
    }
    memory = std::make_unique<ViewMemory>(std::move(share));
    // What an earlier process stored is found at once; failing that, within a second.
    if (state_ && !adoptLearned(id, *memory)) state_version_.store(0, std::memory_order_relaxed);
  }
  return *memory;
}

bool Site::adoptLearned(const std::string& id, ViewMemory& memory) noexcept try {
  const auto learned = state_->learned();
  if (const auto it = learned.find(id); it != learned.end()) memory.inputs.adopt(it->second);
  return true;
} catch (...) {
  return false;
}

void Site::maintain() noexcept try {
  if (!state_) return;
  const auto version = state_->version();
  if (state_version_.exchange(version, std::memory_order_relaxed) == version) return;
  const auto learned = state_->learned();
  const std::lock_guard lock(memory_mutex_);
  for (const auto& [id, memory] : memories_) {
    if (const auto it = learned.find(id); it != learned.end()) memory->inputs.adopt(it->second);
  }
} catch (const std::exception& e) {
  options_.log(LogLevel::warning, std::string("learned inputs could not be read: ") + e.what());
}

std::vector<std::pair<std::string, const Counters*>> Site::viewCounters() const {
  std::vector<std::pair<std::string, const Counters*>> all;
  const std::lock_guard lock(memory_mutex_);
  all.reserve(memories_.size());
  for (const auto& [id, memory] : memories_) all.emplace_back(id, &memory->counters);
  return all;
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

/// To the log-in page.
struct Redirect {
  std::string location;
};

struct MethodNotAllowed {
  std::string allow;
};

bool readsOnly(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD";
}

std::string_view belowMount(std::string_view path, std::string_view mount) noexcept {
  auto rest = mount == "/" ? path : path.substr(mount.size());
  return rest == "/" ? std::string_view() : rest;
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
  const auto mount = std::find_if(config->config.mounts.begin(), config->config.mounts.end(),
                                  [&](const Mount& m) { return isAtOrBelow(object_path, m.path); });
  if (mount == config->config.mounts.end())
    throw HttpError{404, "There is nothing at " + route->path + "."};
  route->mount = &*mount;
  const AppDefinition& app = *mount->app;

  std::string object_manager;
  std::string_view type;
  bool matched = false;
  std::string allowed;
  const auto below = belowMount(object_path, mount->path);
  if (view.empty()) {
    for (const auto& r : app.routes) {
      if (!matchPattern(r.pattern, below, route->variables)) continue;
      if (r.method == (readsOnly(method) ? "GET" : method)) {
        matched = true;
        view = r.name;
        break;
      }
      if (allowed.find(r.method) == std::string::npos)
        allowed += (allowed.empty() ? "" : ", ") + r.method;
    }
    if (!matched && !allowed.empty()) throw MethodNotAllowed{allowed};
  }
  if (!matched) {
    route->variables.clear();
    Recorder recorder;
    recorder.object(object_path);
    const auto object = snapshot.object(object_path, recorder);
    route->scope_names = recorder.scopes();
    for (const auto& scope : route->scope_names) route->scopes.push_back(scopeId(scope));
    // An app's own views that are for no type can be asked for at its mount and on its routes, also
    // where there is no object.
    const bool on_route =
        !object && !view.empty() &&
        std::any_of(app.routes.begin(), app.routes.end(), [&](const RouteDefinition& r) {
          return matchPattern(r.pattern, below, route->variables);
        });
    if (!object && !on_route && !(object_path == mount->path && !view.empty())) {
      throw HttpError{404, "There is nothing at " + route->path + "."};
    }
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
    if (readsOnly(method)) {
      route->view = app.findView(view, type);
    } else {
      route->action = app.findAction(view, type);
      if (!route->action && app.findView(view, type)) throw MethodNotAllowed{"GET, HEAD"};
    }
  } else if (readsOnly(method)) {
    route->view = app.findView(view, {});
  } else {
    route->action = app.findAction(view, {});
  }
  if (!route->view && !route->action) {
    throw HttpError{404, "There is no view '" + std::string(view) + "' of " + route->path + "."};
  }
  if (route->view) bind(*route, object_manager);
  return route;
}

// Object before rule before view: what somebody set while the site runs says more than files, and
// what the operator configured says more than the app.
void Site::bind(Route& route, std::string_view object_manager) {
  const auto& config = *route.config;
  const auto& view = *route.view;
  route.memory = &memory(*route.mount, view);
  route.counters = &objects_.of(route.path, view.name);
  route.partition = static_cast<std::uint32_t>(hash64(route.mount->path + " " + view.name));
  static const RuleSet kNoRules;
  const Resolved& resolved =
      (config.config.rules ? *config.config.rules : kNoRules).resolve(route.path, view.name);
  std::string_view id = object_manager;
  if (id.empty()) id = resolved.manager;
  if (id.empty()) id = view.caching.manager;
  ManagerPtr manager;
  if (id != "none" && config.config.registry) {
    manager = id.empty() ? config.config.registry->nearestDefault(route.path)
                         : config.config.registry->acquire(route.path, id);
  }
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
      made->declared = std::make_unique<LearnedInputs>(std::move(names));
    }
    made->inputs = made->declared ? made->declared.get() : &route.memory->inputs;
    binding = std::move(made);
  }
  route.binding = binding;
}

Site::RoutePtr Site::cachedRoute(std::string_view full_path) noexcept {
  auto route = routes_->find(full_path);
  // A request that began before configure() may have put in what it found under the old
  // configuration.
  if (!route || route->config->number != config_number_.load(std::memory_order_acquire)) {
    return nullptr;
  }
  auto& ledger = engine_.ledger();
  const auto version = ledger.version();
  if (route->validated_at.load(std::memory_order_relaxed) != version) {
    if (ledger.judge(route->stamp, route->scopes) != Verdict::valid) return nullptr;
    route->validated_at.store(version, std::memory_order_relaxed);
  }
  return route;
}

Site::RoutePtr Site::nestedRoute(std::string_view path, std::string_view view,
                                 ReadSnapshot& snapshot) {
  std::string full(path);
  full.append("/@@").append(view);
  if (auto route = routes_->find(full);
      route && route->config->number == config_number_.load(std::memory_order_acquire) &&
      route->stamp.schema == snapshot.stamp().schema &&
      engine_.ledger().judge(route->stamp, route->scopes, snapshot.stamp().as_of) ==
          Verdict::valid) {
    return route;
  }
  auto route = resolve(path, view, "GET", snapshot);
  routes_->put(full, route);
  return route;
}

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
         lookable.route->binding->manager;
}

bool Site::prepare(Lookable& lookable) {
  RequestState& state = lookable.state.emplace(lookable.request, state_);
  const Route& route = *lookable.route;
  if (state.parse() != cache::ParamStatus::ok ||
      state.needsSession(route.binding->inputs->known()) || !observeFor(state)) {
    return false;
  }
  lookable.call.emplace(*this, state, lookable.route, Document(), PageCall::formOverHttp(route));
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
  if (binding.manager->blocks()) return binding.policy.prefetch ? Quick::gather : Quick::ask;
  if (!prepare(lookable)) return Quick::ask;
  auto answer = engine_.tryHit(*lookable.call, options_.clock->monotonic());
  return take(answer, lookable, reply) ? Quick::hit : Quick::ask;
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
    fail(state, reply, "views call each other in a circle: " + e.path);
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
  PageCall call(*this, state, route, {}, PageCall::formOverHttp(*route));
  auto answer = engine_.call(call, context, nullptr);
  if (!answer.entry->value.isPage()) {
    route->memory->yields_document.store(true, std::memory_order_relaxed);
    PageCall json(*this, state, route, {}, PageCall::Form::json);
    answer = engine_.call(json, context, nullptr);
  }
  fill(reply, std::move(answer), *route);
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
    // RFC 9111, 4.4: what was stored for this address is over, also if the action did not say what
    // it changed.
    const Change change{route.named ? viewScope(route.action->name, route.path)
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

void Site::fill(Reply& reply, Answer answer, const Route& route) const {
  const auto& entry = *answer.entry;
  const auto now = options_.clock->monotonic();
  reply.cacheable = route.binding->manager != nullptr;
  reply.outcome = answer.outcome;
  reply.stored = answer.stored;
  reply.is_private = entry.is_private;
  reply.age = std::max<Millis>(now - entry.lifetime.created, 0);
  reply.ttl = entry.lifetime.fresh_until == kForever ? kForever : entry.lifetime.fresh_until - now;
  for (const auto name : entry.inputs()) {
    const auto input = plainInput(name);
    if (input.starts_with("header:")) reply.vary.emplace_back(input.substr(7));
  }
  reply.entry = std::move(answer.entry);
}

void Site::fillPage(Reply& reply, Page page, bool is_private) const {
  if (options_.finish) options_.finish(page, is_private);
  reply.page = page;
}

void Site::fillError(Reply& reply, int status, std::string_view message) const {
  reply.entry = EntryRef();
  fillPage(reply, errorPage(status, message));
}

void Site::fillBusy(Reply& reply, std::string_view why) const {
  reply.entry = EntryRef();
  Page page = errorPage(503, "The server is busy: " + std::string(why) + ".");
  page.setHeader("Retry-After", "1");
  fillPage(reply, std::move(page));
}

// The visitor gets a number, the log what happened.
void Site::fail(RequestState& state, Reply& reply, std::string_view what) noexcept try {
  std::uint64_t bits = 0;
  bits = hash64(std::to_string(options_.clock->wall()) + ":" +
                std::to_string(next_error_.fetch_add(1, std::memory_order_relaxed)));
  char text[17] = {};
  std::to_chars(text, text + 16, bits, 16);
  reply.error_id = text;
  options_.log(LogLevel::error,
               "error " + reply.error_id + ": " + std::string(state.request().method()) + " " +
                   std::string(state.request().rawPath()) + ": " + std::string(what));
  fillError(reply, 500,
            "Something went wrong on this page. The log has the details under the number " +
                reply.error_id + ".");
} catch (...) {
  reply.page = Page();
}

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
    e.blocks = m->blocks();
  }
  if (!route->binding->manager) e.why_not = "no cache manager serves it";
  if (e.policy.mode == KeyMode::off) e.why_not = "its mode is \"off\"";
  if (e.policy.mode == KeyMode::observe) e.why_not = "its mode is \"observe\"";
  if (route->binding->trust.lost()) e.why_not = "too many of its audits differed";
  const auto deadline = addMillis(options_.clock->monotonic(), options_.cache_timeout);
  PageCall call(*this, state, route, {}, PageCall::formOverHttp(*route));
  e.inspection = engine_.inspect(call, deadline);
  return e;
} catch (const HttpError& e) {
  return Error{e.message};
} catch (const MethodNotAllowed&) {
  return Error{"nothing answers GET at " + std::string(request.rawPath())};
} catch (const std::exception& e) {
  return Error{e.what()};
}

Page errorPage(int status, std::string_view message) {
  std::string escaped;
  for (const char c : message) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  Page page;
  page.status = status;
  page.setHeader("Content-Type", "text/html; charset=utf-8");
  const auto number = std::to_string(status);
  page.body = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + number +
              "</title>\n<style>body{font:16px/1.5 "
              "system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}"
              "</style>\n<h1>" +
              number + "</h1>\n<p>" + escaped + "</p>\n</html>\n";
  return page;
}

}  // namespace larder::site
