#include "warm_start.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

namespace larder::server {

namespace {

/// Like "ram-1f3a.entries"; a worker's number follows from the second on.
std::string fileName(std::string_view name_space, int worker) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, hash64(name_space), 16).ptr;
  return "ram-" + std::string(digits, end) +
         (worker > 0 ? "-" + std::to_string(worker) : std::string()) + ".entries";
}

}  // namespace

WarmStart::WarmStart(Lent lent, std::filesystem::path folder, std::string site_name, int worker)
    : lent_(std::move(lent)),
      folder_(std::move(folder)),
      site_name_(std::move(site_name)),
      worker_(worker) {}

void WarmStart::adopt(const ManagerSet& set) {
  std::vector<std::shared_ptr<Kept>> next;
  std::vector<std::shared_ptr<Kept>> fresh;
  const std::lock_guard lock(mutex_);
  for (const ManagerSet::Item& item : set.items) {
    if (!item.manager || !item.snapshot) continue;
    const auto& cache = item.manager->sharedCache();
    const auto known = std::ranges::find(kept_, cache, [](const auto& k) { return k->cache; });
    if (known != kept_.end()) {
      next.push_back(*known);
      continue;
    }
    const auto& identity = item.config.identity;
    const auto name_space = site_name_ + '\n' + identity.path + '\n' + identity.id;
    auto& file = files_[name_space];
    if (!file)
      file = std::shared_ptr<File>(
          new File{.entries = EntryFile(folder_ / fileName(name_space, worker_), name_space,
                                        lent_.clock, lent_.finish),
                   .mutex = {}});
    auto kept = std::shared_ptr<Kept>(
        new Kept{.name = "manager '" + identity.id + "' at " + identity.path,
                 .cache = cache,
                 .plan = *item.snapshot,
                 .file = file,
                 .next_save = addMillis(lent_.clock.monotonic(), item.snapshot->interval)});
    next.push_back(kept);
    fresh.push_back(std::move(kept));
  }
  kept_ = std::move(next);
  for (const auto& kept : fresh) lent_.executor.post([this, kept] { restore(*kept); });
}

void WarmStart::tick() {
  const auto now = lent_.clock.monotonic();
  const std::lock_guard lock(mutex_);
  for (const auto& kept : kept_) {
    if (now < kept->next_save) continue;
    kept->next_save = addMillis(now, kept->plan.interval);
    lent_.executor.post([this, kept] { save(*kept); });
  }
}

void WarmStart::saveAll() {
  std::vector<std::shared_ptr<Kept>> all;
  {
    const std::lock_guard lock(mutex_);
    all = kept_;
  }
  for (const auto& kept : all) save(*kept);
}

void WarmStart::restore(Kept& kept) noexcept try {
  const std::lock_guard lock(kept.file->mutex);
  kept.restored = true;
  kept.file->entries.removeLeftovers();
  const auto count = kept.file->entries.restore(*kept.cache);
  if (!count)
    lent_.log(LogLevel::warning, kept.name + " starts empty: " + count.error().message);
  else if (*count > 0)
    lent_.log(LogLevel::info,
              kept.name + " starts with " + std::to_string(*count) + " entries of the last run");
} catch (const std::exception& e) {
  lent_.log(LogLevel::warning, kept.name + " starts empty: " + e.what());
}

void WarmStart::save(Kept& kept) noexcept try {
  const std::lock_guard lock(kept.file->mutex);
  if (!kept.restored) return;
  if (const auto saved = kept.file->entries.save(*kept.cache, kept.plan.max_bytes); !saved)
    lent_.log(LogLevel::warning, kept.name + " is not kept: " + saved.error().message);
} catch (const std::exception& e) {
  lent_.log(LogLevel::warning, kept.name + " is not kept: " + e.what());
}

}  // namespace larder::server
