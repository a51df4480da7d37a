// Host: what the server lends to a plugin or a hosted app for as long as it lives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "larder/cache.h"
#include "larder/clock.h"
#include "larder/executor.h"

namespace larder {

enum class LogLevel : unsigned char { debug, info, warning, error };

/// Thread-safe; outlives the plugin's instances.
class Host {
 public:
  virtual ~Host() = default;
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;
  [[nodiscard]] virtual Executor& executor() noexcept = 0;
  /// One line, without a line end; control characters are escaped by the host.
  virtual void log(LogLevel level, std::string_view message) noexcept = 0;
  /// Bounded counters aside, a manager made of others (tiered) finds them here by id; null if there
  /// is none.
  [[nodiscard]] virtual std::shared_ptr<Cache> manager(std::string_view id) noexcept = 0;
};

}  // namespace larder
