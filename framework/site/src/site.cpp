#include "larder/site/site.h"

#include <algorithm>
#include <utility>
#include <vector>

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
  const auto next = std::make_shared<Configured>(std::move(config));
  std::shared_ptr<const Configured> before;
  dates_->changeCode();
  {
    const std::lock_guard lock(configured_mutex_);
    next->number = configured_->number + 1;
    before = std::exchange(configured_, next);
    config_number_.store(next->number, std::memory_order_release);
  }
  routes_->clear();
  freeMoved(*before, *next);
  forgetLearned(*next);
  maintain();
  return Done{};
}

std::string viewId(const Mount& mount, const ViewDefinition& view) {
  return mount.path + " " + view.name + (view.type.empty() ? "" : " (" + view.type + ")");
}

std::string learnedPrefix(const std::string& view_id, std::uint64_t revision) {
  return view_id + " #" + std::to_string(revision) + ".";
}

ViewMemory& Site::memory(const std::string& view_id) {
  const std::lock_guard lock(memory_mutex_);
  auto& memory = memories_[view_id];
  if (!memory) memory = std::make_unique<ViewMemory>();
  return *memory;
}

std::shared_ptr<LearnedInputs> Site::learnedInputs(const std::string& id) {
  const std::lock_guard lock(memory_mutex_);
  auto& inputs = learned_[id];
  if (!inputs) {
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
    inputs = std::make_shared<LearnedInputs>(InputNames(), std::move(share));
    // What an earlier process stored is found at once; failing that, within a second.
    if (state_ && !adoptLearned(id, *inputs)) state_version_.store(0, std::memory_order_relaxed);
  }
  return inputs;
}

bool Site::adoptLearned(const std::string& id, LearnedInputs& inputs) noexcept try {
  const auto learned = state_->learned();
  if (const auto it = learned.find(id); it != learned.end()) inputs.adopt(it->second);
  return true;
} catch (...) {
  return false;
}

void Site::forgetLearned(const Configured& now) noexcept try {
  std::vector<std::string> prefixes;
  for (const Mount& mount : now.config.mounts) {
    for (const ViewDefinition& view : mount.app->views)
      prefixes.push_back(learnedPrefix(viewId(mount, view), now.revisionOf(mount, view)));
  }
  const auto is_over = [&prefixes](const std::string& id) {
    return std::ranges::none_of(
        prefixes, [&id](const std::string& prefix) { return id.starts_with(prefix); });
  };
  {
    const std::lock_guard lock(memory_mutex_);
    std::erase_if(learned_, [&](const auto& known) { return is_over(known.first); });
  }
  if (!state_) return;
  for (const auto& [id, names] : state_->learned())
    if (is_over(id)) state_->forgetLearned(id);
} catch (const std::exception& e) {
  options_.log(LogLevel::warning,
               std::string("learned inputs could not be forgotten: ") + e.what());
}

void Site::maintain() noexcept try {
  if (!state_) return;
  const auto version = state_->version();
  if (state_version_.exchange(version, std::memory_order_relaxed) == version) return;
  const auto learned = state_->learned();
  const std::lock_guard lock(memory_mutex_);
  for (const auto& [id, inputs] : learned_) {
    if (const auto it = learned.find(id); it != learned.end()) inputs->adopt(it->second);
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
