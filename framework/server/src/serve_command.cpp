// larder serve: one process, or a supervisor with several.
#include <Poco/AutoPtr.h>
#include <Poco/Util/MapConfiguration.h>
#include <Poco/Util/ServerApplication.h>

#include <malloc.h>
#include <sys/resource.h>

#include <cstdlib>
#include <iostream>

#include "command_support.h"
#include "control_channel.h"
#include "larder/cache/system_clock.h"
#include "larder/server/application.h"
#include "larder/server/commands.h"
#include "larder/server/supervisor.h"
#include "management_port.h"
#include "running_settings.h"
#include "signals.h"

namespace larder::server {
namespace {

using nlohmann::json;

/// A page that took some megabytes to make is followed by another: memory that goes back to the
/// kernel after each would be faulted in again by the next, a third of the cost of a page that
/// comes from memcached. Each thread's heap may keep so much.
void keepFreedMemory() noexcept {
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

/// Answers the supervisor's questions.
json answerSupervisor(const json& question, ManagementBackend& backend) try {
  const std::string what = question.value("do", "");
  if (what == "health") return {{"report", json::parse(backend.health())}};
  if (what == "caches") {
    const ReportQuery query{.entries = question.value("entries", std::size_t{0}),
                            .under = question.value("under", "/"),
                            .sort = question.value("sort", ReportQuery().sort)};
    return {{"report", json::parse(backend.caches(query))}};
  }
  if (what == "explain") {
    const auto explained = backend.explain(question.at("url").get<std::string>());
    if (!explained) return {{"error", explained.error().message}};
    return {{"report", json::parse(*explained)}};
  }
  if (what == "invalidate") {
    std::vector<Change> changes;
    for (const json& change : question.at("changes")) {
      changes.push_back({change.at("scope").get<std::string>(),
                         change.at("soft").get<bool>() ? Hardness::soft : Hardness::hard});
    }
    const auto receipt = backend.invalidate(changes);
    if (!receipt) return {{"error", receipt.error().message}};
    return {{"era", receipt->era}, {"seq", receipt->seq}};
  }
  return {{"error", "unknown question"}};
} catch (const std::exception& e) {
  return {{"error", e.what()}};
}

/// A shell's usual limit of open files, 1,024, is for old programs that use select(): each may
/// raise its own up to the hard limit, and a connection is a file.
void allowManyFiles(Log& log) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0)
    log.write(LogLevel::warning, "the limit of open files could not be raised: ulimit -n");
}

/// The program as Poco's server application: its layered configuration shows what the file says, so
/// that parts that use Poco::Util find it.
class ServeApplication final : public Poco::Util::ServerApplication {
 public:
  ServeApplication(const CommandLine& line, std::span<const std::string> arguments, Config config,
                   Log& log)
      : line_(line),
        arguments_(arguments.begin(), arguments.end()),
        config_(std::move(config)),
        log_(log) {
    Poco::AutoPtr<Poco::Util::MapConfiguration> layer(new Poco::Util::MapConfiguration);
    for (const ShownSetting& setting : config_.shown)
      layer->setString("larder." + setting.name, setting.value);
    this->config().add(layer, PRIO_APPLICATION);
  }

 protected:
  int main(const std::vector<std::string>&) override {
    const auto processes = numberOf(line_, "--processes", 1, 256, 1);
    const auto worker = numberOf(line_, "--worker", 0, 255, 0);
    const auto control = numberOf(line_, "--control", 3, 1'000'000, 0);
    for (const auto* number : {&processes, &worker, &control})
      if (!*number) return cannotStart(number->error().message);
    if (*control == 0 && *processes > 1) {
      Supervisor supervisor(
          {.workers = *processes, .arguments = arguments_, .overrides = line_.overrides}, config_,
          log_);
      return supervisor.run();
    }
    return serve({.worker = static_cast<int>(*worker),
                  .shares_port = *control != 0,
                  .settings_changed = [] { ::kill(::getpid(), SIGHUP); }},
                 static_cast<int>(*control));
  }

 private:
  int serve(const server::Application::Options& options, int control) {
    keepFreedMemory();
    auto app = server::Application::start(config_, options, log_, clock_);
    if (!app) return cannotStart(app.error().message);
    Signals signals;
    std::unique_ptr<ManagementPort> management;
    std::unique_ptr<ControlChannel> supervisor;
    if (control != 0) {
      supervisor = std::make_unique<ControlChannel>(
          control,
          ControlChannel::Callbacks{.answer =
                                        [&](const json& question) {
                                          return answerSupervisor(question, (*app)->management());
                                        },
                                    // Without its supervisor a worker would be found by nobody.
                                    .closed = [] { ::kill(::getpid(), SIGTERM); }});
      supervisor->tell({{"event", "ready"}});
    } else {
      auto port = ManagementPort::start(config_, (*app)->management(), clock_);
      if (!port) return cannotStart(port.error().message);
      management = std::move(*port);
      log_.write(LogLevel::info,
                 "serving " + siteUrl(config_.http, (*app)->port()) + management->describe());
    }
    while (true) {
      const auto signal = signals.wait(kForever);
      if (signal && *signal == SIGHUP)
        reload(**app);
      else if (signal && *signal != SIGCHLD)
        break;
    }
    const bool drained = (*app)->drain(config_.drain_timeout);
    log_.write(
        LogLevel::info,
        drained ? "ended" : "ended; some requests were cut off, or refreshes in the background");
    // A view that runs for nobody can neither be ended from outside nor be waited for. What was
    // committed is safe, as it is from a power failure.
    if (!drained) std::_Exit(0);
    return 0;
  }

  void reload(server::Application& app) {
    auto config = loadEffectiveConfig(config_.file, line_.overrides);
    const auto reloaded = config ? app.reload(std::move(*config)) : Result<>(config.error());
    if (reloaded)
      log_.write(LogLevel::info, config_.file + " was read again");
    else
      log_.write(LogLevel::error, "not reloaded: " + reloaded.error().message);
  }

  const CommandLine& line_;
  const std::vector<std::string> arguments_;
  const Config config_;
  Log& log_;
  SystemClock clock_;
};

}  // namespace

int serveCommand(const CommandLine& line, std::span<const std::string> arguments) {
  auto config = configOf(line);
  if (!config) return kCannotStart;
  auto log = Log::open(config->log);
  if (!log) return cannotStart(log.error().message);
  allowManyFiles(**log);
  ServeApplication application(line, arguments, std::move(*config), **log);
  // Poco reads options of its own from the command line; ours are read already.
  return application.run(std::vector<std::string>{"larder"});
}

}  // namespace larder::server
