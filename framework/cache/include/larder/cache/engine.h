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
#include "larder/cache/policy.h"
#include "larder/cache/prefetch.h"
#include "larder/cache/recorder.h"
#include "larder/cache/statistics.h"
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
  std::uint64_t revision = 0;  ///< of the view's code (L14)
  LearnedInputs* inputs = nullptr;
  const Policy* policy = nullptr;
  const CacheManager* manager = nullptr;  ///< null: not cached
  Counters* counters = nullptr;           ///< of the view; may be null
  std::uint32_t partition = 0;            ///< of the view, for share accounting
  std::atomic<std::size_t>* renders =
      nullptr;  ///< of the view under way, bounded by the policy; may be null
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
};

/// One request's tree of calls: one snapshot, one deadline. Used by one thread.
class CallContext {
 public:
  CallContext(SnapshotSource& snapshots, Deadline deadline)
      : snapshots_(snapshots), deadline_(deadline) {}
  /// Opened by the first render of the tree.
  [[nodiscard]] Snapshot& snapshot() {
    if (!snapshot_) snapshot_ = snapshots_.openSnapshot();
    return *snapshot_;
  }
  [[nodiscard]] bool hasSnapshot() const noexcept { return snapshot_ != nullptr; }
  [[nodiscard]] Deadline deadline() const noexcept { return deadline_; }
  /// What Engine::tryHits() looked up for this request is not looked up again.
  void startWith(RequestMemo&& memo) noexcept { memo_ = std::move(memo); }

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
};

/// Thrown by call() when a render asks, directly or not, for its own result.
struct CallCycle {
  std::string path;  ///< "/a view -> /b view -> /a view"
};

/// Thrown by call() when the render would start after the deadline, or too many are under way.
struct CallRefused {
  std::string reason;
};

struct Answer {
  EntryRef entry;
  Outcome outcome = Outcome::bypass;
  bool stored = false;
  bool stale = false;
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
  };
  Engine(Ledger& ledger, SnapshotSource& snapshots, const Clock& clock, Executor& executor,
         EngineLog log, Options options);

  /// The answer if it is in the cache and may be served right now, else nothing; never renders,
  /// never waits for another render. With a manager that does not block it does not block either.
  /// The ledger must have been observed.
  [[nodiscard]] std::optional<Answer> tryHit(const Call& call, Deadline deadline) noexcept;
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

  [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] SnapshotSource& snapshots() noexcept { return snapshots_; }

 private:
  enum class Use : std::uint8_t { fresh, early, stale, if_error, none };
  struct Found {
    EntryRef entry;
    Use use = Use::none;
    Outcome miss = Outcome::miss_cold;
    std::uint32_t landings = 0;  ///< of the key's flights, before it was looked up
  };
  struct Rendered {
    EntryPtr entry;
    InputNames names;       ///< of the entry's key
    bool storable = false;  ///< may be given to others who ask the same
    bool stored = false;
  };
  class Landing;
  class Place;

  static bool isServable(Use use) noexcept { return use < Use::if_error; }
  static void buildKey(const Target& target, const InputSource& inputs, const InputNames& names,
                       KeyBuilder& key);
  /// With `memo`, what the request has already fetched is not fetched again.
  [[nodiscard]] Found find(const Target& target, const CacheKey& key, std::uint64_t limit,
                           Deadline deadline, RequestMemo* memo) noexcept;
  [[nodiscard]] Found judged(const Target& target, Lookup&& lookup, std::uint64_t limit) noexcept;
  [[nodiscard]] Use use(const CacheEntry& entry, const Policy& policy, std::uint64_t limit,
                        Outcome& miss) noexcept;
  static void refuseOtherSchema(CallContext& context, Found& found) noexcept;
  [[nodiscard]] Millis freshFor(const CacheEntry& entry) const noexcept;
  [[nodiscard]] Answer serve(const Call& call, Found& found, Recorder* parent) noexcept;
  [[nodiscard]] Answer answer(Call& call, CallContext& context, Recorder* parent);
  [[nodiscard]] std::optional<Answer> follow(Flight& flight, const Call& call, CallContext& context,
                                             Recorder* parent, std::uint64_t arrival);
  /// `found`: what the look-up gave, to serve if the render fails and to count the miss.
  [[nodiscard]] Answer renderAndStore(Call& call, CallContext& context, Recorder* parent,
                                      const CacheKey& key, Found& found, Landing* landing);
  [[nodiscard]] Rendered render(Call& call, CallContext& context, Recorder& recorder,
                                const CacheKey& key, bool store, bool known_variant);
  /// The outcome that refuses it, or Outcome::stores.
  [[nodiscard]] Outcome storability(const Target& target, const CacheEntry& entry,
                                    const Recorder& recorder);
  [[nodiscard]] Millis maxAge(const Policy& policy, const Value& value) const noexcept;
  void setLifetime(CacheEntry& entry, const Policy& policy, const Recorder& recorder,
                   Millis started, Millis wall) const;
  void refresh(const Call& call, const EntryPtr& entry) noexcept;
  void refreshNow(Call& call);
  void audit(const Call& call, const EntryPtr& entry) noexcept;
  void auditNow(Call& call, const CacheEntry& entry);
  static void count(const Target& target, Outcome outcome) noexcept;

  Ledger& ledger_;
  SnapshotSource& snapshots_;
  const Clock& clock_;
  Executor& executor_;
  EngineLog log_;
  Options options_;
  FlightTable flights_;
  Manifests manifests_{flights_};
  VariantGuard variants_;
  std::atomic<std::size_t> renders_{0};
};

}  // namespace larder
