// What hosted apps see of the server.
#pragma once

#include <memory>
#include <string_view>

#include "larder/host.h"
#include "larder/server/log.h"

namespace larder::server {

/// Borrows everything.
class AppHost final : public Host {
 public:
  AppHost(const Clock& clock, Executor& executor, Log& log)
      : clock_(clock), executor_(executor), log_(log) {}
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] Executor& executor() noexcept override { return executor_; }
  void log(LogLevel level, std::string_view message) noexcept override {
    log_.write(level, message);
  }
  /// Apps name managers by their views; they hold none.
  [[nodiscard]] std::shared_ptr<Cache> manager(std::string_view) noexcept override {
    return nullptr;
  }

 private:
  const Clock& clock_;
  Executor& executor_;
  Log& log_;
};

}  // namespace larder::server
