#include "larder/cache/engine.h"

#include <algorithm>
#include <cmath>

#include "engine_internal.h"
#include "larder/cache/planted_fault.h"

namespace larder {

namespace {

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

}  // namespace

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
  if (target.object) target.object->add(outcome);
}

void Engine::buildKey(const Target& target, const InputSource& inputs, const InputNames& names,
                      KeyBuilder& key) {
  key.begin(target.site, target.path, target.view, target.revision, target.definition);
  for (const auto& name : names) inputs.write(name, key);
}

bool Engine::observe(CallContext& context) noexcept {
  if (!context.observed_ || !context.hasSnapshot()) context.observed_ = ledger_.observe();
  return *context.observed_;
}

Verdict Engine::verdictOf(const CacheEntry& entry, std::uint64_t limit) noexcept {
  if (planted(Fault::l7_child_of_another_moment)) limit = Ledger::kNoLimit;
  const auto verdict = ledger_.judge(entry, limit);
  if (verdict == Verdict::history && entry.stamp.as_of > ledger_.known().as_of &&
      ledger_.observe()) {
    return ledger_.judge(entry, limit);  // another process committed and stored it a moment ago
  }
  return verdict;
}

bool Engine::isOver(const CacheEntry& entry, const Policy& policy, std::uint64_t limit) noexcept {
  return verdictOf(entry, limit) != Verdict::valid ||
         clock_.monotonic() >= freshUntil(policy, entry);
}

Engine::Use Engine::use(const CacheEntry& entry, const Policy& policy, std::uint64_t limit,
                        Outcome& miss) noexcept {
  const auto verdict = verdictOf(entry, limit);
  const bool gone = verdict == Verdict::changed && !planted(Fault::l19_changed_is_stale);
  if (gone || verdict == Verdict::history) {
    miss = verdict == Verdict::changed ? Outcome::miss_changed : Outcome::miss_history;
    return Use::none;
  }
  const auto now = clock_.monotonic();
  miss = Outcome::miss_expired;
  if (const auto fresh_until = freshUntil(policy, entry);
      verdict == Verdict::valid && now < fresh_until) {
    // XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache Stampede Prevention,
    // VLDB 2015).
    if (policy.early_refresh > 0) {
      const double ahead =
          -std::log(options_.random()) * policy.early_refresh * entry.cost_us / 1000.0;
      if (static_cast<double>(now) + ahead >= static_cast<double>(fresh_until)) {
        return Use::early;
      }
    }
    return Use::fresh;
  }
  const Lifetime lifetime = lifetimeUnder(policy, entry);
  // What was softly invalidated is stale before its time, which allows no more than that time does.
  const bool soft = verdict == Verdict::soft;
  const bool stale = !soft || policy.stale_while_revalidate > 0;
  if (soft) miss = Outcome::miss_changed;
  if (stale && now < lifetime.stale_until) return Use::stale;
  const bool if_error = stale || policy.stale_if_error > 0;
  return if_error && now < lifetime.error_until ? Use::if_error : Use::none;
}

Engine::Found Engine::judged(const Target& target, Lookup&& lookup, std::uint64_t limit) noexcept {
  Found found;
  found.reason = lookup.reason;
  if (lookup.status != Status::hit || !lookup.entry) {
    found.miss = missOutcome(lookup);
    return found;
  }
  found.use = use(*lookup.entry, *target.policy, limit, found.miss);
  found.entry = std::move(lookup.entry);
  return found;
}

Lookup Engine::look(const Target& target, const CacheKey& key, const Cache::Over& over,
                    Deadline deadline) noexcept {
  Cache& cache = target.manager->cache();
  if (target.manager->waits() != Waits::given_time) return cache.get(key, deadline);
  Lookup found;
  cache.getBehind({&key, 1}, {&found, 1}, over, deadline);
  return found;
}

Lookup Engine::fetch(const Target& target, const CacheKey& key, std::uint64_t limit,
                     CallContext& context, bool anew, Lookup&& at_hand, std::uint32_t& landings) {
  if (!anew && target.policy->prefetch) {
    if (context.page_ && !context.store_hangs_) {
      context.store_hangs_ =
          !manifests_.prefetch(*std::exchange(context.page_, {}), context.memo_,
                               overBy(*target.policy, limit), context.deadline());
    }
    if (auto known = context.memo_.take(target.manager->cache(), key, landings))
      return std::move(*known);
  }
  return context.store_hangs_
             ? std::move(at_hand)
             : look(target, key, overBy(*target.policy, limit), context.deadline());
}

Engine::Found Engine::find(const Target& target, const CacheKey& key, std::uint64_t limit,
                           CallContext& context, bool anew) {
  const auto waits = target.manager->waits();
  auto landings = flights_.landings(key.digest);
  Lookup lookup{Status::error, {}, Reason::timeout};
  if (waits != Waits::always) {
    lookup = target.manager->cache().get(
        key, waits == Waits::never ? context.deadline() : clock_.monotonic());
  }
  const bool at_hand = waits == Waits::never || (lookup.status == Status::hit &&
                                                 !isOver(*lookup.entry, *target.policy, limit));
  if (!at_hand) {
    lookup = fetch(target, key, limit, context, anew, std::move(lookup), landings);
    context.store_hangs_ |= lookup.reason == Reason::timeout;
  }
  if (lookup.status == Status::error) {
    if (auto kept = stopgap_.find(key, clock_.monotonic()))
      lookup = {Status::hit, EntryRef(std::move(kept)), Reason::none};
  }
  auto found = judged(target, std::move(lookup), limit);
  found.at_hand = at_hand;
  // A part of another schema than the page's is of another moment, though no scope changed (L8).
  if (found.entry && context.hasSnapshot() &&
      found.entry->stamp.schema != context.snapshot_->stamp().schema) {
    found.use = Use::none;
    found.miss = Outcome::miss_history;
    found.entry = {};
  }
  found.landings = landings;
  return found;
}

Lifetime Engine::lifetimeUnder(const Policy& policy, const CacheEntry& entry) noexcept {
  const auto age = maxAge(policy, entry.value);
  Lifetime life = entry.lifetime;
  if (age == 0) return {life.created, life.created, life.created, life.created};
  life.fresh_until = std::min(life.fresh_until, addMillis(life.created, age));
  life.stale_until =
      std::min(life.stale_until, addMillis(life.fresh_until, policy.stale_while_revalidate));
  life.error_until = std::min(life.error_until, addMillis(life.stale_until, policy.stale_if_error));
  return life;
}

// What was given no more than the shortest of the times needs no closer look. -1 and what a forever
// leaves over are large here, and errors have a revision of their own.
Millis Engine::freshUntil(const Policy& policy, const CacheEntry& entry) noexcept {
  const auto given = [](Millis from, Millis until) {
    return static_cast<std::uint64_t>(until) - static_cast<std::uint64_t>(from);
  };
  const auto shortest = std::min({given(0, policy.max_age), given(0, policy.max_age_empty),
                                  given(0, policy.max_age_not_found)});
  if (given(entry.lifetime.created, entry.lifetime.fresh_until) <= shortest)
    return entry.lifetime.fresh_until;
  return lifetimeUnder(policy, entry).fresh_until;
}

Millis Engine::freshFor(const Policy& policy, const CacheEntry& entry) const noexcept {
  const auto until = freshUntil(policy, entry);
  return until == kForever ? kForever : std::max<Millis>(until - clock_.monotonic(), 0);
}

Answer Engine::serve(const Call& call, Found& found, Recorder* parent, Outcome as) noexcept {
  const auto& target = call.target();
  Answer answer;
  answer.stored = true;
  answer.at_hand = found.at_hand;
  answer.stale = found.use == Use::stale;
  if (parent) {
    parent->merge(*found.entry, freshFor(*target.policy, *found.entry));
    if (answer.stale) parent->usedStale();
  }
  answer.outcome = answer.stale ? Outcome::hit_stale : as;
  count(target, answer.outcome);
  target.manager->counters().addSaved(found.entry->cost_us);
  if (target.counters) target.counters->addSaved(found.entry->cost_us);
  if (target.object) target.object->add(ObjectCounters::Kind::saved_us, found.entry->cost_us);
  if (found.use != Use::fresh) refresh(call, found.entry.share());
  if (target.policy->audit > 0 && !answer.stale && options_.random() <= target.policy->audit) {
    audit(call, found.entry.share());
  }
  answer.entry = std::move(found.entry);
  return answer;
}

std::optional<Answer> Engine::serveStale(const Target& target, const CallContext& context,
                                         Found& found, Recorder* parent) noexcept {
  Outcome ignored{};
  const auto limit =
      parent && context.hasSnapshot() ? context.snapshot_->stamp().as_of : Ledger::kNoLimit;
  if (!found.entry || use(*found.entry, *target.policy, limit, ignored) == Use::none)
    return std::nullopt;
  if (parent) {
    parent->merge(*found.entry, 0);
    parent->usedStale();
  }
  Answer answer;
  answer.entry = std::move(found.entry);
  answer.outcome = Outcome::hit_stale;
  answer.stored = answer.stale = true;
  return answer;
}

std::optional<Answer> Engine::tryHit(const Call& call, Deadline deadline) {
  const auto& target = call.target();
  if (!isCached(target) || target.policy->mode == KeyMode::observe) return std::nullopt;
  KeyBuilder key;
  buildKey(target, call.inputs(), target.inputs->known(), key);
  auto found = judged(target, target.manager->cache().get(key.key(target.partition), deadline),
                      Ledger::kNoLimit);
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
    if (!isCached(target) || target.policy->mode == KeyMode::observe) continue;
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
    const auto& policy = *asked.looks.front().first->call->target().policy;
    asked.cache->getBehind(asked.keys, lookups, overBy(policy, Ledger::kNoLimit), deadline);
    for (Lookup& lookup : lookups) lookup.entry.makeDurable();
    for (const auto& [look, place] : asked.looks) {
      const Lookup& lookup = lookups[place];
      const auto copy = [&lookup](EntryRef entry) {
        return Lookup{lookup.status, std::move(entry), lookup.reason};
      };
      auto found = judged(look->call->target(), copy(lookup.entry.share()), Ledger::kNoLimit);
      if (isServable(found.use)) {
        look->answer = serve(*look->call, found, nullptr);
      } else {
        look->memo->prefetched(asked.cache, asked.keys[place].digest, copy(std::move(found.entry)),
                               asked.landings[place]);
      }
    }
  }
}

Answer Engine::call(Call& call, CallContext& context, Recorder* parent) try {
  Answer answer = this->answer(call, context, parent);
  const auto& target = call.target();
  // What is at hand costs less to look up again than to remember; but of a page for which something
  // is not, all that it uses is learned.
  const bool remembers = !answer.at_hand || !context.memo_.items().empty();
  if (answer.stored && remembers && mayWait(target) && target.policy->prefetch) {
    context.memo_.keep(target.manager->sharedCache(), answer.entry,
                       flights_.landings(answer.entry->digest));
  }
  return answer;
} catch (...) {
  if (parent) parent->refuse("goes on although a part of it has failed");
  throw;
}

Answer Engine::answer(Call& call, CallContext& context, Recorder* parent) {
  const auto& target = call.target();
  const bool observed = observe(context);
  if (!isCached(target) || !observed) {
    Found none;
    none.miss = Outcome::bypass;
    KeyBuilder key;
    buildKey(target, call.inputs(), target.inputs->known(), key);
    return renderAndStore(call, context, parent, key.key(target.partition), none, false, nullptr);
  }
  if (target.policy->mode == KeyMode::observe) return observeOnly(call, context, parent);
  const auto limit = context.hasSnapshot() ? context.snapshot().stamp().as_of : Ledger::kNoLimit;
  const auto arrival = ledger_.known().as_of;
  for (int attempt = 0;; ++attempt) {
    KeyBuilder builder;
    buildKey(target, call.inputs(), target.inputs->known(), builder);
    const auto key = builder.key(target.partition);
    auto found = find(target, key, limit, context, attempt > 0);
    if (isServable(found.use)) return serve(call, found, parent);
    if (!call.mayStore()) return renderAndStore(call, context, parent, key, found, false, nullptr);
    if (attempt == 2) return renderAndStore(call, context, parent, key, found, true, nullptr);
    const auto joined = flights_.join(key.digest, context, clock_.monotonic(), found.landings);
    if (!joined.flight) return renderAndStore(call, context, parent, key, found, true, nullptr);
    if (joined.leader) {
      const auto landing = std::make_shared<Landing>(flights_, key.digest, joined.flight);
      if (joined.look_again) {
        found = find(target, key, limit, context);
        if (isServable(found.use)) return serve(call, found, parent);
      }
      return lead(call, context, parent, key, found, landing, arrival);
    }
    if (auto answer = follow(*joined.flight, call, context, parent, arrival, found))
      return std::move(*answer);
  }
}

// Everybody gets a render of his own; what the cache would have given is counted and compared.
Answer Engine::observeOnly(Call& call, CallContext& context, Recorder* parent) {
  const auto& target = call.target();
  const auto limit = context.hasSnapshot() ? context.snapshot().stamp().as_of : Ledger::kNoLimit;
  KeyBuilder builder;
  buildKey(target, call.inputs(), target.inputs->known(), builder);
  const auto key = builder.key(target.partition);
  const auto found = find(target, key, limit, context, false);
  const bool would_hit = isServable(found.use);
  Found none;
  none.miss = Outcome::bypass;
  const bool store = !would_hit && call.mayStore();
  auto answer = renderAndStore(call, context, parent, key, none, store, nullptr);
  answer.stored = false;
  if (would_hit) {
    count(target, Outcome::observed_hits);
    target.manager->counters().addObserved(found.entry->cost_us);
    if (target.counters) target.counters->addObserved(found.entry->cost_us);
    if (found.use != Use::stale) compare(target, *found.entry, *answer.entry);
  }
  return answer;
}

}  // namespace larder
