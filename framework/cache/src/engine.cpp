#include "larder/cache/engine.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include "larder/cache/planted_fault.h"
#include "larder/cache/scope.h"

namespace larder {

namespace {

constexpr Millis kDoNotWait = 2'000;

Outcome missOutcome(const Lookup& lookup) noexcept {
  if (lookup.status == Status::error) return Outcome::miss_error;
  switch (lookup.reason) {
    case Reason::expired:
      return Outcome::miss_expired;
    case Reason::other_key:
      return Outcome::miss_other_key;
    case Reason::damaged:
    case Reason::old_format:
      return Outcome::miss_damaged;
    default:
      return Outcome::miss_cold;
  }
}

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

bool sameAnswer(const Value& a, const Value& b) noexcept {
  const auto p = a.page();
  const auto q = b.page();
  if (!p || !q) return !p && !q && a.document() == b.document();
  return p->status == q->status && p->body == q->body && p->headers == q->headers;
}

/// Of a cache in this process a second look-up costs less than remembering the first.
bool isRemembered(const Target& target) noexcept {
  return target.manager && target.manager->blocks() && target.policy->prefetch;
}

}  // namespace

/// One place among at most `limit`, if there is a counter.
class Engine::Place {
 public:
  Place(std::atomic<std::size_t>* taken, std::size_t limit) noexcept
      : taken_(taken), ok_(!taken || taken->fetch_add(1, std::memory_order_relaxed) < limit) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (taken_) taken_->fetch_sub(1, std::memory_order_relaxed);
  }
  explicit operator bool() const noexcept { return ok_; }

 private:
  std::atomic<std::size_t>* taken_;
  bool ok_;
};

/// Ends a leader's flight however its render ends.
class Engine::Landing {
 public:
  Landing(FlightTable& table, const Digest& key, std::shared_ptr<Flight> flight) noexcept
      : table_(table), key_(key), flight_(std::move(flight)) {}
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;
  ~Landing() {
    if (flight_) table_.land(key_, *flight_, 0);
  }
  void deliver(const Rendered& rendered, Millis now) noexcept {
    if (rendered.storable) {
      flight_->entry = rendered.entry;
      flight_->names = rendered.names;
    }
    table_.land(key_, *flight_, rendered.storable ? 0 : now + kDoNotWait);
    flight_.reset();
  }

 private:
  FlightTable& table_;
  Digest key_;
  std::shared_ptr<Flight> flight_;
};

Engine::Engine(Ledger& ledger, SnapshotSource& snapshots, const Clock& clock, Executor& executor,
               EngineLog log, Options options)
    : ledger_(ledger),
      snapshots_(snapshots),
      clock_(clock),
      executor_(executor),
      log_(std::move(log)),
      options_(options),
      flights_(executor) {}

double Engine::random01() noexcept {
  thread_local std::uint64_t state = 0x9E3779B97F4A7C15U ^ reinterpret_cast<std::uintptr_t>(&state);
  state ^= state << 13U;
  state ^= state >> 7U;
  state ^= state << 17U;
  return static_cast<double>((state >> 11U) + 1) * 0x1.0p-53;
}

void Engine::count(const Target& target, Outcome outcome) noexcept {
  if (target.manager) target.manager->counters().add(outcome);
  if (target.counters) target.counters->add(outcome);
}

void Engine::buildKey(const Target& target, const InputSource& inputs, const InputNames& names,
                      KeyBuilder& key) {
  key.begin(target.site, target.path, target.view, target.revision);
  for (const auto& name : names) inputs.write(name, key);
}

Engine::Use Engine::use(const CacheEntry& entry, const Policy& policy, std::uint64_t limit,
                        Outcome& miss) noexcept {
  if (planted(Fault::l7_child_of_another_moment)) limit = Ledger::kNoLimit;
  auto verdict = ledger_.judge(entry, limit);
  if (verdict == Verdict::history && entry.stamp.as_of > ledger_.known().as_of &&
      ledger_.observe()) {
    verdict = ledger_.judge(entry, limit);  // another process committed and stored it a moment ago
  }
  const bool gone = verdict == Verdict::changed && !planted(Fault::l19_changed_is_stale);
  if (gone || verdict == Verdict::history) {
    miss = verdict == Verdict::changed ? Outcome::miss_changed : Outcome::miss_history;
    return Use::none;
  }
  const auto now = clock_.monotonic();
  miss = Outcome::miss_expired;
  if (verdict == Verdict::valid && now < entry.lifetime.fresh_until) {
    // XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention,
    // VLDB 2015).
    if (policy.early_refresh > 0) {
      const double ahead =
          -std::log(options_.random()) * policy.early_refresh * entry.cost_us / 1000.0;
      if (static_cast<double>(now) + ahead >= static_cast<double>(entry.lifetime.fresh_until)) {
        return Use::early;
      }
    }
    return Use::fresh;
  }
  // What was softly invalidated is stale before its time, which allows no more than that time does.
  const bool soft = verdict == Verdict::soft;
  const bool stale = !soft || policy.stale_while_revalidate > 0;
  if (soft) miss = Outcome::miss_changed;
  if (stale && now < entry.lifetime.stale_until) return Use::stale;
  const bool if_error = stale || policy.stale_if_error > 0;
  return if_error && now < entry.lifetime.error_until ? Use::if_error : Use::none;
}

Engine::Found Engine::find(const Target& target, const CacheKey& key, std::uint64_t limit,
                           Deadline deadline, RequestMemo* memo) noexcept {
  Found found;
  found.landings = flights_.landings(key.digest);
  Cache& cache = target.manager->cache();
  std::optional<Lookup> known;
  if (memo && isRemembered(target)) known = memo->take(cache, key, found.landings);
  const auto landings = found.landings;
  found = judged(target, known ? std::move(*known) : cache.get(key, deadline), limit);
  found.landings = landings;
  return found;
}

Engine::Found Engine::judged(const Target& target, Lookup&& lookup, std::uint64_t limit) noexcept {
  Found found;
  if (lookup.status != Status::hit) {
    found.miss = missOutcome(lookup);
    return found;
  }
  found.use = use(*lookup.entry, *target.policy, limit, found.miss);
  found.entry = std::move(lookup.entry);
  return found;
}

// A part of another schema than its page's is of another moment, though no scope changed (L8).
void Engine::refuseOtherSchema(CallContext& context, Found& found) noexcept {
  if (!found.entry || !context.hasSnapshot() ||
      found.entry->stamp.schema == context.snapshot_->stamp().schema)
    return;
  found.use = Use::none;
  found.miss = Outcome::miss_history;
}

Millis Engine::freshFor(const CacheEntry& entry) const noexcept {
  const auto until = entry.lifetime.fresh_until;
  return until == kForever ? kForever : std::max<Millis>(until - clock_.monotonic(), 0);
}

Answer Engine::serve(const Call& call, Found& found, Recorder* parent) noexcept {
  const auto& target = call.target();
  Answer answer;
  answer.stored = true;
  answer.stale = found.use == Use::stale;
  if (parent) {
    parent->merge(*found.entry, freshFor(*found.entry));
    if (answer.stale) parent->usedStale();
  }
  answer.outcome = answer.stale ? Outcome::hit_stale : Outcome::hit;
  count(target, answer.outcome);
  target.manager->counters().addSaved(found.entry->cost_us);
  if (found.use != Use::fresh) refresh(call, found.entry.share());
  if (target.policy->audit > 0 && !answer.stale && options_.random() <= target.policy->audit) {
    audit(call, found.entry.share());
  }
  answer.entry = std::move(found.entry);
  return answer;
}

std::optional<Answer> Engine::tryHit(const Call& call, Deadline deadline) noexcept {
  const auto& target = call.target();
  if (!target.manager || target.policy->mode == KeyMode::off) return std::nullopt;
  KeyBuilder key;
  buildKey(target, call.inputs(), target.inputs->known(), key);
  auto found = find(target, key.key(target.partition), Ledger::kNoLimit, deadline, nullptr);
  if (!isServable(found.use)) return std::nullopt;
  return serve(call, found, nullptr);
}

void Engine::tryHits(std::span<Look> looks, Deadline deadline) {
  struct Asked {
    std::shared_ptr<Cache> cache;
    std::vector<CacheKey> keys = {};
    std::vector<std::uint32_t> landings = {};
    std::vector<std::pair<Look*, std::size_t>> looks = {};  ///< with the place of the key
  };
  std::vector<KeyBuilder> builders(looks.size());
  std::vector<Asked> caches;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const auto& target = looks[i].call->target();
    if (!target.manager || target.policy->mode == KeyMode::off) continue;
    buildKey(target, looks[i].call->inputs(), target.inputs->known(), builders[i]);
    const auto& cache = target.manager->sharedCache();
    auto asked = std::ranges::find(caches, cache, &Asked::cache);
    if (asked == caches.end()) asked = caches.insert(asked, Asked{.cache = cache});
    // Who wants the same page waits for the same answer.
    const auto key = builders[i].key(target.partition);
    const auto place = std::ranges::find(asked->keys, key.bytes, &CacheKey::bytes);
    asked->looks.emplace_back(&looks[i], static_cast<std::size_t>(place - asked->keys.begin()));
    if (place != asked->keys.end()) continue;
    asked->keys.push_back(key);
    asked->landings.push_back(flights_.landings(key.digest));
  }
  for (Asked& asked : caches) {
    std::vector<Lookup> lookups(asked.keys.size());
    asked.cache->getMany(asked.keys, lookups, deadline);
    for (Lookup& lookup : lookups) lookup.entry.makeDurable();
    for (const auto& [look, place] : asked.looks) {
      const auto& [status, entry, reason] = lookups[place];
      auto found =
          judged(look->call->target(), {status, EntryRef(entry.share()), reason}, Ledger::kNoLimit);
      if (isServable(found.use)) {
        look->answer = serve(*look->call, found, nullptr);
      } else {
        look->memo->prefetched(asked.cache, asked.keys[place].digest,
                               {status, std::move(found.entry), reason}, asked.landings[place]);
      }
    }
  }
}

Answer Engine::call(Call& call, CallContext& context, Recorder* parent) {
  Answer answer = this->answer(call, context, parent);
  const auto& target = call.target();
  if (answer.stored && isRemembered(target)) {
    context.memo_.keep(target.manager->sharedCache(), answer.entry,
                       flights_.landings(answer.entry->digest));
  }
  return answer;
}

Answer Engine::answer(Call& call, CallContext& context, Recorder* parent) {
  const auto& target = call.target();
  // The tree of a top-level call begins with what is known now; a nested call judges by its
  // parent's snapshot (L7).
  const bool observed = context.hasSnapshot() || ledger_.observe();
  if (!target.manager || target.policy->mode == KeyMode::off || !observed) {
    Found none;
    none.miss = Outcome::bypass;
    KeyBuilder key;
    buildKey(target, call.inputs(), target.inputs->known(), key);
    return renderAndStore(call, context, parent, key.key(target.partition), none, nullptr);
  }
  const auto limit = context.hasSnapshot() ? context.snapshot().stamp().as_of : Ledger::kNoLimit;
  const auto arrival = ledger_.known().as_of;
  for (int attempt = 0;; ++attempt) {
    KeyBuilder builder;
    buildKey(target, call.inputs(), target.inputs->known(), builder);
    const auto key = builder.key(target.partition);
    auto found =
        find(target, key, limit, context.deadline(), attempt == 0 ? &context.memo_ : nullptr);
    refuseOtherSchema(context, found);
    if (isServable(found.use)) return serve(call, found, parent);
    if (attempt == 2) return renderAndStore(call, context, parent, key, found, nullptr);
    const auto joined = flights_.join(key.digest, context, clock_.monotonic(), found.landings);
    if (!joined.flight) return renderAndStore(call, context, parent, key, found, nullptr);
    if (joined.leader) {
      Landing landing(flights_, key.digest, joined.flight);
      if (joined.look_again) {
        found = find(target, key, limit, context.deadline(), nullptr);
        refuseOtherSchema(context, found);
        if (isServable(found.use)) return serve(call, found, parent);
      }
      return renderAndStore(call, context, parent, key, found, &landing);
    }
    if (auto answer = follow(*joined.flight, call, context, parent, arrival))
      return std::move(*answer);
  }
}

// L16: a follower takes the leader's result only if it is right for the follower.
std::optional<Answer> Engine::follow(Flight& flight, const Call& call, CallContext& context,
                                     Recorder* parent, std::uint64_t arrival) {
  const auto& target = call.target();
  // Half of what is left, so that there is time to render after waiting in vain.
  const auto now = clock_.monotonic();
  const auto wait =
      std::min(target.policy->render_timeout, std::max<Millis>(context.deadline() - now, 0) / 2);
  const bool landed = flight.landed->wait(addMillis(now, wait));
  flights_.leave(context);
  if (!landed || !flight.entry) return std::nullopt;
  const CacheEntry& entry = *flight.entry;
  KeyBuilder mine;
  buildKey(target, call.inputs(), flight.names, mine);
  if (mine.bytes() != entry.key() && !planted(Fault::l16_followers_values)) return std::nullopt;
  const bool nested = context.hasSnapshot();
  if (nested && entry.stamp.schema != context.snapshot().stamp().schema) return std::nullopt;
  const auto verdict =
      ledger_.judge(entry, nested ? context.snapshot().stamp().as_of : Ledger::kNoLimit);
  const bool new_enough = !nested && entry.stamp.as_of >= arrival &&
                          entry.stamp.era == ledger_.known().era && verdict != Verdict::history;
  if (verdict != Verdict::valid && !new_enough && !planted(Fault::l16_followers_arrival))
    return std::nullopt;
  if (parent) {
    parent->merge(entry, freshFor(entry));
  }
  count(target, Outcome::coalesced);
  Answer answer;
  answer.entry = EntryRef(flight.entry);
  answer.outcome = Outcome::coalesced;
  answer.stored = true;
  return answer;
}

Answer Engine::renderAndStore(Call& call, CallContext& context, Recorder* parent,
                              const CacheKey& key, Found& found, Landing* landing) {
  const auto& target = call.target();
  count(target, found.miss);
  const bool bypass = found.miss == Outcome::bypass;
  Recorder recorder;
  Rendered rendered;
  try {
    rendered = render(call, context, recorder, key, !bypass, found.miss != Outcome::miss_cold);
  } catch (...) {
    count(target, Outcome::render_errors);
    // Only what time alone has made stale; judged again, for it may have been invalidated during
    // the render (L19).
    Outcome ignored{};
    const auto limit = parent ? context.snapshot().stamp().as_of : Ledger::kNoLimit;
    if (found.entry && use(*found.entry, *target.policy, limit, ignored) != Use::none) {
      Answer answer;
      if (parent) {
        parent->merge(*found.entry, 0);
        parent->usedStale();
      }
      answer.entry = std::move(found.entry);
      answer.outcome = Outcome::hit_stale;
      answer.stored = answer.stale = true;
      return answer;
    }
    throw;
  }
  if (landing) landing->deliver(rendered, clock_.monotonic());
  if (parent) {
    parent->merge(recorder);
    if (!bypass) parent->limitMaxAge(freshFor(*rendered.entry));
  }
  Answer answer;
  answer.entry = EntryRef(rendered.entry);
  answer.outcome = found.miss;
  answer.stored = rendered.stored;
  return answer;
}

Engine::Rendered Engine::render(Call& call, CallContext& context, Recorder& recorder,
                                const CacheKey& key, bool store, bool known_variant) {
  const auto& target = call.target();
  std::string name = std::string(target.path) + " " + std::string(target.view);
  const bool cycle = std::find(context.rendering_.begin(), context.rendering_.end(), key.digest) !=
                     context.rendering_.end();
  if (cycle) {
    std::string path;
    for (const auto& outer : context.rendering_names_) path += outer + " -> ";
    throw CallCycle{path + name};
  }
  if (clock_.monotonic() >= context.deadline())
    throw CallRefused{"the request's time was over before " + name + " was rendered"};

  // A nested render runs in its page's place: only outermost ones count, so no page waits for
  // itself.
  const bool outermost = context.rendering_.empty();
  const Place all(outermost ? &renders_ : nullptr, options_.max_renders);
  const Place of_view(outermost ? target.renders : nullptr, target.policy->max_renders);
  if (!all || !of_view) {
    throw CallRefused{"too many renders are under way " +
                      std::string(all ? "of " + name : "in all")};
  }
  struct Frame {
    CallContext& context;
    ~Frame() {
      context.rendering_.pop_back();
      context.rendering_names_.pop_back();
    }
  };
  const Stamp stamp = context.snapshot().stamp();
  const auto started = clock_.monotonic();
  const auto wall = clock_.wall();
  const auto started_us = clock_.micros();
  recorder.scope(kSiteScope);
  if (target.manager) recorder.scope(target.manager->scope());
  recorder.scope(viewScope(target.view, target.path));
  count(target, Outcome::renders);

  Value value;
  if (outermost && target.policy->prefetch)
    manifests_.prefetch(key.digest, context.memo_, context.deadline());
  {
    context.rendering_.push_back(key.digest);
    context.rendering_names_.push_back(std::move(name));
    const Frame frame{context};
    value = call.render(context, recorder);
  }

  Rendered rendered;
  // L15: the key of what was really read, made after the render.
  rendered.names = joinInputs(target.inputs->known(), recorder.inputs());
  KeyBuilder builder;
  buildKey(target, call.inputs(), rendered.names, builder);
  const auto store_key =
      planted(Fault::l15_key_before_render) ? key : builder.key(target.partition);
  const auto scopes = coarsen(recorder.scopes(), options_.max_scopes);
  auto entry = CacheEntry::make(store_key, {.scopes = scopes, .inputs = recorder.inputs()});
  entry->value = std::move(value);
  entry->stamp = stamp;
  entry->is_private = recorder.isPrivate();
  entry->created_wall = wall;
  entry->cost_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      clock_.micros() - started_us, 0, std::numeric_limits<std::uint32_t>::max()));
  setLifetime(*entry, *target.policy, recorder, started, wall);

  auto outcome = store ? storability(target, *entry, recorder) : Outcome::refused_policy;
  if (outcome == Outcome::stores && target.policy->mode == KeyMode::learned)
    target.inputs->learn(recorder.inputs());
  rendered.storable = outcome == Outcome::stores;
  if (outermost && target.policy->prefetch) {
    // Under the key that the next such request will begin with.
    manifests_.learn(rendered.storable ? store_key.digest : key.digest, context.memo_);
  }
  rendered.entry = EntryPtr(std::move(entry));
  if (rendered.storable && !known_variant && !rendered.names.empty()) {
    const auto object = hash64(viewScope(target.view, target.path));
    const auto window = std::clamp<Millis>(target.policy->max_age, 60'000, 3'600'000);
    if (!variants_.admit(object, target.policy->max_variants, started, window))
      outcome = Outcome::refused_variants;
  }
  if (outcome == Outcome::stores) {
    rendered.stored = target.manager->cache().put(store_key, rendered.entry, context.deadline()).ok;
    if (!rendered.stored) outcome = Outcome::refused_cache;
  }
  if (store) count(target, outcome);
  return rendered;
}

Outcome Engine::storability(const Target& target, const CacheEntry& entry,
                            const Recorder& recorder) {
  if (!recorder.refusal().empty()) return Outcome::refused_render;
  if (recorder.readClock() && recorder.maxAge() == kForever && recorder.until() == kForever) {
    return Outcome::refused_render;
  }
  if (entry.lifetime.end() <= entry.lifetime.created) return Outcome::refused_policy;
  if (const auto page = entry.value.page()) {
    if (!isStorableStatus(page->status)) return Outcome::refused_policy;
    if (page->header("Set-Cookie") && !target.policy->strip_set_cookie)
      return Outcome::refused_policy;
    if (const auto control = page->header("Cache-Control");
        control && control->find("no-store") != std::string::npos) {
      return Outcome::refused_policy;
    }
  }
  if (target.policy->mode == KeyMode::declared) {
    InputNames arguments;
    for (const auto& name : recorder.inputs()) {
      if (name.starts_with("arg:")) {
        arguments.push_back(name);
      } else if (!inputCovered(target.inputs->known(), name)) {
        if (log_) {
          log_("view '" + std::string(target.view) + "' of " + std::string(target.path) +
               " read '" + name +
               "', which is not among its request_vars: not stored; add it there or leave "
               "request_vars out");
        }
        return Outcome::refused_input;
      }
    }
    target.inputs->learn(arguments);
  }
  return Outcome::stores;
}

Millis Engine::maxAge(const Policy& policy, const Value& value) const noexcept {
  const auto orDefault = [&policy](Millis age) { return age < 0 ? policy.max_age : age; };
  if (const auto page = value.page()) {
    if (page->status == 404 || page->status == 410) return orDefault(policy.max_age_not_found);
    if (page->status >= 500) return policy.max_age_error;
    return page->body.empty() ? orDefault(policy.max_age_empty) : policy.max_age;
  }
  return isEmpty(value.document().root()) ? orDefault(policy.max_age_empty) : policy.max_age;
}

void Engine::setLifetime(CacheEntry& entry, const Policy& policy, const Recorder& recorder,
                         Millis started, Millis wall) const {
  auto age = std::min(maxAge(policy, entry.value), recorder.maxAge());
  if (recorder.until() != kForever)
    age = std::min(age, std::max<Millis>(recorder.until() - wall, 0));
  if (policy.jitter > 0 && age != kForever) {
    age -= static_cast<Millis>(static_cast<double>(age) * policy.jitter * options_.random());
  }
  entry.lifetime.created = started;
  entry.lifetime.fresh_until = addMillis(started, age);
  // Nothing is kept past its time that was not fresh at any.
  entry.lifetime.stale_until =
      age == 0 ? started : addMillis(entry.lifetime.fresh_until, policy.stale_while_revalidate);
  entry.lifetime.error_until =
      age == 0 ? started : addMillis(entry.lifetime.stale_until, policy.stale_if_error);
}

void Engine::refresh(const Call& call, const EntryPtr& entry) noexcept try {
  if (entry->refreshing.exchange(true, std::memory_order_relaxed)) return;
  std::shared_ptr<Call> later = call.detach();
  const bool posted = later && executor_.post([this, later, entry] {
    try {
      refreshNow(*later);
    } catch (...) {
      // The stale value is served as long as it may; the next request tries again.
      entry->refreshing.store(false, std::memory_order_relaxed);
    }
  });
  if (!posted) entry->refreshing.store(false, std::memory_order_relaxed);
} catch (...) {
  entry->refreshing.store(false, std::memory_order_relaxed);
}

void Engine::refreshNow(Call& call) {
  const auto& target = call.target();
  const auto now = clock_.monotonic();
  CallContext context(snapshots_, addMillis(now, target.policy->render_timeout));
  if (!ledger_.observe()) return;
  KeyBuilder builder;
  buildKey(target, call.inputs(), target.inputs->known(), builder);
  const auto key = builder.key(target.partition);
  const auto joined = flights_.join(key.digest, context, now, flights_.landings(key.digest));
  if (!joined.flight) return;
  if (!joined.leader) {
    flights_.leave(context);
    return;
  }
  Landing landing(flights_, key.digest, joined.flight);
  count(target, Outcome::refreshes);
  Recorder recorder;
  landing.deliver(render(call, context, recorder, key, true, true), clock_.monotonic());
}

void Engine::audit(const Call& call, const EntryPtr& entry) noexcept try {
  std::shared_ptr<Call> later = call.detach();
  if (!later) return;
  executor_.post([this, later, entry] {
    try {
      auditNow(*later, *entry);
    } catch (...) {  // a render that fails says nothing about the stored value
    }
  });
} catch (...) {
}

void Engine::auditNow(Call& call, const CacheEntry& entry) {
  const auto& target = call.target();
  CallContext context(snapshots_, addMillis(clock_.monotonic(), target.policy->render_timeout));
  Recorder recorder;
  const CacheKey key{entry.key(), entry.digest, entry.partition};
  const auto again = render(call, context, recorder, key, false, true);
  if (ledger_.judge(entry) != Verdict::valid || ledger_.judge(*again.entry) != Verdict::valid)
    return;
  count(target, Outcome::audits);
  if (sameAnswer(entry.value, again.entry->value)) return;
  count(target, Outcome::audit_mismatches);
  if (log_) {
    log_("audit: the stored result of view '" + std::string(target.view) + "' of " +
         std::string(target.path) +
         " differs from a new render; it reads something that is neither an input nor a dependency "
         "(key: " +
         describeKey(entry.key()) + ")");
  }
}

}  // namespace larder
