// One render: its place, its time, its recording, and what may be stored of it.
#include <algorithm>
#include <limits>

#include "engine_internal.h"
#include "larder/cache/planted_fault.h"
#include "larder/cache/scope.h"
#include "larder/ignore_case.h"

namespace larder {

namespace {

/// Deeper nesting is taken for a call that never ends.
constexpr std::size_t kMaxDepth = 64;

bool isStorableStatus(int status) noexcept {
  switch (status) {
    case 200:
    case 203:
    case 204:
    case 300:
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
    case 404:
    case 410:
      return true;
    default:
      return status >= 500 && status <= 599;
  }
}

bool isEmpty(const Node& node) noexcept {
  switch (node.type()) {
    case Node::Type::null:
      return true;
    case Node::Type::boolean:
      return !node.boolean();
    case Node::Type::integer:
      return node.integer() == 0;
    case Node::Type::real:
      return node.real() == 0;
    case Node::Type::text:
    case Node::Type::bytes:
      return node.text().empty();
    default:
      return node.size() == 0;
  }
}

/// Why the page itself is not to be kept, alone or within another one (rule 13); empty if it may.
std::string_view forbidsStoring(const Value& value) {
  const auto page = value.page();
  if (!page) return {};
  for (const auto& header : page->headers) {
    if (equalsIgnoringCase(header.name, "Set-Cookie")) return "sets a cookie";
    if (equalsIgnoringCase(header.name, "Cache-Control") &&
        containsIgnoringCase(header.value, "no-store"))
      return "says no-store";
  }
  return {};
}

std::string nameOf(const Target& target) {
  return std::string(target.path) + " " + std::string(target.view);
}

}  // namespace

/// One render in the tree of its request: the key and the time that hold while it runs.
struct Engine::Frame {
  Frame(CallContext& tree, const Digest& key, std::string name, Deadline until)
      : context(tree), outer_deadline(tree.deadline_) {
    context.rendering_.push_back(key);
    context.rendering_names_.push_back(std::move(name));
    context.deadline_ = std::min(context.deadline_, until);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    context.rendering_.pop_back();
    context.rendering_names_.pop_back();
    context.deadline_ = outer_deadline;
    if (context.rendering_.empty()) context.page_.reset();
  }
  CallContext& context;
  const Deadline outer_deadline;
};

Answer Engine::renderAndStore(Call& call, CallContext& context, Recorder* parent,
                              const CacheKey& key, Found& found, bool store, Landing* landing) {
  const auto& target = call.target();
  count(target, found.miss);
  const auto wall = clock_.wall();
  Recorder recorder;
  Rendered rendered;
  try {
    rendered = render(call, context, recorder, key,
                      {.store = store, .known_variant = found.miss != Outcome::miss_cold});
  } catch (...) {
    count(target, Outcome::render_errors);
    if (store) noteMiss(found, key, wall, nullptr);
    if (auto stale = serveStale(target, context, found, parent)) return std::move(*stale);
    // That it failed depends on what it had read.
    if (parent) parent->merge(recorder);
    throw;
  }
  if (landing) landing->deliver(rendered, clock_.monotonic());
  if (parent) {
    parent->merge(recorder);
    if (target.trust && target.trust->lost())
      parent->refuse("has a part that the audit found wrong");
    if (found.miss != Outcome::bypass)
      parent->limitByPart(freshFor(*target.policy, *rendered.entry));
    if (const auto why = forbidsStoring(rendered.entry->value); !why.empty())
      parent->refuse("has a part that " + std::string(why));
  }
  if (store) noteMiss(found, key, wall, &rendered);
  Answer answer;
  answer.entry = EntryRef(rendered.entry);
  answer.outcome = found.miss;
  answer.stored = rendered.stored;
  return answer;
}

// A nested render runs in its page's place: only outermost ones count, so no page waits for itself.
// They take their place in the view first and then in all, so that none waits for another in a
// circle.
Value Engine::runView(Call& call, CallContext& context, Recorder& recorder, const CacheKey& key,
                      Begun& begun) {
  const auto& target = call.target();
  std::string name = nameOf(target);
  const bool outermost = context.rendering_.empty();
  const bool cycle = std::ranges::find(context.rendering_, key.digest) != context.rendering_.end();
  if (cycle || context.rendering_.size() >= kMaxDepth) {
    std::string path;
    for (const auto& outer : context.rendering_names_) path += outer + " -> ";
    throw CallCycle{path + name, cycle ? "views call each other in a circle"
                                       : "views call each other more than " +
                                             std::to_string(kMaxDepth) + " deep"};
  }
  if (clock_.monotonic() >= context.deadline_)
    throw CallRefused{"the request's time was over before " + name + " was rendered"};
  const auto wait_until =
      std::min(context.deadline_, addMillis(clock_.monotonic(), options_.render_wait));
  const auto busy = [&](const std::string& where) {
    count(target, Outcome::refused_busy);
    return CallRefused{"too many renders are under way " + where};
  };
  const RenderGate::Place of_view(outermost ? target.renders : nullptr, target.policy->max_renders,
                                  executor_, wait_until);
  if (!of_view) throw busy("of " + name);
  const RenderGate::Place in_all(outermost ? &renders_ : nullptr, options_.max_renders, executor_,
                                 wait_until);
  if (!in_all) throw busy("in all");

  begun = {context.snapshot().stamp(), clock_.monotonic(), clock_.wall(), clock_.micros()};
  recorder.scope(kSiteScope);
  if (target.manager) recorder.scope(target.manager->scope());
  recorder.scope(viewScope(target.view, target.path));
  count(target, Outcome::renders);
  if (outermost && target.policy->prefetch) context.page_ = key.digest;
  const Frame frame(context, key.digest, std::move(name),
                    addMillis(begun.monotonic, target.policy->render_timeout));
  try {
    auto value = call.render(context, recorder);
    context.checkTime(clock_);
    return value;
  } catch (const RenderTimeout&) {
    count(target, Outcome::render_timeouts);
    throw;
  }
}

EntryPtr Engine::makeEntry(const Target& target, const CacheKey& key, Value value,
                           const Recorder& recorder, const Begun& begun) const {
  const auto scopes = coarsen(recorder.scopes(), options_.max_scopes);
  auto entry = CacheEntry::make(key, {.scopes = scopes, .inputs = recorder.inputs()});
  entry->value = std::move(value);
  entry->stamp = begun.stamp;
  entry->is_private = recorder.isPrivate();
  entry->created_wall = begun.wall;
  entry->cost_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      clock_.micros() - begun.micros, 0, std::numeric_limits<std::uint32_t>::max()));
  setLifetime(*entry, *target.policy, recorder, begun);
  return EntryPtr(std::move(entry));
}

Engine::Rendered Engine::render(Call& call, CallContext& context, Recorder& recorder,
                                const CacheKey& key, Purpose purpose) {
  const auto& target = call.target();
  Begun begun;
  Value value = runView(call, context, recorder, key, begun);

  Rendered rendered;
  // L15: the key of what was really read, made after the render.
  rendered.names = joinInputs(target.inputs->known(), recorder.inputs());
  KeyBuilder builder;
  buildKey(target, call.inputs(), rendered.names, builder);
  const auto store_key =
      planted(Fault::l15_key_before_render) ? key : builder.key(target.partition);
  rendered.entry = makeEntry(target, store_key, std::move(value), recorder, begun);
  if (purpose.store) {
    rendered.outcome = storability(target, *rendered.entry, recorder, rendered.detail);
    rendered.storable = rendered.outcome == Outcome::stores;
  }
  if (context.rendering_.empty() && target.policy->prefetch) {
    // Under the key that the next such request will begin with.
    manifests_.learn(rendered.storable ? store_key.digest : key.digest, context.memo_);
  }
  if (!purpose.store) return rendered;

  if (rendered.storable) {
    if (target.policy->mode != KeyMode::declared) target.inputs->learn(recorder.inputs());
    if (!purpose.known_variant && !rendered.names.empty()) admitVariant(target, begun, rendered);
  }
  if (rendered.outcome == Outcome::stores) put(target, context, store_key, rendered);
  count(target, rendered.outcome);
  return rendered;
}

void Engine::admitVariant(const Target& target, const Begun& begun, Rendered& rendered) {
  const auto object = hash64(viewScope(target.view, target.path));
  const auto window = std::clamp<Millis>(target.policy->max_age, 60'000, 3'600'000);
  if (variants_.admit(object, target.policy->max_variants, begun.monotonic, window)) return;
  rendered.outcome = Outcome::refused_variants;
  rendered.detail = "it has " + std::to_string(target.policy->max_variants) + " variants already";
}

void Engine::put(const Target& target, CallContext& context, const CacheKey& key,
                 Rendered& rendered) noexcept {
  const auto waits = target.manager->waits();
  if (mayWait(target) && holdsNewer(target, key, rendered.entry->stamp, context)) {
    rendered.outcome = Outcome::refused_late;
    return;
  }
  // What hangs is not asked; what is before it takes the entry all the same.
  const bool hangs = mayWait(target) && context.store_hangs_;
  Stored stored{false, Reason::timeout};
  if (!hangs || waits != Waits::always) {
    stored = target.manager->cache().put(key, rendered.entry,
                                         hangs ? clock_.monotonic() : context.deadline());
  }
  context.store_hangs_ |= mayWait(target) && stored.reason == Reason::timeout;
  rendered.stored = stored.ok;
  if (stored.ok) return;
  rendered.outcome = Outcome::refused_cache;
  rendered.detail = reasonName(stored.reason);
  if (isOutage(stored.reason)) stopgap_.keep(rendered.entry, clock_.monotonic());
}

// L24. Only where something changed since the snapshot can there be a later one; a cache in this
// process sees to it by itself.
bool Engine::holdsNewer(const Target& target, const CacheKey& key, const Stamp& stamp,
                        CallContext& context) noexcept {
  if (context.store_hangs_ || !ledger_.observe() || ledger_.known().as_of <= stamp.as_of)
    return false;
  const auto isLater = [&stamp](const CacheEntry& held) {
    return held.stamp.era == stamp.era && held.stamp.as_of > stamp.as_of;
  };
  const auto held = look(
      target, key, [&](const CacheEntry& near) { return !isLater(near); }, context.deadline());
  context.store_hangs_ = held.reason == Reason::timeout;
  return held.status == Status::hit && isLater(*held.entry);
}

Outcome Engine::storability(const Target& target, const CacheEntry& entry, const Recorder& recorder,
                            std::string& detail) {
  const auto refused = [&detail](Outcome outcome, std::string_view why) {
    detail = why;
    return outcome;
  };
  if (!recorder.refusal().empty()) return refused(Outcome::refused_render, recorder.refusal());
  if (recorder.readClockUnbounded())
    return refused(Outcome::refused_render, "read the clock without a max_age of its own");
  if (entry.lifetime.end() <= entry.lifetime.created)
    return refused(Outcome::refused_policy, "max_age is 0s");
  if (const auto page = entry.value.page()) {
    if (!isStorableStatus(page->status))
      return refused(Outcome::refused_policy, "its status is " + std::to_string(page->status));
  }
  if (const auto why = forbidsStoring(entry.value); !why.empty())
    return refused(Outcome::refused_policy, "it " + std::string(why));
  if (target.policy->mode != KeyMode::declared) return Outcome::stores;
  InputNames arguments;
  for (const auto& name : recorder.inputs()) {
    if (name.starts_with("arg:")) {
      arguments.push_back(name);
    } else if (!inputCovered(target.inputs->known(), name)) {
      if (log_) {
        log_("view '" + std::string(target.view) + "' of " + std::string(target.path) + " read '" +
             name +
             "', which is not among its request_vars: not stored; add it there or leave "
             "request_vars out");
      }
      return refused(Outcome::refused_input, name);
    }
  }
  target.inputs->learn(arguments);
  return Outcome::stores;
}

Millis Engine::maxAge(const Policy& policy, const Value& value) noexcept {
  const auto orDefault = [&policy](Millis age) { return age < 0 ? policy.max_age : age; };
  if (const auto page = value.page()) {
    if (page->status == 404 || page->status == 410) return orDefault(policy.max_age_not_found);
    if (page->status >= 500) return policy.max_age_error;
    return page->body.empty() ? orDefault(policy.max_age_empty) : policy.max_age;
  }
  return isEmpty(value.document().root()) ? orDefault(policy.max_age_empty) : policy.max_age;
}

void Engine::setLifetime(CacheEntry& entry, const Policy& policy, const Recorder& recorder,
                         const Begun& begun) const {
  auto age = std::min(maxAge(policy, entry.value), recorder.maxAge());
  if (recorder.until() != kForever)
    age = std::min(age, std::max<Millis>(recorder.until() - begun.wall, 0));
  if (policy.jitter > 0 && age != kForever) {
    age -= static_cast<Millis>(static_cast<double>(age) * policy.jitter * options_.random());
  }
  entry.lifetime.created = begun.monotonic;
  entry.lifetime.fresh_until = addMillis(begun.monotonic, age);
  // Nothing is kept past its time that was not fresh at any.
  entry.lifetime.stale_until =
      age == 0 ? begun.monotonic
               : addMillis(entry.lifetime.fresh_until, policy.stale_while_revalidate);
  entry.lifetime.error_until =
      age == 0 ? begun.monotonic : addMillis(entry.lifetime.stale_until, policy.stale_if_error);
}

void Engine::noteMiss(const Found& found, const CacheKey& key, Millis wall,
                      const Rendered* rendered) {
  MissRecord record;
  record.wall = wall;
  record.miss = found.miss;
  record.reason = found.reason;
  if (found.miss == Outcome::miss_changed) {
    const auto change = changeOf(*found.entry);
    record.changed = change.scope;
    record.changed_at = change.seq;
  }
  Digest digest = key.digest;
  if (rendered) {
    digest = rendered->entry->digest;
    record.stored = rendered->outcome;
    record.detail = rendered->detail;
    if (rendered->stored) record.keep_until = rendered->entry->lifetime.end();
  }
  misses_.note(digest, std::move(record), clock_.monotonic());
}

}  // namespace larder
