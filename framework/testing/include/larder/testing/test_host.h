// TestHost: the Host that a test lends to a plugin: a clock and an executor of the test's choice,
// the log kept for reading, managers by id.
//
//   ManualClock clock;
//   InlineExecutor executor(clock);
//   TestHost host(clock, executor);
//   RamCache cache(host, settings);
//   EXPECT_TRUE(host.logged("evicted"));
//
// Thread-safe. Clock and executor outlive the host, the host outlives the plugin's instances.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "larder/host.h"

namespace larder::testing {

class TestHost final : public Host {
 public:
  struct Line {
    LogLevel level;
    std::string message;
  };
  TestHost(const Clock& clock, Executor& executor) : clock_(clock), executor_(executor) {}

  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] Executor& executor() noexcept override { return executor_; }
  void log(LogLevel level, std::string_view message) noexcept override;
  [[nodiscard]] std::shared_ptr<Cache> manager(std::string_view id) noexcept override;

  void addManager(std::string id, std::shared_ptr<Cache> cache);
  [[nodiscard]] std::vector<Line> lines() const;
  /// Whether a line holds `text`.
  [[nodiscard]] bool logged(std::string_view text) const;

 private:
  const Clock& clock_;
  Executor& executor_;
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
  std::map<std::string, std::shared_ptr<Cache>, std::less<>> managers_;
};

}  // namespace larder::testing
