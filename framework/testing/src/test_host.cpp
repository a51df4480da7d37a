#include "larder/testing/test_host.h"

#include <algorithm>
#include <utility>

namespace larder::testing {

void TestHost::log(LogLevel level, std::string_view message) noexcept {
  const std::lock_guard lock(mutex_);
  lines_.push_back({level, std::string(message)});
}

std::shared_ptr<Cache> TestHost::manager(std::string_view id) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = managers_.find(id);
  return it == managers_.end() ? nullptr : it->second;
}

void TestHost::addManager(std::string id, std::shared_ptr<Cache> cache) {
  const std::lock_guard lock(mutex_);
  managers_.insert_or_assign(std::move(id), std::move(cache));
}

std::vector<TestHost::Line> TestHost::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

bool TestHost::logged(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    return line.message.find(text) != std::string::npos;
  });
}

}  // namespace larder::testing
