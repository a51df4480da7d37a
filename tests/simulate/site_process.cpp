#include "site_process.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "larder/cache/scope.h"

namespace larder::simulate {

namespace {

// The engine asks a function; there is one simulation at a time.
Random* engine_dice = nullptr;

double throwDice() noexcept {
  return static_cast<double>((engine_dice->next() >> 11U) + 1) * 0x1.0p-53;
}

Version versionOf(std::string_view text) {
  Version version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

site::StoreOptions storeOptions(const std::string& folder, const Clock& clock) {
  site::StoreOptions options;
  options.data_dir = folder;
  options.clock = &clock;
  options.map_scopes = 640;  // so few that floors matter
  options.keep_log = 300;
  return options;
}

/// A snapshot that knows when it was opened.
struct DatedSnapshot final : Snapshot {
  [[nodiscard]] Stamp stamp() const noexcept override { return store->stamp(); }
  std::unique_ptr<site::ReadSnapshot> store;
  Moment moment = 0;
  std::array<Version, kTags> outside{};  ///< what the tags stand for
};

}  // namespace

class SiteProcess::Snapshots final : public SnapshotSource {
 public:
  explicit Snapshots(SiteProcess& process) : process_(process) {}
  [[nodiscard]] std::unique_ptr<Snapshot> openSnapshot() override {
    // What was known when the request began may be long past.
    do {
      process_.world_.weather.pause();
    } while (process_.world_.dice.chance(400));
    auto snapshot = std::make_unique<DatedSnapshot>();
    snapshot->store = process_.store_->read();
    snapshot->moment = process_.world_.now;
    for (std::size_t tag = 0; tag < kTags; ++tag)
      snapshot->outside[tag] = process_.oracle_.current(kFirstTag + tag);
    process_.world_.weather.pause();
    return snapshot;
  }

 private:
  SiteProcess& process_;
};

class SiteProcess::SimulatedExecutor final : public testing::ManualExecutor {
 public:
  explicit SimulatedExecutor(SiteProcess& process)
      : ManualExecutor(process.world_.clock), process_(process) {}
  [[nodiscard]] std::unique_ptr<Event> makeEvent() override {
    return std::make_unique<FiberEvent>(process_.world_.clock, process_.dead_);
  }

 private:
  SiteProcess& process_;
};

class SiteProcess::SimulatedCall final : public Call {
 public:
  SimulatedCall(SiteProcess& process, std::size_t view, std::string path, const Inputs& inputs)
      : process_(process), view_(view), path_(std::move(path)), inputs_(inputs) {
    const auto& definition = process.views_[view];
    target_.site = "simulated";
    target_.path = path_;
    target_.view = definition.name;
    target_.revision = 1;
    target_.inputs = process.inputs_[view].get();
    target_.policy = &definition.policy;
    target_.manager = (definition.shared ? process.shared_ : process.ram_).get();
    target_.counters = &process.counters_;
    target_.renders = process.gates_[view].get();
  }
  SimulatedCall(const SimulatedCall&) = delete;
  SimulatedCall& operator=(const SimulatedCall&) = delete;

  [[nodiscard]] const Target& target() const noexcept override { return target_; }
  [[nodiscard]] const InputSource& inputs() const noexcept override { return inputs_; }
  [[nodiscard]] std::unique_ptr<Call> detach() const override {
    return std::make_unique<SimulatedCall>(process_, view_, path_, inputs_);
  }
  [[nodiscard]] Value render(CallContext& context, Recorder& recorder) override;

 private:
  void take(const Step& step, CallContext& context, Recorder& recorder);
  void read(std::size_t item, Version version);
  void input(std::string_view name, Recorder& recorder);

  SiteProcess& process_;
  std::size_t view_;
  std::string path_;
  Inputs inputs_;
  Target target_;
  PageWriter writer_;
  Version last_ = 0;
};

Value SiteProcess::SimulatedCall::render(CallContext& context, Recorder& recorder) {
  auto& world = process_.world_;
  auto& snapshot = static_cast<DatedSnapshot&>(context.snapshot());
  writer_ = {};
  last_ = 0;
  writer_.begin(target_.view, path_, snapshot.moment, world.clock.monotonic());
  for (const auto& step : process_.views_[view_].steps) {
    if (step.when == Step::When::odd && last_ % 2 == 0) continue;
    if (step.when == Step::When::param) {
      input(Inputs::kNames[Inputs::kParamP], recorder);
      if (inputs_.values[Inputs::kParamP] != 1) continue;
    }
    take(step, context, recorder);
    world.weather.pause();
    if (world.dice.chance(10)) {
      ++world.render_failures;
      throw std::runtime_error("a render that fails");
    }
  }
  Page page;
  page.body = writer_.end();
  return page;
}

void SiteProcess::SimulatedCall::take(const Step& step, CallContext& context, Recorder& recorder) {
  context.checkTime(process_.world_.clock);
  auto& snapshot = static_cast<DatedSnapshot&>(context.snapshot());
  auto& store = *snapshot.store;
  switch (step.kind) {
    case Step::Kind::object: {
      const auto object = store.object(kObjects[step.which], recorder);
      return read(step.which, object ? versionOf(object->title) : 0);
    }
    case Step::Kind::children: {
      const auto children = store.children("/f", {}, recorder);
      for (auto item = kFirstChild; item < kObjects.size(); ++item) {
        const auto found = std::find_if(children.begin(), children.end(), [&](const auto& child) {
          return child->path == kObjects[item];
        });
        if (found == children.end()) {
          writer_.absentFromList(item);
        } else {
          read(item, versionOf((*found)->title));
        }
      }
      return;
    }
    case Step::Kind::row: {
      const auto id = static_cast<std::int64_t>(step.which - kFirstRow + 1);
      const auto row = store.row("note", id, recorder);
      return read(step.which, versionOf(row.root()["text"].text()));
    }
    case Step::Kind::shown: {
      // The row with the id 0 is the view's own.
      const auto rows = store.query("SELECT version, id, text FROM shown", {}, recorder);
      const auto version = static_cast<Version>(rows.root().at(0)["version"].integer());
      read(kShown, version);
      std::array<Version, kRows + 1> versions{};
      for (std::size_t i = 0; i < rows.root().size(); ++i) {
        const auto& row = rows.root().at(i);
        versions.at(static_cast<std::size_t>(row["id"].integer())) = versionOf(row["text"].text());
      }
      for (std::size_t i = 0; i < kRows; ++i) read(firstShown(version) + i, versions[i + 1]);
      return;
    }
    case Step::Kind::tag:
      recorder.scope(tagScope(tagOf(step.which)));
      return read(step.which, snapshot.outside[step.which - kFirstTag]);
    case Step::Kind::input:
      return input(Inputs::kNames[step.which], recorder);
    case Step::Kind::params:
      return input(Inputs::kAllParams, recorder);
    case Step::Kind::call: {
      Inputs inputs = inputs_;
      inputs.values[Inputs::kArgument] = step.argument ? static_cast<int>(last_ % 3) : -1;
      SimulatedCall call(process_, step.which, step.path, inputs);
      const auto answer = process_.engine_->call(call, context, &recorder);
      writer_.call(call.target_.view, call.path_, inputs.value("arg:0"),
                   answer.entry->value.page()->body);
      return;
    }
  }
}

void SiteProcess::SimulatedCall::read(std::size_t item, Version version) {
  writer_.item(item, version);
  last_ = version;
}

void SiteProcess::SimulatedCall::input(std::string_view name, Recorder& recorder) {
  recorder.input(name);
  writer_.input(name, inputs_.value(name));
}

SiteProcess::SiteProcess(Surroundings& world, const std::string& folder, std::string name,
                         const std::vector<ViewDefinition>& views, const Oracle& oracle,
                         std::vector<InputNames>& known)
    : world_(world),
      name_(std::move(name)),
      views_(views),
      oracle_(oracle),
      known_(known),
      store_(site::Store::open(storeOptions(folder, world.clock))),
      snapshots_(std::make_unique<Snapshots>(*this)),
      objects_(std::make_shared<FaultyObjects>(world.weather)),
      executor_(std::make_unique<SimulatedExecutor>(*this)) {
  engine_dice = &world.dice;
  const site::SchemaStep tables{1,
                                "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);"
                                "CREATE TABLE other(id INTEGER PRIMARY KEY, text TEXT)"};
  store_->installSchema("simulated", {&tables, 1});
  EnvelopeOptions envelope;
  envelope.name_space = "simulated";
  envelope.compress_above = 600;
  envelope.chunk = true;
  ram_ = std::make_unique<CacheManager>(CacheManager::Identity{"/", "ram", "Faulty", true},
                                        Policy{}, objects_, Waits::never);
  const auto entries = std::make_shared<EnvelopeCache>(
      std::make_shared<FaultyBytes>(world.server, world.weather, dead_), world.clock, envelope);
  shared_ = std::make_unique<CacheManager>(CacheManager::Identity{"/", "shared", "Faulty", false},
                                           Policy{}, entries, Waits::always, entries.get());
  for (std::size_t i = 0; i < views.size(); ++i) {
    gates_.push_back(std::make_unique<RenderGate>());
    inputs_.push_back(std::make_unique<LearnedInputs>(
        joinInputs(known[i], views[i].declared),
        [this, i](const InputNames& names) { known_[i] = joinInputs(known_[i], names); }));
  }
  engine_ = std::make_unique<Engine>(store_->ledger(), *snapshots_, world.clock, *executor_,
                                     EngineLog{}, Engine::Options{24, 8, &throwDice, 500});
}

SiteProcess::~SiteProcess() = default;

testing::ManualExecutor& SiteProcess::executor() noexcept {
  return *executor_;
}

void SiteProcess::adoptInputs() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->adopt(known_[i]);
}

Answer SiteProcess::answer(const Asked& asked, Millis patience) {
  SimulatedCall call(*this, asked.view, asked.path, asked.inputs);
  const auto deadline = asked.time + patience;
  if (world_.dice.chance(500) && store_->ledger().observe()) {
    if (auto hit = engine_->tryHit(call, deadline)) return std::move(*hit);
  }
  CallContext context(*snapshots_, deadline);
  return engine_->call(call, context, nullptr);
}

}  // namespace larder::simulate
