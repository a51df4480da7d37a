// SiteProcess: what one server process has: its store over the site's file, an engine, an executor,
// a cache of its own and a way to the shared one. Several of them live in one real process, on one
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "faulty_caches.h"
#include "fiber.h"
#include "larder/cache/engine.h"
#include "larder/cache/envelope.h"
#include "larder/site/store.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/manual_executor.h"
#include "views.h"

namespace larder::simulate {

/// What all processes of a simulation share.
struct Surroundings {
  testing::ManualClock clock;
  Random dice;
  Weather weather;
  ByteServer server;
  Moment now = 1;
  Version versions = 0;  ///< given so far
  std::uint64_t render_failures = 0;
  std::function<void(std::string)> note;  ///< into the trace
  std::string violation;                  ///< the first

  explicit Surroundings(std::uint64_t seed)
      : dice(seed), weather{dice, {}, 0}, server(dice, clock) {}
};

class SiteProcess {
 public:
  /// `outside`: the versions of the items that only tags stand for. `known`: the inputs that each
  /// view is known to read. All outlive the process.
  SiteProcess(Surroundings& world, const std::string& folder, std::string name,
              const std::vector<ViewDefinition>& views, const Oracle& oracle,
              std::vector<InputNames>& known);
  ~SiteProcess();
  SiteProcess(const SiteProcess&) = delete;
  SiteProcess& operator=(const SiteProcess&) = delete;

  /// Answers one request, in a fiber.
  [[nodiscard]] Answer answer(const Asked& asked, Millis patience);
  /// From now on nothing that it does reaches anybody, and none of its fibers waits any more.
  void die() noexcept { dead_ = true; }
  [[nodiscard]] bool dead() const noexcept { return dead_; }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] site::Store& store() noexcept { return *store_; }
  [[nodiscard]] testing::ManualExecutor& executor() noexcept;
  [[nodiscard]] FaultyObjects& objects() noexcept { return *objects_; }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  /// What other processes have learned.
  void adoptInputs();

 private:
  class SimulatedCall;
  class Snapshots;
  class SimulatedExecutor;

  Surroundings& world_;
  const std::string name_;
  const std::vector<ViewDefinition>& views_;
  const Oracle& oracle_;
  std::vector<InputNames>& known_;
  bool dead_ = false;
  Counters counters_;
  std::unique_ptr<site::Store> store_;
  std::unique_ptr<Snapshots> snapshots_;
  std::shared_ptr<FaultyObjects> objects_;
  std::unique_ptr<CacheManager> ram_;
  std::unique_ptr<CacheManager> shared_;
  std::vector<std::unique_ptr<LearnedInputs>> inputs_;
  std::vector<std::unique_ptr<RenderGate>> gates_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SimulatedExecutor> executor_;  // its tasks end before the engine that they are of
};

}  // namespace larder::simulate
