#include "larder/http/server.h"

#include <Poco/Exception.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "listener.h"
#include "reactor.h"
#include "threads.h"
#include "worker_pool.h"

namespace larder::http {
namespace {

// Open files that connections leave to databases, logs and other servers' clients.
constexpr std::size_t kReservedFiles = 256;

std::string addressOf(const ServerOptions& options) {
  const bool ipv6 = options.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, Handler& handler, const Clock& clock)
      : options_(feasible(options)),
        listener_(options_.host, options_.port, options_.backlog, options_.reuse_port,
                  options_.reactors),
        workers_(options_.workers, options_.queue_limit) {
    for (unsigned i = 0; i < options_.reactors; ++i) {
      reactors_.push_back(std::make_unique<Reactor>(options_, handler, clock, listener_, workers_));
    }
    try {
      for (const auto& reactor : reactors_) startReactor(*reactor);
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Impl() { stop(); }

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

  [[nodiscard]] ServerStats stats() const {
    ServerStats stats;
    for (const auto& reactor : reactors_) reactor->addTo(stats);
    stats.queued_requests = workers_.queued();
    return stats;
  }

  bool drain(Millis deadline) {
    for (const auto& reactor : reactors_) reactor->requestDrain();
    bool drained = false;
    {
      std::unique_lock lock(mutex_);
      drained = ended_.wait_for(lock, std::chrono::milliseconds(deadline),
                                [this] { return running_ == 0; });
    }
    endReactors();
    return drained;
  }

 private:
  // What the threads and the process's limit of open files allow.
  static ServerOptions feasible(ServerOptions options) {
    options.reactors = std::max(options.reactors, 1U);
    options.workers = std::max(options.workers, 1U);
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
      const std::size_t limit = files.rlim_cur;
      const std::size_t reserved = std::min<std::size_t>(kReservedFiles, limit / 2);
      options.max_connections = std::min(options.max_connections, limit - reserved);
    }
    return options;
  }

  void startReactor(Reactor& reactor) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    threads_.push_back(
        detail::startThread("http-front-" + std::to_string(threads_.size()), [this, &reactor] {
          reactor.run();
          const std::lock_guard lock(mutex_);
          --running_;
          ended_.notify_all();
        }));
  }

  void endReactors() {
    for (const auto& reactor : reactors_) reactor->requestStop();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // The workers end after the loops and before the loops' memory: what they finish goes there.
  void stop() {
    endReactors();
    workers_.stop();
  }

  const ServerOptions options_;
  Listener listener_;
  WorkerPool workers_;
  std::vector<std::unique_ptr<Reactor>> reactors_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
  std::vector<std::thread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler& handler,
                                              const Clock& clock) {
  const std::string address = addressOf(options);
  try {
    return std::unique_ptr<Server>(new Server(std::make_unique<Impl>(options, handler, clock)));
  } catch (const Poco::Exception& failure) {
    return Error{"cannot listen on " + address + ": " + failure.displayText() +
                 ". Another program may use that port, or the address may not be this machine's: "
                 "choose another one, or end that program."};
  } catch (const std::system_error& failure) {
    return Error{"cannot start the HTTP server on " + address + ": " + failure.what() +
                 ". The limit of threads or open files may be too low (see ulimit)."};
  }
}

std::uint16_t Server::port() const noexcept {
  return impl_->port();
}
ServerStats Server::stats() const noexcept {
  return impl_->stats();
}
bool Server::drain(Millis deadline) {
  return impl_->drain(deadline);
}

}  // namespace larder::http
