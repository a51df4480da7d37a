#include "larder/site/site.h"

#include <algorithm>

#include "page_call.h"
#include "page_dates.h"
#include "receipt.h"
#include "site_internal.h"

namespace larder::site {

Site::Site(SiteOptions options, Store& store, State* state, Engine& engine)
    : options_(std::move(options)),
      store_(store),
      state_(state),
      engine_(engine),
      routes_(std::make_unique<RouteCache>()),
      receipts_(std::make_unique<Receipts>(state)),
      dates_(std::make_unique<PageDates>(*options_.clock, engine.ledger())),
      configured_(std::make_shared<Configured>()) {}

Site::~Site() = default;

std::shared_ptr<const Configured> Site::configured() const {
  const std::lock_guard lock(configured_mutex_);
  return configured_;
}

Result<> Site::configure(SiteConfig config) {
  try {
    for (const auto& mount : config.mounts) {
      if (!mount.app->schema.empty()) store_.installSchema(mount.path, mount.app->schema);
    }
  } catch (const std::exception& e) {
    return Error{e.what()};
  }
  // The longest mount that covers a path is found first.
  std::stable_sort(config.mounts.begin(), config.mounts.end(),
                   [](const Mount& a, const Mount& b) { return a.path.size() > b.path.size(); });
  auto next = std::make_shared<Configured>();
  next->config = std::move(config);
  dates_->changeCode();
  {
    const std::lock_guard lock(configured_mutex_);
    next->number = configured_->number + 1;
    configured_ = next;
    config_number_.store(next->number, std::memory_order_release);
  }
  routes_->clear();
  maintain();
  return Done{};
}

ViewMemory& Site::memory(const Mount& mount, const ViewDefinition& view) {
  std::string id = mount.path + " " + view.name + (view.type.empty() ? "" : " (" + view.type + ")");
  const std::lock_guard lock(memory_mutex_);
  auto& memory = memories_[id];
  if (!memory) {
    LearnedInputs::OnGrowth share;
    if (state_ && options_.executor) {
      share = [this, id](const InputNames& names) {
        options_.executor->post([this, id, names] {
          try {
            state_->learn(id, names);
          } catch (const std::exception& e) {
            options_.log(LogLevel::warning,
                         "the inputs of view '" + id + "' could not be shared: " + e.what());
          }
        });
      };
    }
    memory = std::make_unique<ViewMemory>(std::move(share));
    // What an earlier process stored is found at once; failing that, within a second.
    if (state_ && !adoptLearned(id, *memory)) state_version_.store(0, std::memory_order_relaxed);
  }
  return *memory;
}

bool Site::adoptLearned(const std::string& id, ViewMemory& memory) noexcept try {
  const auto learned = state_->learned();
  if (const auto it = learned.find(id); it != learned.end()) memory.inputs.adopt(it->second);
  return true;
} catch (...) {
  return false;
}

void Site::maintain() noexcept try {
  if (!state_) return;
  const auto version = state_->version();
  if (state_version_.exchange(version, std::memory_order_relaxed) == version) return;
  const auto learned = state_->learned();
  const std::lock_guard lock(memory_mutex_);
  for (const auto& [id, memory] : memories_) {
    if (const auto it = learned.find(id); it != learned.end()) memory->inputs.adopt(it->second);
  }
} catch (const std::exception& e) {
  options_.log(LogLevel::warning, std::string("learned inputs could not be read: ") + e.what());
}

std::vector<std::pair<std::string, const Counters*>> Site::viewCounters() const {
  std::vector<std::pair<std::string, const Counters*>> all;
  const std::lock_guard lock(memory_mutex_);
  all.reserve(memories_.size());
  for (const auto& [id, memory] : memories_) all.emplace_back(id, &memory->counters);
  return all;
}

}  // namespace larder::site
