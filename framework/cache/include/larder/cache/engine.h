// Engine: the pipeline that every cached call walks, a page, a fragment, a script's call and a SQL
// method alike.
//
//   Answer answer = engine.call(call, context, parent_recorder);
//
// key from the inputs that the view is known to read -> look-up -> validity by the ledger -> hit,
// stale, or one render per key while others wait -> stored under the key of what was really read ->
// answer.
//
// Thread-safe. It owns no thread; background work goes to the executor.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache/cache_manager.h"
#include "larder/cache/flight.h"
#include "larder/cache/key_builder.h"
#include "larder/cache/learned_inputs.h"
#include "larder/cache/ledger.h"
#include "larder/cache/miss_log.h"
#include "larder/cache/object_statistics.h"
#include "larder/cache/policy.h"
#include "larder/cache/prefetch.h"
#include "larder/cache/recorder.h"
#include "larder/cache/render_gate.h"
#include "larder/cache/statistics.h"
#include "larder/cache/stopgap.h"
#include "larder/cache/trust.h"
#include "larder/cache/variant_guard.h"
#include "larder/clock.h"
#include "larder/entry.h"
#include "larder/executor.h"

namespace larder {

class CallContext;

/// What is called and how it is cached. Borrowed by the engine during a call.
struct Target {
  std::string_view site;
  std::string_view path;
  std::string_view view;
  /// Which of several of this name it is, and what else of the configuration the render depends
  /// on; may be empty.
  std::string_view definition = {};
  std::uint64_t revision = 0;  ///< of the view's code (L14)
  LearnedInputs* inputs = nullptr;
  const Policy* policy = nullptr;
  const CacheManager* manager = nullptr;  ///< null: not cached
  Counters* counters = nullptr;           ///< of the view; may be null
  ObjectCounters* object = nullptr;       ///< of the view of this object; may be null
  std::uint32_t partition = 0;            ///< of the view, for share accounting
  RenderGate* renders = nullptr;          ///< of the view; may be null
  Trust* trust = nullptr;                 ///< what the audit found of the view; may be null
};

/// One call as the site layer knows it.
class Call {
 public:
  virtual ~Call() = default;
  [[nodiscard]] virtual const Target& target() const noexcept = 0;
  [[nodiscard]] virtual const InputSource& inputs() const noexcept = 0;
  /// Throws what the view throws; then nothing is stored.
  [[nodiscard]] virtual Value render(CallContext& context, Recorder& recorder) = 0;
  /// A copy that owns all it needs, for a render after the request is over; null if this call
  /// cannot be repeated.
  [[nodiscard]] virtual std::unique_ptr<Call> detach() const = 0;
  /// False: served from the cache, but never stored (rule 13: HEAD).
  [[nodiscard]] virtual bool mayStore() const noexcept { return true; }
};

/// Thrown by call() when a render asks, directly or not, for its own result, or calls are nested
/// too deep.
struct CallCycle {
  std::string path;     ///< "/a view -> /b view -> /a view"
  std::string problem;  ///< "views call each other in a circle"
};

/// Thrown by call() when the render would start after the deadline, or too many are under way.
struct CallRefused {
  std::string reason;
};

/// A render takes longer than its view's render_timeout, or the request's time: its result is not
/// used. No std::exception, so that no view takes it for a failure of its own.
struct RenderTimeout : CallRefused {};

/// One request's tree of calls: one snapshot, one deadline. Used by one thread.
class CallContext {
 public:
  CallContext(SnapshotSource& snapshots, Deadline deadline)
      : snapshots_(snapshots), deadline_(deadline) {}
  /// Opened by the first render of the tree. Throws std::logic_error while a Writing lives.
  [[nodiscard]] Snapshot& snapshot() {
    if (writing_)
      throw std::logic_error("inside an edit nothing is read but through the Edit (its open())");
    if (!snapshot_) snapshot_ = snapshots_.openSnapshot();
    return *snapshot_;
  }
  /// While an action edits: caches are neither read nor filled (L11), and what is read afterwards
  /// is of a later moment, that of the edit or after it.
  class Writing {
   public:
    explicit Writing(CallContext& context) noexcept : context_(context) {
      context_.snapshot_.reset();
      context_.observed_.reset();
      context_.writing_ = true;
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() { context_.writing_ = false; }

   private:
    CallContext& context_;
  };
  [[nodiscard]] bool hasSnapshot() const noexcept { return snapshot_ != nullptr; }
  /// Of the innermost render under way, else of the request.
  [[nodiscard]] Deadline deadline() const noexcept { return deadline_; }
  /// What Engine::tryHits() looked up for this request is not looked up again.
  void startWith(RequestMemo&& memo) noexcept { memo_ = std::move(memo); }
  /// Throws RenderTimeout when the deadline is over; whatever a view asks for begins with it.
  void checkTime(const Clock& clock) const {
    if (clock.monotonic() >= deadline_)
      throw RenderTimeout{{"a render took longer than it may: " +
                           (rendering_names_.empty() ? std::string() : rendering_names_.back())}};
  }

 private:
  friend class Engine;
  friend class FlightTable;
  SnapshotSource& snapshots_;
  Deadline deadline_;
  std::unique_ptr<Snapshot> snapshot_;
  RequestMemo memo_;
  std::vector<Digest> rendering_;  ///< keys of the renders under way, outermost first
  std::vector<std::string> rendering_names_;
  Flight* waiting_for_ = nullptr;  ///< guarded by the flight table
  std::optional<bool> observed_;   ///< whether the ledger could be; nothing: nobody has asked yet
  std::optional<Digest> page_;     ///< the outermost render's, until its manifest is fetched
  /// A store did not answer in time: none that may wait is asked again, so that a page with many
  /// parts waits for it once (rule 27).
  bool store_hangs_ = false;
  bool writing_ = false;
};

struct Answer {
  EntryRef entry;
  Outcome outcome = Outcome::bypass;
  bool stored = false;
  bool stale = false;
  bool at_hand = false;  ///< found in this process
};

/// What the cache holds for a call, and why the last look-up was no hit: for people.
struct Inspection {
  std::string key;               ///< bytes
  InputNames known;              ///< the inputs in it
  Status status = Status::miss;  ///< what the cache said
  Reason reason = Reason::none;
  EntryRef entry;            ///< null: none
  std::string_view use;      ///< "fresh", "stale", "if_error" or "none"
  std::string_view verdict;  ///< "valid", "soft", "changed" or "history"
  std::string changed;       ///< the entry's scope that changed
  std::optional<RecentChange> change;
  std::optional<MissRecord> last_miss;
  std::optional<RecentChange> last_miss_change;
};

/// Where the engine tells what an operator should know.
using EngineLog = std::function<void(std::string_view message)>;

class Engine {
 public:
  /// Uniform in (0, 1]. Quality does not matter here, cost does.
  static double random01() noexcept;
  struct Options {
    std::size_t max_scopes = 64;
    std::size_t max_renders = 256;  ///< concurrent renders in all
    /// Decides early refreshes, jitter and audits.
    double (*random)() noexcept = &Engine::random01;
    Millis render_wait = 1'000;  ///< how long a render waits for its turn
  };
  Engine(Ledger& ledger, SnapshotSource& snapshots, const Clock& clock, Executor& executor,
         EngineLog log, Options options);

  /// The answer if it is in the cache and may be served right now, else nothing; never renders,
  /// never waits for another render, nor for a store if the deadline is over and the manager does
  /// not always wait. The ledger must have been observed.
  [[nodiscard]] std::optional<Answer> tryHit(const Call& call, Deadline deadline);
  /// One of several calls that are looked up together, each of a request of its own.
  struct Look {
    const Call* call = nullptr;
    RequestMemo* memo = nullptr;  ///< gets what was looked up and cannot be served right now
    std::optional<Answer> answer = {};
  };
  /// As tryHit(), with one round trip to each cache.
  void tryHits(std::span<Look> looks, Deadline deadline);
  /// Throws what the render throws, CallCycle or CallRefused.
  [[nodiscard]] Answer call(Call& call, CallContext& context, Recorder* parent);
  /// Looks without counting, rendering or storing anything.
  [[nodiscard]] Inspection inspect(const Call& call, Deadline deadline);
  /// The entry's, cut to what the policy gives it now, which may be less than when it was made.
  [[nodiscard]] static Lifetime lifetimeUnder(const Policy& policy,
                                              const CacheEntry& entry) noexcept;
  /// Its first bound, cheaper. Does not see that errors may be kept for less time now.
  [[nodiscard]] static Millis freshUntil(const Policy& policy, const CacheEntry& entry) noexcept;

  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] SnapshotSource& snapshots() noexcept { return snapshots_; }

 private:
  enum class Use : std::uint8_t { fresh, early, stale, if_error, none };
  struct Found {
    EntryRef entry;
    Use use = Use::none;
    Outcome miss = Outcome::miss_cold;
    Reason reason = Reason::none;
    std::uint32_t landings = 0;  ///< of the key's flights, before it was looked up
    bool at_hand = false;        ///< in this process
  };
  struct Rendered {
    EntryPtr entry;
    InputNames names;       ///< of the entry's key
    bool storable = false;  ///< may be given to others who ask the same
    bool stored = false;
    Outcome outcome = Outcome::refused_policy;  ///< stores, or why not
    std::string detail;                         ///< of a refusal
  };
  /// What a render is for.
  struct Purpose {
    bool store = true;
    bool known_variant = true;  ///< no new variant of its object
  };
  /// A render's start.
  struct Begun {
    Stamp stamp;
    Millis monotonic = 0;
    Millis wall = 0;
    std::int64_t micros = 0;
  };
  class Landing;
  struct Frame;

  static bool isServable(Use use) noexcept { return use < Use::if_error; }
  static bool isCached(const Target& target) noexcept {
    return target.manager && target.policy->mode != KeyMode::off &&
           !(target.trust && target.trust->lost());
  }
  static void buildKey(const Target& target, const InputSource& inputs, const InputNames& names,
                       KeyBuilder& key);
  static void count(const Target& target, Outcome outcome) noexcept;
  static bool mayWait(const Target& target) noexcept {
    return target.manager->waits() != Waits::never;
  }

  // Looking up: engine.cpp
  [[nodiscard]] Answer answer(Call& call, CallContext& context, Recorder* parent);
  /// Once for the tree of a call, before its snapshot: nested calls judge by that (L7). False:
  /// nothing in the tree may come from a cache.
  [[nodiscard]] bool observe(CallContext& context) noexcept;
  /// What the request has fetched already is not fetched again, unless it is to be looked up
  /// `anew`.
  [[nodiscard]] Found find(const Target& target, const CacheKey& key, std::uint64_t limit,
                           CallContext& context, bool anew = true);
  /// In place of what is at hand, unless a store hangs.
  [[nodiscard]] Lookup fetch(const Target& target, const CacheKey& key, std::uint64_t limit,
                             CallContext& context, bool anew, Lookup&& at_hand,
                             std::uint32_t& landings);
  /// Without entries of nearer caches that are `over`, if there is a better one further away.
  [[nodiscard]] static Lookup look(const Target& target, const CacheKey& key,
                                   const Cache::Over& over, Deadline deadline) noexcept;
  /// Whether another one is to be looked for (Cache::Over).
  [[nodiscard]] bool isOver(const CacheEntry& entry, const Policy& policy,
                            std::uint64_t limit) noexcept;
  [[nodiscard]] Cache::Over overBy(const Policy& policy, std::uint64_t limit) {
    return [this, &policy, limit](const CacheEntry& e) { return isOver(e, policy, limit); };
  }
  [[nodiscard]] Found judged(const Target& target, Lookup&& lookup, std::uint64_t limit) noexcept;
  [[nodiscard]] Verdict verdictOf(const CacheEntry& entry, std::uint64_t limit) noexcept;
  [[nodiscard]] Use use(const CacheEntry& entry, const Policy& policy, std::uint64_t limit,
                        Outcome& miss) noexcept;
  [[nodiscard]] Millis freshFor(const Policy& policy, const CacheEntry& entry) const noexcept;
  [[nodiscard]] Answer serve(const Call& call, Found& found, Recorder* parent,
                             Outcome as = Outcome::hit) noexcept;
  /// What time alone has made stale, judged again (L19), when there is nothing better.
  [[nodiscard]] std::optional<Answer> serveStale(const Target& target, const CallContext& context,
                                                 Found& found, Recorder* parent) noexcept;
  [[nodiscard]] Answer observeOnly(Call& call, CallContext& context, Recorder* parent);

  // Rendering once: engine_flight.cpp
  [[nodiscard]] Answer lead(Call& call, CallContext& context, Recorder* parent, const CacheKey& key,
                            Found& found, const std::shared_ptr<Landing>& landing,
                            std::uint64_t arrival);
  [[nodiscard]] std::optional<Answer> follow(Flight& flight, const Call& call, CallContext& context,
                                             Recorder* parent, std::uint64_t arrival, Found& found);
  [[nodiscard]] std::optional<Answer> accept(const Flight& flight, const Call& call,
                                             CallContext& context, Recorder* parent,
                                             std::uint64_t arrival);
  [[nodiscard]] std::optional<Answer> takeLease(Lease& lease, const Call& call,
                                                CallContext& context, Recorder* parent,
                                                const CacheKey& key, Found& found, Landing& landing,
                                                Millis soft_end);
  [[nodiscard]] std::optional<Answer> renderAside(
      const Call& call, CallContext& context, Found& found, const std::shared_ptr<Landing>& landing,
      const std::shared_ptr<Lease>& lease, std::uint64_t arrival, Millis soft_end, bool& aside);
  /// Something stale is there for a visitor who would wait longer than soft_timeout.
  [[nodiscard]] static bool waitsSoftly(const Target& target, const Found& found,
                                        const Recorder* parent) noexcept {
    return found.use == Use::if_error && target.policy->soft_timeout > 0 && !parent;
  }

  // Rendering: engine_render.cpp
  /// `found`: what the look-up gave, to serve if the render fails and to count the miss.
  [[nodiscard]] Answer renderAndStore(Call& call, CallContext& context, Recorder* parent,
                                      const CacheKey& key, Found& found, bool store,
                                      Landing* landing);
  [[nodiscard]] Rendered render(Call& call, CallContext& context, Recorder& recorder,
                                const CacheKey& key, Purpose purpose);
  [[nodiscard]] Value runView(Call& call, CallContext& context, Recorder& recorder,
                              const CacheKey& key, Begun& begun);
  [[nodiscard]] EntryPtr makeEntry(const Target& target, const CacheKey& key, Value value,
                                   const Recorder& recorder, const Begun& begun) const;
  /// The outcome that refuses it, or Outcome::stores.
  [[nodiscard]] Outcome storability(const Target& target, const CacheEntry& entry,
                                    const Recorder& recorder, std::string& detail);
  void admitVariant(const Target& target, const Begun& begun, Rendered& rendered);
  void put(const Target& target, CallContext& context, const CacheKey& key,
           Rendered& rendered) noexcept;
  [[nodiscard]] bool holdsNewer(const Target& target, const CacheKey& key, const Stamp& stamp,
                                CallContext& context) noexcept;
  [[nodiscard]] static Millis maxAge(const Policy& policy, const Value& value) noexcept;
  void setLifetime(CacheEntry& entry, const Policy& policy, const Recorder& recorder,
                   const Begun& begun) const;
  void noteMiss(const Found& found, const CacheKey& key, Millis wall, const Rendered* rendered);
  struct Changed {
    std::string scope;
    std::uint64_t seq = 0;
  };
  /// Of the entry's scopes the first that changed since its snapshot.
  [[nodiscard]] Changed changeOf(const CacheEntry& entry) const;

  // In the background: engine_background.cpp
  void refresh(const Call& call, const EntryPtr& entry) noexcept;
  /// Whether the new result was stored.
  bool refreshNow(Call& call);
  void audit(const Call& call, const EntryPtr& entry) noexcept;
  void auditNow(Call& call, const CacheEntry& entry);
  void compare(const Target& target, const CacheEntry& stored, const CacheEntry& rendered);

  Ledger& ledger_;
  SnapshotSource& snapshots_;
  const Clock& clock_;
  Executor& executor_;
  EngineLog log_;
  Options options_;
  FlightTable flights_;
  Manifests manifests_{flights_};
  VariantGuard variants_;
  Stopgap stopgap_;
  RenderGate renders_;
  MissLog misses_;
};

}  // namespace larder
