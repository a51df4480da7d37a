#include "larder/server/supervisor.h"

#include <Poco/Exception.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "control_channel.h"
#include "larder/cache/system_clock.h"
#include "larder/server/management.h"
#include "management_port.h"
#include "report.h"
#include "running_settings.h"
#include "signals.h"

namespace larder::server {
namespace {

using nlohmann::json;

constexpr Millis kReportPatience = 5'000;
constexpr Millis kCommitPatience = 15'000;
/// Beyond the time to drain: what workers keep for the next start may be large. Who has not ended
/// himself then hangs, and is killed.
constexpr Millis kEndPatience = 15'000;
constexpr int kControlDescriptor = 3;

/// Holds a port for the workers, which listen on it by SO_REUSEPORT.
class ReservedPort {
 public:
  static Result<ReservedPort> take(const http::ServerOptions& http) {
    const std::string place = http.host + ':' + std::to_string(http.port);
    try {
      Poco::Net::SocketAddress address(http.host, http.port);
      {
        // SO_REUSEPORT would share the port with another site of the same user: ask without first.
        Poco::Net::ServerSocket alone;
        alone.bind(address, true, false);
        alone.listen(1);
        address = alone.address();
      }
      ReservedPort reserved;
      reserved.socket_.bind(address, true, true);
      return reserved;
    } catch (const Poco::Exception& e) {
      return Error{"cannot listen on " + place + ": " + e.displayText() +
                   "; end the program that does, or choose another port with -D http.port=N"};
    }
  }
  [[nodiscard]] std::uint16_t port() const { return socket_.address().port(); }

 private:
  Poco::Net::ServerSocket socket_;
};

struct Worker {
  unsigned number = 0;
  pid_t pid = 0;  ///< 0: not running
  std::shared_ptr<ControlChannel> channel;
  /// Of the process that was started last.
  std::shared_ptr<std::atomic<bool>> ready = std::make_shared<std::atomic<bool>>(false);
  Millis started = 0;
  int rapid_deaths = 0;
  Millis restart_at = 0;
};

std::string describeStatus(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Millis restartDelay(int rapid_deaths) noexcept {
  constexpr Millis kFirst = 100;
  constexpr Millis kLongest = 5'000;
  if (rapid_deaths <= 1) return 0;
  return std::min(kFirst << std::min(rapid_deaths - 2, 10), kLongest);
}

class Supervisor::Impl final : public ManagementBackend {
 public:
  Impl(Options options, Config config, Log& log)
      : options_(std::move(options)), config_(std::move(config)), log_(log) {
    for (unsigned i = 0; i < options_.workers; ++i) {
      workers_.emplace_back();
      workers_.back().number = i;
    }
  }

  int run() {
    auto reserved = ReservedPort::take(config_.http);
    if (!reserved) return fail(reserved.error().message);
    config_.http.port = reserved->port();
    // One first: it prepares the store, and tells once what is wrong.
    if (const int status = startFirst(); status != 0 || ending_) return status;
    auto port = ManagementPort::start(config_, *this, clock_);
    if (!port) {
      end();
      return fail(port.error().message);
    }
    for (Worker& worker : workers_)
      if (worker.number > 0) startOrPostpone(worker);
    log_.write(LogLevel::info, "serving " + siteUrl(config_.http, config_.http.port) + " by " +
                                   std::to_string(options_.workers) + " processes" +
                                   (*port)->describe());
    supervise();
    return end();
  }

  [[nodiscard]] std::string caches(const ReportQuery& query) override {
    const json question = {
        {"do", "caches"}, {"entries", query.entries}, {"under", query.under}, {"sort", query.sort}};
    std::vector<json> reports;
    json silent = json::array();
    for (const auto& [number, channel] : channels()) {
      auto answer = channel->ask(question, kReportPatience);
      if (answer && answer->contains("report"))
        reports.push_back(std::move((*answer)["report"]));
      else
        silent.push_back({{"worker", number}, {"error", answer ? "" : answer.error().message}});
    }
    if (reports.empty()) {
      reports.push_back({{"site", config_.site_name},
                         {"processes", json::array()},
                         {"managers", json::array()},
                         {"views", json::array()},
                         {"objects", json::array()}});
    }
    json merged = mergeReports(std::move(reports), query);
    for (json& process : silent) merged["processes"].push_back(std::move(process));
    return merged.dump();
  }

  [[nodiscard]] std::string health() override {
    json workers = json::array();
    bool ok = true;
    for (const auto& [number, channel] : channels()) {
      auto answer = channel->ask({{"do", "health"}}, kReportPatience);
      json health = answer ? std::move((*answer)["report"]) : json{{"ok", false}};
      health["worker"] = number;
      ok = ok && health.value("ok", false);
      workers.push_back(std::move(health));
    }
    ok = ok && workers.size() == options_.workers;
    return json{{"ok", ok}, {"workers", std::move(workers)}}.dump();
  }

  [[nodiscard]] Result<std::string> explain(std::string_view url) override {
    const json question = {{"do", "explain"}, {"url", url}};
    json processes = json::array();
    std::string why = "no worker runs";
    bool explained = false;
    for (const auto& [number, channel] : channels()) {
      auto answer = channel->ask(question, kReportPatience);
      if (answer && answer->contains("report")) {
        for (json& process : (*answer)["report"].at("processes"))
          processes.push_back(std::move(process));
        explained = true;
        continue;
      }
      why = answer ? answer->value("error", std::string("not understood")) : answer.error().message;
      processes.push_back({{"worker", number}, {"error", why}});
    }
    if (!explained) return Error{why};
    return json{{"url", url}, {"processes", std::move(processes)}}.dump();
  }

  [[nodiscard]] Result<Receipt> invalidate(std::span<const Change> changes) override {
    json question = {{"do", "invalidate"}, {"changes", json::array()}};
    for (const Change& change : changes)
      question["changes"].push_back(
          {{"scope", change.scope}, {"soft", change.hardness == Hardness::soft}});
    // A second commit of the same does no harm, so whoever answers first will do.
    std::string why = "no worker runs";
    for (const auto& [number, channel] : channels()) {
      const auto answer = channel->ask(question, kCommitPatience);
      if (answer && answer->contains("seq"))
        return Receipt{answer->at("era").get<std::uint64_t>(),
                       answer->at("seq").get<std::uint64_t>()};
      why = answer ? answer->value("error", std::string("not understood")) : answer.error().message;
    }
    return Error{why};
  }

 private:
  static int fail(const std::string& message) {
    std::cerr << message << std::endl;
    return 2;
  }

  [[nodiscard]] std::vector<std::pair<unsigned, std::shared_ptr<ControlChannel>>> channels() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<unsigned, std::shared_ptr<ControlChannel>>> list;
    for (const Worker& worker : workers_)
      if (worker.channel && *worker.ready) list.emplace_back(worker.number, worker.channel);
    return list;
  }

  /// Back when it serves; not 0: it could not.
  int startFirst() {
    Worker& first = workers_.front();
    if (const auto started = start(first); !started) return fail(started.error().message);
    while (!*first.ready) {
      const auto signal = signals_.wait(1'000);
      if (signal && *signal != SIGHUP && *signal != SIGCHLD) {
        ending_ = true;
        return end();
      }
      int status = 0;
      if (::waitpid(first.pid, &status, WNOHANG) == first.pid) {
        stopped(first);
        return WIFEXITED(status) && WEXITSTATUS(status) != 0
                   ? WEXITSTATUS(status)
                   : fail("the first worker " + describeStatus(status));
      }
    }
    return 0;
  }

  static Error cannotStart(const Worker& worker, int error) {
    return Error{"worker " + std::to_string(worker.number) +
                 " cannot be started: " + std::generic_category().message(error) +
                 "; the limit of processes or of open files may be too low (see ulimit)"};
  }

  Result<> start(Worker& worker) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      return cannotStart(worker, errno);
    std::vector<std::string> words = {"larder"};
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    // One that is started later is like the others, whatever the file says by now.
    for (const Override& fixed : settingsInForce(config_))
      words.insert(words.end(), {"-D", fixed.key + '=' + fixed.value});
    words.insert(words.end(),
                 {"-D", "http.port=" + std::to_string(config_.http.port), "--worker",
                  std::to_string(worker.number), "--control", std::to_string(kControlDescriptor)});
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pair[1], kControlDescriptor);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, kControlDescriptor + 1);
    const int error = ::posix_spawn(&worker.pid, options_.program.c_str(), &actions, nullptr,
                                    argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pair[1]);
    if (error != 0) {
      ::close(pair[0]);
      worker.pid = 0;
      return cannotStart(worker, error);
    }
    worker.started = clock_.monotonic();
    const std::lock_guard lock(mutex_);
    worker.ready = std::make_shared<std::atomic<bool>>(false);
    try {
      worker.channel = std::make_shared<ControlChannel>(
          pair[0],
          ControlChannel::Callbacks{.event = [this, ready = worker.ready](const json& event) {
            if (event.value("event", "") == "ready") *ready = true;
            signals_.wake();
          }});
    } catch (const std::system_error& e) {  // no thread for it; the worker notices and ends
      ::close(pair[0]);
      log_.write(LogLevel::error, cannotStart(worker, e.code().value()).message);
    }
    return Done{};
  }

  void startOrPostpone(Worker& worker) {
    const auto started = start(worker);
    if (started) return;
    worker.restart_at = clock_.monotonic() + restartDelay(++worker.rapid_deaths + 1);
    log_.write(LogLevel::error, started.error().message);
  }

  void stopped(Worker& worker) {
    worker.pid = 0;
    std::shared_ptr<ControlChannel> channel;  // ends outside of the lock
    const std::lock_guard lock(mutex_);
    channel.swap(worker.channel);
  }

  void supervise() {
    while (!ending_) {
      startDue();
      const auto signal = signals_.wait(nextStart());
      if (!signal) continue;
      if (*signal == SIGCHLD)
        reap();
      else if (*signal == SIGHUP)
        reload();
      else
        ending_ = true;
    }
  }

  void startDue() {
    for (Worker& worker : workers_)
      if (worker.pid == 0 && worker.restart_at <= clock_.monotonic()) startOrPostpone(worker);
  }

  [[nodiscard]] Millis nextStart() const {
    Millis wait = 60'000;
    for (const Worker& worker : workers_)
      if (worker.pid == 0) wait = std::min(wait, worker.restart_at - clock_.monotonic());
    return std::max<Millis>(wait, 1);
  }

  void reap() {
    for (Worker& worker : workers_) {
      int status = 0;
      if (worker.pid == 0 || ::waitpid(worker.pid, &status, WNOHANG) != worker.pid) continue;
      const pid_t pid = worker.pid;
      stopped(worker);
      const Millis now = clock_.monotonic();
      worker.rapid_deaths = now - worker.started < kSettled ? worker.rapid_deaths + 1 : 1;
      const Millis delay = restartDelay(worker.rapid_deaths);
      worker.restart_at = now + delay;
      log_.write(LogLevel::warning, "worker " + std::to_string(worker.number) + " (process " +
                                        std::to_string(pid) + ") " + describeStatus(status) +
                                        "; another one starts in " + std::to_string(delay) + " ms");
    }
  }

  /// A file that is wrong is told once, here, and reaches no worker.
  void reload() {
    const auto config = loadEffectiveConfig(config_.file, options_.overrides);
    if (!config) {
      log_.write(LogLevel::error, "not reloaded: " + config.error().message);
      return;
    }
    for (const std::string& line : waitingForRestart(config_, *config))
      log_.write(LogLevel::warning, line);
    if (const auto reopened = log_.reopen(); !reopened)
      log_.write(LogLevel::warning, reopened.error().message);
    log_.setLevel(config->log.level);
    for (const Worker& worker : workers_)
      if (worker.pid != 0) ::kill(worker.pid, SIGHUP);
  }

  int end() {
    for (const Worker& worker : workers_)
      if (worker.pid != 0) ::kill(worker.pid, SIGTERM);
    const Millis last = clock_.monotonic() + config_.drain_timeout + kEndPatience;
    bool clean = true;
    bool killed = false;
    while (std::ranges::any_of(workers_, [](const Worker& worker) { return worker.pid != 0; })) {
      for (Worker& worker : workers_) {
        int status = 0;
        if (worker.pid == 0 || ::waitpid(worker.pid, &status, WNOHANG) != worker.pid) continue;
        clean = clean && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        stopped(worker);
      }
      const Millis left = last - clock_.monotonic();
      if (left <= 0 && !std::exchange(killed, true)) {
        for (const Worker& worker : workers_)
          if (worker.pid != 0) ::kill(worker.pid, SIGKILL);
      }
      (void)signals_.wait(std::clamp<Millis>(left, 1, 50));
    }
    return clean ? 0 : 1;
  }

  const Options options_;
  Config config_;
  Log& log_;
  SystemClock clock_;
  Signals signals_;
  bool ending_ = false;
  std::mutex mutex_;  // channels and readiness of workers_
  std::vector<Worker> workers_;
};

Supervisor::Supervisor(Options options, Config config, Log& log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(config), log)) {}
Supervisor::~Supervisor() = default;
int Supervisor::run() {
  return impl_->run();
}

}  // namespace larder::server
