#include "larder/server/application.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "app_host.h"
#include "explanation.h"
#include "larder/cache/engine.h"
#include "larder/cache/plugin_loader.h"
#include "larder/cache/thread_pool.h"
#include "larder/http/page_head.h"
#include "larder/http/server.h"
#include "larder/http/site_handler.h"
#include "larder/server/apps.h"
#include "larder/server/managers.h"
#include "larder/site/site.h"
#include "larder/site/state.h"
#include "larder/site/store.h"
#include "publishing.h"
#include "report.h"
#include "running_settings.h"
#include "warm_start.h"

namespace larder::server {
namespace {

using nlohmann::json;
using LogFunction = std::function<void(LogLevel, std::string_view)>;

constexpr Millis kTick = 1'000;
/// At the end, for refreshes that run: nobody waits for what they make.
constexpr Millis kBackgroundPatience = 200;
/// Recent hits are those of the last five to ten minutes.
constexpr std::uint64_t kRecentTicks = 300;

ThreadPool::Options poolOptions(const Config& config) {
  return {.threads = config.background_threads, .name = "larder-back"};
}

site::StoreOptions storeOptions(const Config& config, const Clock& clock, Executor& executor,
                                LogFunction log) {
  site::StoreOptions options;
  options.data_dir = config.data;
  options.clock = &clock;
  options.executor = &executor;
  options.log = std::move(log);
  options.full_sync = config.store.full_sync;
  options.map_scopes = config.store.map_scopes;
  options.writer_wait = config.store.writer_wait;
  options.keep_log = config.store.keep_log;
  // A snapshot outlives any request that may use it.
  options.snapshot_limit = std::max(options.snapshot_limit, 2 * config.request_timeout);
  options.max_snapshots = std::max(
      options.max_snapshots, config.http.workers + config.background_threads + std::size_t{8});
  return options;
}

json reportHttp(const http::ServerStats& stats) {
  return {{"open_connections", stats.open_connections},
          {"queued_requests", stats.queued_requests},
          {"accepted", stats.accepted},
          {"requests", stats.requests},
          {"fast_hits", stats.fast_hits},
          {"refused", stats.refused},
          {"overloaded", stats.overloaded},
          {"idle_evicted", stats.idle_evicted},
          {"bytes_sent", stats.bytes_sent}};
}

json reportStore(const site::StoreStats& stats) {
  return {{"edits", stats.edits},        {"drains", stats.drains},   {"snapshots", stats.snapshots},
          {"unlogged", stats.unlogged},  {"rewinds", stats.rewinds}, {"log_rows", stats.log_rows},
          {"wal_bytes", stats.wal_bytes}};
}

}  // namespace

class Application::Impl final : public ManagementBackend {
 public:
  Impl(Config config, const Options& options, Log& log, const Clock& clock)
      : config_(std::move(config)),
        options_(options),
        log_(log),
        clock_(clock),
        started_(clock.monotonic()),
        executor_(clock, poolOptions(config_)),
        app_host_(clock, executor_, log),
        plugins_(moduleFolders(config_.plugin_folders, "plugins")),
        libraries_(moduleFolders(config_.app_folders, "apps")),
        managers_factory_({.plugins = plugins_,
                           .clock = clock,
                           .executor = executor_,
                           .log = logFunction(),
                           .site_name = config_.site_name,
                           .finish = http::finishStoredPage}),
        warm_start_({.clock = clock,
                     .executor = executor_,
                     .log = logFunction(),
                     .finish = http::finishStoredPage},
                    config_.data, config_.site_name, options.worker),
        apps_(libraries_, app_host_) {}

  ~Impl() override {
    server_.reset();
    executor_.stop();
  }

  Result<> start() {
    try {
      store_ = site::Store::open(storeOptions(config_, clock_, executor_, logFunction()));
      state_ = site::State::open(stateOptions(config_, clock_, logFunction()));
    } catch (const site::StoreError& e) {
      return Error{e.what()};
    }
    publisher_ = std::make_unique<NginxPublisher>(
        config_.nginx,
        NginxPublisher::Lent{*state_, store_->ledger(), clock_, logFunction(), config_.data});
    engine_ = std::make_unique<Engine>(
        store_->ledger(), *store_, clock_, executor_,
        [this](std::string_view message) { log_.write(LogLevel::warning, message); },
        Engine::Options{.max_renders = config_.max_renders, .render_wait = config_.render_wait});
    site_ =
        std::make_unique<site::Site>(site::SiteOptions{.name = config_.site_name,
                                                       .clock = &clock_,
                                                       .executor = &executor_,
                                                       .log = logFunction(),
                                                       .finish = http::finishSitePage,
                                                       .request_timeout = config_.request_timeout,
                                                       .publisher = publisher_.get()},
                                     *store_, state_.get(), *engine_);
    if (auto configured = configure(config_); !configured) return configured;
    handler_ = std::make_unique<http::SiteHandler>(*site_);
    http::Handler* front = handler_.get();
    if (!config_.log.access.empty()) {
      auto access = AccessLog::open(config_.log.access, *handler_);
      if (!access) return access.error();
      access_log_ = std::move(*access);
      front = access_log_.get();
    }
    config_.http.reuse_port = options_.shares_port;
    auto server = http::Server::start(config_.http, *front, clock_);
    if (!server) return server.error();
    server_ = std::move(*server);
    tick();
    return Done{};
  }

  Result<> reload(Config config) {
    const auto waiting = waitingForRestart(config_, config);
    // What needs a restart stays as it was.
    config.shown = config_.shown;
    config.http = config_.http;
    config.nginx = config_.nginx;
    if (auto configured = configure(config); !configured) return configured;
    for (const std::string& line : waiting) log_.write(LogLevel::warning, line);
    log_.setLevel(config.log.level);
    if (const auto reopened = log_.reopen(); !reopened)
      log_.write(LogLevel::warning, reopened.error().message);
    if (access_log_) {
      if (const auto reopened = access_log_->reopen(); !reopened)
        log_.write(LogLevel::warning, reopened.error().message);
    }
    config_ = std::move(config);
    return Done{};
  }

  bool drain(Millis patience) {
    // At the same time: an end that has to be quick has time for one of the two.
    std::thread saving([this] { warm_start_.saveAll(); });
    const bool drained = server_->drain(patience);
    saving.join();
    if (access_log_) access_log_->close();
    return drained && executor_.drain(kBackgroundPatience);
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return server_->port(); }

  [[nodiscard]] std::string caches(const ReportQuery& query) override {
    const auto set = managers();
    json report;
    report["site"] = config_site_name_;
    report["processes"] = json::array({process()});
    report["managers"] = json::array();
    Places held;
    for (const ManagerSet::Item& item : set->items)
      report["managers"].push_back(reportManager(item, clock_.monotonic(), query, held));
    report["views"] = json::array();
    for (const auto& [name, counters] : site_->viewCounters()) {
      json view = reportCounters(*counters);
      view["view"] = name;
      report["views"].push_back(std::move(view));
    }
    report["objects"] = reportObjects(site_->objects(), held, query);
    return report.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  [[nodiscard]] std::string health() override {
    const bool store_ok = store_->ledger().observe();
    json failing = json::array();
    for (const ManagerSet::Item& item : managers()->items) {
      const Health health = item.manager ? item.manager->cache().health()
                                         : Health{.ok = false, .detail = item.failure};
      if (!health.ok)
        failing.push_back({{"id", item.config.identity.id},
                           {"path", item.config.identity.path},
                           {"detail", health.detail}});
    }
    // Without its caches a site is slow, without its store it is down.
    return json{{"ok", store_ok}, {"managers_failing", std::move(failing)}}.dump();
  }

  [[nodiscard]] Result<std::string> explain(std::string_view url) override {
    auto explained = explainUrl(*site_, url, clock_);
    if (!explained) return explained.error();
    (*explained)["worker"] = options_.worker;
    (*explained)["pid"] = ::getpid();
    const json report = {{"url", url}, {"processes", json::array({std::move(*explained)})}};
    return report.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  [[nodiscard]] Result<Receipt> invalidate(std::span<const Change> changes) override {
    const auto seq = store_->ledger().append(changes);
    if (!seq) return seq.error();
    return Receipt{store_->ledger().known().era, *seq};
  }

 private:
  [[nodiscard]] LogFunction logFunction() {
    return [this](LogLevel level, std::string_view message) { log_.write(level, message); };
  }

  [[nodiscard]] std::shared_ptr<const ManagerSet> managers() const {
    const std::lock_guard lock(managers_mutex_);
    return managers_;
  }

  /// Everything that a reload may change.
  Result<> configure(const Config& config) {
    const std::lock_guard lock(configure_mutex_);
    for (const Refusal& refusal : plugins_.loadAll())
      log_.write(LogLevel::warning, "plugin " + refusal.file + " is not used: " + refusal.message);
    const auto before = managers();
    auto after = managers_factory_.build(config.managers, before.get());
    if (!after) return after.error();
    // At the start a site runs without a cache rather than not at all; later it keeps the old one.
    if (before) {
      if (auto failures = newFailures(before.get(), **after); !failures.empty())
        return Error{std::move(failures)};
    }
    auto mounts = apps_.load(config.apps);
    if (!mounts) return mounts.error();
    for (const std::string& warning : warnOfIdleRules(config.rules, *mounts))
      log_.write(LogLevel::warning, warning);
    const auto rules = std::make_shared<const RuleSet>(config.rules);
    if (auto done = serve(config, std::move(*mounts), (*after)->registry, rules); !done)
      return done;
    configured_config_ = config;
    configured_rules_ = rules;
    {
      const std::lock_guard managers_lock(managers_mutex_);
      managers_ = *after;
    }
    tell(config, **after);
    warm_start_.adopt(**after);
    if (before) endManagers(*before, **after);
    return Done{};
  }

  Result<> serve(const Config& config, std::vector<site::Mount> mounts,
                 std::shared_ptr<const CacheManagerRegistry> registry,
                 std::shared_ptr<const RuleSet> rules) {
    const auto revision = revisionOf(config, mounts);
    auto configured = site_->configure({.mounts = std::move(mounts),
                                        .registry = std::move(registry),
                                        .rules = std::move(rules),
                                        .revision = revision});
    if (!configured) return configured;
    publisher_->revise(revision);
    try {
      // What an earlier configuration published may still be there.
      if (publishes(config) || !state_->published(0, 1).empty()) publisher_->start();
    } catch (const site::StoreError& e) {
      return Error{e.what()};
    }
    return configured;
  }

  void tell(const Config& config, const ManagerSet& set) {
    for (const std::string& warning : config.warnings) log_.write(LogLevel::warning, warning);
    for (const FailedManager& failed : set.registry->failed()) {
      log_.write(LogLevel::error, failed.reason + "; its views are not cached");
    }
    for (const PluginLoader* loader : {&plugins_, &libraries_}) {
      for (const PluginPtr& plugin : loader->plugins()) {
        if (plugin->changedOnDisk())
          log_.write(LogLevel::warning,
                     plugin->origin() + " was replaced; the new one is used after a restart");
      }
    }
  }

  /// An edited template, script or SQL file is served from the next second on; one with an error is
  /// told, and what ran goes on.
  void refreshApps() {
    const std::lock_guard lock(configure_mutex_);
    if (!apps_.changed()) return;
    auto mounts = apps_.load(configured_config_.apps);
    const auto configured = mounts ? serve(configured_config_, std::move(*mounts),
                                           managers()->registry, configured_rules_)
                                   : Result<>(mounts.error());
    if (configured)
      log_.write(LogLevel::info, "apps were read again");
    else
      log_.write(LogLevel::error, "apps stay as they were: " + configured.error().message);
  }

  void endManagers(const ManagerSet& before, const ManagerSet& after) {
    std::vector<Change> changes;
    for (std::string& scope : endedManagers(before, after)) changes.push_back({std::move(scope)});
    if (changes.empty()) return;
    if (const auto seq = store_->ledger().append(changes); !seq)
      log_.write(LogLevel::error,
                 "what replaced managers held is not invalidated: " + seq.error().message);
  }

  /// Rule 41: what `larder config set` wrote holds in every process within a second or two.
  void noticeChangedSettings() {
    const std::uint64_t version = state_->version();
    if (version == state_version_) return;
    const std::lock_guard lock(configure_mutex_);
    auto settings = runningSettings(*state_);
    if (settings == configured_config_.changes) {
      state_version_ = version;
      return;
    }
    // The same ones again if that failed, for a file that is wrong at the moment; not each second.
    if (!options_.settings_changed || (settings == tried_settings_ && ticks_ < retry_settings_))
      return;
    constexpr std::uint64_t kTicksBetweenTries = 10;
    retry_settings_ = ticks_ + kTicksBetweenTries;
    tried_settings_ = std::move(settings);
    options_.settings_changed();
  }

  void tick() {
    site_->maintain();
    warm_start_.tick();
    ++ticks_;
    try {
      refreshApps();
      noticeChangedSettings();
      if (ticks_ % 60 == 0) state_->maintain();
      if (ticks_ % kRecentTicks == 0) site_->objects().beginPeriod();
    } catch (const std::exception& e) {  // the next tick tries again
      log_.write(LogLevel::warning, e.what());
    }
    executor_.postAt(clock_.monotonic() + kTick, [this] { tick(); });
  }

  [[nodiscard]] json process() const {
    const Stamp known = store_->ledger().known();
    json report = {{"worker", options_.worker},
                   {"pid", ::getpid()},
                   {"uptime_ms", clock_.monotonic() - started_},
                   {"ledger", {{"seq", known.as_of}, {"era", std::to_string(known.era)}}},
                   {"store", reportStore(store_->stats())},
                   {"http", reportHttp(server_->stats())}};
    if (publisher_->running()) report["nginx"] = reportPublisher(*publisher_);
    return report;
  }

  Config config_;
  const std::string config_site_name_ = config_.site_name;  // read while a reload runs
  const Options options_;
  Log& log_;
  const Clock& clock_;
  const Millis started_;
  ThreadPool executor_;
  AppHost app_host_;
  PluginLoader plugins_;
  PluginLoader libraries_;
  ManagerFactory managers_factory_;
  WarmStart warm_start_;
  AppLoader apps_;
  std::unique_ptr<site::Store> store_;
  std::unique_ptr<site::State> state_;
  std::unique_ptr<NginxPublisher> publisher_;
  /// One reload at a time, of the configuration or of an app's files; guards the next two.
  std::mutex configure_mutex_;
  Config configured_config_;
  std::shared_ptr<const RuleSet> configured_rules_;
  mutable std::mutex managers_mutex_;
  std::shared_ptr<const ManagerSet> managers_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<site::Site> site_;
  std::unique_ptr<http::SiteHandler> handler_;
  std::unique_ptr<AccessLog> access_log_;
  std::unique_ptr<http::Server> server_;
  std::uint64_t state_version_ = 0;
  std::vector<Override> tried_settings_;  ///< for which settings_changed() was called last
  std::uint64_t retry_settings_ = 0;      ///< tick before which it is not called again for those
  std::uint64_t ticks_ = 0;
};

Result<std::unique_ptr<Application>> Application::start(Config config, const Options& options,
                                                        Log& log, const Clock& clock) {
  std::unique_ptr<Application> app(
      new Application(std::make_unique<Impl>(std::move(config), options, log, clock)));
  if (auto started = app->impl_->start(); !started) return started.error();
  return app;
}

Application::Application(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Application::~Application() = default;
Result<> Application::reload(Config config) {
  return impl_->reload(std::move(config));
}
bool Application::drain(Millis patience) {
  return impl_->drain(patience);
}
std::uint16_t Application::port() const noexcept {
  return impl_->port();
}
ManagementBackend& Application::management() noexcept {
  return *impl_;
}

std::vector<std::string> moduleFolders(const std::vector<std::filesystem::path>& configured,
                                       std::string_view kind) {
  std::vector<std::string> names;
  names.reserve(configured.size());
  for (const auto& folder : configured) names.push_back(folder.string());
  if (names.empty()) {
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    names.push_back(program.parent_path().parent_path() / "lib" / "larder" / kind);
  }
  return names;
}

}  // namespace larder::server
