// A small world for tests of the engine: a ledger in memory, a manual clock, a cache that is a map,
// and views that are functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "larder/cache/engine.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/manual_executor.h"

namespace larder::testing {

/// Holds everything for ever and counts what it is asked; `broken` makes every answer an error.
class MapCache : public Cache {
 public:
  Lookup get(const CacheKey& key, Deadline) noexcept override {
    if (before_get) before_get();
    ++gets;
    return peek(key);
  }
  void getMany(std::span<const CacheKey> keys, std::span<Lookup> out, Deadline) noexcept override {
    ++round_trips;
    asked_at_once = keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) out[i] = peek(keys[i]);
  }
  Stored put(const CacheKey& key, EntryPtr entry, Deadline) noexcept override {
    ++puts;
    const std::lock_guard lock(mutex_);
    if (broken) return {false, how};
    entries_.insert_or_assign(std::string(key.bytes), std::move(entry));
    return {true, Reason::none};
  }
  Stored erase(const CacheKey& key, Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    entries_.erase(std::string(key.bytes));
    return {true, Reason::none};
  }
  Stored clear(Deadline) noexcept override {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    return {true, Reason::none};
  }
  bool sweep(const Expendable& expendable, std::size_t) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& held) { return expendable(*held.second); });
    return false;
  }
  [[nodiscard]] Stats stats() const noexcept override { return {}; }
  [[nodiscard]] Health health() const noexcept override { return {}; }
  /// Not counted.
  [[nodiscard]] Lookup peek(const CacheKey& key) const {
    const std::lock_guard lock(mutex_);
    if (broken) return {Status::error, {}, how};
    const auto it = entries_.find(std::string(key.bytes));
    if (it == entries_.end()) return {};
    return {Status::hit, EntryRef(it->second), Reason::none};
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  void eraseIf(const Expendable& expendable) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const auto& held) { return expendable(*held.second); });
  }

  std::function<void()> before_get;
  std::atomic<bool> broken{false};
  Reason how = Reason::unreachable;
  std::atomic<std::size_t> gets{0};
  std::atomic<std::size_t> round_trips{0};
  std::atomic<std::size_t> asked_at_once{0};  // in the last round trip
  std::atomic<std::size_t> puts{0};
  void forgetCounts() { gets = round_trips = asked_at_once = puts = 0; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, EntryPtr> entries_;
};

struct FixedSnapshot final : Snapshot {
  explicit FixedSnapshot(Stamp s) : stamp_(s) {}
  [[nodiscard]] Stamp stamp() const noexcept override { return stamp_; }
  Stamp stamp_;
};

class LedgerSnapshots final : public SnapshotSource {
 public:
  explicit LedgerSnapshots(Ledger& ledger) : ledger_(ledger) {}
  [[nodiscard]] std::unique_ptr<Snapshot> openSnapshot() override {
    return std::make_unique<FixedSnapshot>(ledger_.known());
  }

 private:
  Ledger& ledger_;
};

/// Input values by name.
class MapInputs final : public InputSource {
 public:
  void write(std::string_view name, KeyBuilder& key) const override {
    const auto it = values.find(name);
    if (it == values.end()) {
      key.absent(name);
    } else {
      key.input(name, 1);
      key.text(it->second);
    }
  }
  std::map<std::string, std::string, std::less<>> values;
};

/// A view: its code, and what the engine remembers of it.
struct TestView {
  using Code = std::function<Value(CallContext&, Recorder&, const MapInputs&)>;
  explicit TestView(std::string view_name, Code view_code, InputNames known = {})
      : name(std::move(view_name)), code(std::move(view_code)), inputs(std::move(known)) {}
  std::string name;
  Code code;
  LearnedInputs inputs;
  Counters counters;
  ObjectCounters object;
  RenderGate renders;
  Trust trust;
  std::atomic<int> runs{0};
};

class TestCall final : public Call {
 public:
  TestCall(TestView& view, std::string path, MapInputs inputs, const Policy& policy,
           const CacheManager* manager)
      : view_(view),
        path_(std::move(path)),
        inputs_(std::move(inputs)),
        policy_(policy),
        manager_(manager) {
    target_.site = "test";
    target_.path = path_;
    target_.view = view_.name;
    target_.revision = 1;
    target_.inputs = &view_.inputs;
    target_.policy = &policy_;
    target_.manager = manager_;
    target_.counters = &view_.counters;
    target_.object = &view_.object;
    target_.renders = &view_.renders;
    target_.trust = &view_.trust;
  }
  [[nodiscard]] const Target& target() const noexcept override { return target_; }
  [[nodiscard]] const InputSource& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] Value render(CallContext& context, Recorder& recorder) override {
    ++view_.runs;
    return view_.code(context, recorder, inputs_);
  }
  [[nodiscard]] std::unique_ptr<Call> detach() const override {
    return std::make_unique<TestCall>(view_, path_, inputs_, policy_, manager_);
  }

 private:
  TestView& view_;
  std::string path_;
  MapInputs inputs_;
  const Policy& policy_;
  const CacheManager* manager_;
  Target target_;
};

inline Value text(std::string body) {
  Page page;
  page.body = std::move(body);
  return page;
}

class EngineWorld {
 public:
  explicit EngineWorld(ManualExecutor::Waiting waiting = ManualExecutor::Waiting::blocks,
                       Engine::Options options = {})
      : snapshots(ledger),
        executor(clock, waiting),
        cache(std::make_shared<MapCache>()),
        manager({"/", "fast", "Map", true}, Policy{}, cache, Waits::never),
        engine(
            ledger, snapshots, clock, executor, [this](std::string_view m) { log.emplace_back(m); },
            options) {}

  Answer ask(TestView& view, const std::map<std::string, std::string, std::less<>>& values = {},
             const std::string& path = "/a") {
    return askOf(engine, manager, view, values, path);
  }
  Answer askOf(Engine& of, const CacheManager& by, TestView& view,
               const std::map<std::string, std::string, std::less<>>& values = {},
               const std::string& path = "/a") {
    MapInputs inputs;
    inputs.values = values;
    TestCall call(view, path, std::move(inputs), policy, &by);
    CallContext context(snapshots, clock.monotonic() + 60'000);
    return of.call(call, context, nullptr);
  }
  /// Of another view, by a view that is being rendered.
  std::string part(TestView& view, CallContext& context, Recorder& recorder,
                   const std::string& path = "/a") {
    TestCall call(view, path, {}, policy, &manager);
    return std::string(engine.call(call, context, &recorder).entry->value.page()->body);
  }
  std::string body(TestView& view,
                   const std::map<std::string, std::string, std::less<>>& values = {},
                   const std::string& path = "/a") {
    return std::string(ask(view, values, path).entry->value.page()->body);
  }
  void change(std::string scope, Hardness hardness = Hardness::hard) {
    const Change change{std::move(scope), hardness};
    ASSERT_TRUE(ledger.append({&change, 1}));
  }

  MemoryLedger ledger;
  LedgerSnapshots snapshots;
  ManualClock clock;
  ManualExecutor executor;
  std::shared_ptr<MapCache> cache;
  CacheManager manager;
  std::vector<std::string> log;
  Policy policy;
  Engine engine;
};

}  // namespace larder::testing
