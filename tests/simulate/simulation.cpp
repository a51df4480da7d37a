#include "simulation.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>

#include "larder/key.h"
#include "larder/testing/temp_dir.h"
#include "simulated_site.h"

namespace larder::simulate {

namespace {

constexpr std::size_t kTraceKept = 150;
constexpr std::size_t kMaxFibers = 14;

class World {
 public:
  World(std::uint64_t seed, Report& report)
      : report_(report), world_(seed), views_(makeViews(world_.dice)) {
    world_.weather.pause = [this] { pause(); };
    world_.note = [this](std::string text) { note(std::move(text)); };
    sites_.push_back(std::make_unique<SimulatedSite>(world_, folder_.file("site"), views_, 2));
  }
  ~World() {
    while (!fibers_.empty()) kill(*fibers_.front().process);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// False when a violation was found.
  bool run(std::uint64_t steps);
  [[nodiscard]] std::string trace() const;
  [[nodiscard]] const std::string& violation() const noexcept { return world_.violation; }

 private:
  struct Running {
    std::unique_ptr<Fiber> fiber;
    SiteProcess* process;
  };

  void note(std::string text);
  void pause();
  void step();
  void resumeOne();
  void act();
  void spawn(SiteProcess& process, std::function<void()> body);
  void request(SimulatedSite& site, SiteProcess& process);
  void ask(SimulatedSite& site, SiteProcess& process, Asked asked);
  void runTask(SiteProcess& process);
  void passTime();
  void troubleTheServer();
  void catastrophe(SimulatedSite& site);
  void kill(SiteProcess& process);
  void killAll(SimulatedSite& site);
  void cloneSite();

  Report& report_;
  testing::TempDir folder_;
  Surroundings world_;
  std::vector<ViewDefinition> views_;
  std::vector<std::unique_ptr<SimulatedSite>> sites_;
  std::vector<Running> fibers_;
  std::deque<std::string> trace_;
  std::uint64_t clones_ = 0;
  std::uint64_t step_ = 0;
};

void World::note(std::string text) {
  // The folder has another name each time.
  if (const auto at = text.find(folder_.path()); at != std::string::npos)
    text.erase(at, folder_.path().size());
  report_.trace = report_.trace * 0x100000001B3U ^ hash64(text);
  trace_.push_back(std::to_string(step_) + "  " + std::move(text));
  if (trace_.size() > kTraceKept) trace_.pop_front();
}

std::string World::trace() const {
  std::string text;
  for (const auto& line : trace_) text += "  " + line + "\n";
  return text;
}

// A dead process's fibers run to their end at once.
void World::pause() {
  if (!Fiber::current()) return;
  const auto mine = std::find_if(fibers_.begin(), fibers_.end(), [](const auto& running) {
    return running.fiber.get() == Fiber::current();
  });
  if (mine != fibers_.end() && mine->process->dead()) return;
  Fiber::pause();
}

bool World::run(std::uint64_t steps) {
  for (step_ = 1; step_ <= steps && world_.violation.empty(); ++step_) {
    step();
    ++report_.steps;
  }
  report_.faults += world_.weather.faults + world_.render_failures;
  return world_.violation.empty();
}

void World::step() {
  if (!fibers_.empty() && world_.dice.chance(fibers_.size() >= kMaxFibers ? 950 : 780)) {
    resumeOne();
  } else {
    try {
      act();
    } catch (const std::exception& error) {
      world_.violation = std::string("what must work failed: ") + error.what() + "\n";
    }
  }
}

void World::resumeOne() {
  const auto now = world_.clock.monotonic();
  const auto from = world_.dice.below(fibers_.size());
  for (std::size_t i = 0; i < fibers_.size(); ++i) {
    const auto at = (from + i) % fibers_.size();
    Fiber& fiber = *fibers_[at].fiber;
    if (!fiber.runnable(now)) continue;
    fiber.resume();
    if (fiber.ended()) fibers_.erase(fibers_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  // All wait: the time comes at which one of them waits no longer.
  Millis next = kForever;
  for (const auto& running : fibers_) next = std::min(next, running.fiber->deadline());
  world_.clock.advanceTo(next);
}

void World::act() {
  auto& site = *world_.dice.oneOf(sites_);
  auto& process = site.process(world_.dice.below(site.processes()));
  const auto choice = world_.dice.below(1'000);
  if (choice < 770) {
    if (fibers_.size() < kMaxFibers) request(site, process);
  } else if (choice < 810) {
    site.edit(process, report_);
  } else if (choice < 830) {
    if (world_.dice.chance(50)) site.dropTriggerFromOutside();
    site.editFromOutside(report_);
  } else if (choice < 845) {
    site.invalidate(process, report_);
  } else if (choice < 895) {
    passTime();
  } else if (choice < 945) {
    if (process.executor().pending() + process.executor().timers() > 0) runTask(process);
  } else if (choice < 980) {
    troubleTheServer();
  } else if (choice < 990) {
    world_.dice.chance(500) ? process.objects().evict(1 + world_.dice.below(20))
                            : static_cast<void>(process.objects().deliver());
  } else if (choice < 995) {
    process.adoptInputs();
    process.store().maintain();
  } else {
    catastrophe(site);
  }
}

void World::spawn(SiteProcess& process, std::function<void()> body) {
  fibers_.push_back({std::make_unique<Fiber>(std::move(body)), &process});
}

void World::request(SimulatedSite& site, SiteProcess& process) {
  Asked asked;
  // Few keys, so that requests meet.
  asked.view = world_.dice.below(views_.size());
  asked.path = kObjects[world_.dice.below(2)];
  for (std::size_t i = Inputs::kArgument + 1; i < asked.inputs.values.size(); ++i)
    if (world_.dice.chance(400)) asked.inputs.values[i] = static_cast<int>(world_.dice.below(2));
  // Crowds come for the same.
  const auto crowd = world_.dice.chance(100) ? 1 + world_.dice.below(4) : 1;
  for (std::size_t i = 0; i < crowd; ++i) {
    ++report_.requests;
    spawn(process, [this, &site, &process, asked] { ask(site, process, asked); });
    if (crowd > 1 && world_.dice.chance(300))
      asked.inputs.values[4] = static_cast<int>(world_.dice.below(3)) - 1;
  }
}

void World::ask(SimulatedSite& site, SiteProcess& process, Asked asked) {
  asked.moment = world_.now;
  asked.time = world_.clock.monotonic();
  const auto who = views_[asked.view].name + " of " + asked.path + " at process " + process.name() +
                   ", asked at moment " + std::to_string(asked.moment) + " (user " +
                   asked.inputs.value("user") + ")";
  try {
    const auto patience = std::array<Millis, 3>{50, 1'000, 30'000}[world_.dice.below(3)];
    const auto answer = process.answer(asked, patience);
    if (process.dead()) return;  // nobody hears it
    ++report_.answers;
    report_.hits += answer.outcome == Outcome::hit ? 1U : 0U;
    report_.stale_hits += answer.outcome == Outcome::hit_stale ? 1U : 0U;
    report_.coalesced += answer.outcome == Outcome::coalesced ? 1U : 0U;
    note(who + ": " + std::string(outcomeName(answer.outcome)));
    if (auto wrong = judge(asked, answer, site.oracle(), views_); !wrong.empty()) {
      world_.violation = who + "\n  outcome " + std::string(outcomeName(answer.outcome)) +
                         ", as of seq " + std::to_string(answer.entry->stamp.as_of) + ": " + wrong +
                         "\n" + std::string(answer.entry->value.page()->body);
    }
  } catch (const std::exception& error) {
    ++report_.refused;
    note(who + ": " + error.what());
  } catch (const CallRefused& refused) {
    ++report_.refused;
    note(who + ": " + refused.reason);
  } catch (const CallCycle& cycle) {
    world_.violation = who + ": " + cycle.problem + ", where they do not: " + cycle.path;
  }
}

void World::runTask(SiteProcess& process) {
  spawn(process, [this, &process] {
    note("process " + process.name() + " runs a task");
    process.executor().runOne();
  });
}

void World::passTime() {
  const auto by = std::array<Millis, 8>{1, 1, 5, 5, 20, 20, 200, 2000}[world_.dice.below(8)];
  world_.clock.advance(by);
  if (world_.dice.chance(30)) {
    const auto jump = world_.dice.chance(500) ? 3'600'000 : -3'600'000;
    world_.clock.jumpWall(jump);
    note("the wall clock jumps by " + std::to_string(jump) + " ms");
  }
}

void World::troubleTheServer() {
  switch (world_.dice.below(40)) {
    case 0:
      world_.server.down = true;
      return note("the cache server is down");
    case 1:
      world_.server.clear();
      return note("the cache server comes back empty");
    case 2:
      world_.server.goBack();
      return note("the cache server comes back with what it had");
    case 3:
      return world_.server.remember();
    default:
      world_.server.down = false;
      if (world_.dice.chance(300)) world_.server.evict(1 + world_.dice.below(5));
      if (world_.dice.chance(800)) world_.server.deliver();
  }
}

void World::kill(SiteProcess& process) {
  process.die();
  for (std::size_t i = 0; i < fibers_.size();) {
    if (fibers_[i].process != &process) {
      ++i;
      continue;
    }
    while (!fibers_[i].fiber->ended()) fibers_[i].fiber->resume();
    fibers_.erase(fibers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void World::killAll(SimulatedSite& site) {
  for (std::size_t i = 0; i < site.processes(); ++i) kill(site.process(i));
}

void World::cloneSite() {
  if (sites_.size() > 1) {
    killAll(*sites_.back());
    sites_.pop_back();
    return note("the clone ends");
  }
  ++report_.clones;
  note("the site is cloned");
  sites_.push_back(std::make_unique<SimulatedSite>(
      *sites_.front(), folder_.file("clone" + std::to_string(++clones_)), 1));
}

void World::catastrophe(SimulatedSite& site) {
  switch (world_.dice.below(9)) {
    case 0:
      return site.redefineView();
    case 1:
    case 2:
    case 8: {
      ++report_.crashes;
      const auto i = world_.dice.below(site.processes());
      note("process " + site.process(i).name() + " crashes");
      kill(site.process(i));
      return site.restart(i);
    }
    case 3:
    case 4:
      return site.backUp();
    case 5:
    case 6: {
      if (!site.hasBackup()) return site.backUp();
      ++report_.restores;
      const bool running = world_.dice.chance(500);
      if (running) return site.restoreBackup(true);
      killAll(site);
      site.stop();
      site.restoreBackup(false);
      return site.start();
    }
    default:
      cloneSite();
  }
}

}  // namespace

Report simulate(const Plan& plan) {
  // The databases are small and short-lived.
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 0);
  Report report;
  for (std::uint64_t done = 0, seed = plan.seed; done < plan.steps; done = report.steps, ++seed) {
    World world(seed, report);
    const auto before = report.steps;
    if (world.run(std::min(kWorldSteps, plan.steps - done))) continue;
    report.violation = "violation: " + world.violation() + "the last steps:\n" + world.trace() +
                       "repeat it with: simulate --seed " + std::to_string(seed) + " --steps " +
                       std::to_string(report.steps - before) + "\n";
    break;
  }
  return report;
}

}  // namespace larder::simulate
