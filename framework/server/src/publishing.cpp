#include "publishing.h"

#include <algorithm>
#include <string>

#include "larder/cache/policy_settings.h"
#include "larder/key.h"

namespace larder::server {

std::uint64_t revisionOf(const Config& config, std::span<const site::Mount> mounts) {
  std::string text = config.nginx.prefix + '\n';
  for (const site::Mount& mount : mounts) {
    text += mount.path + '\n';
    for (const site::ViewDefinition& view : mount.app->views)
      text += view.name + ' ' + view.type + ' ' + std::to_string(view.revision) + '\n';
  }
  for (const ManagerConfig& manager : config.managers) {
    text += manager.identity.path + ' ' + manager.identity.id + '\n';
    for (const SettingSpec& spec : policySchema()) text += settingText(manager.policy, spec.name);
  }
  for (const Rule& rule : config.rules) {
    Policy policy;
    text += rule.pattern + ' ' + rule.view + ' ' + rule.manager + '\n';
    for (const PolicySetting& setting : rule.settings) {
      (void)applySetting(policy, setting.name, setting.value);
      text += setting.name + settingText(policy, setting.name);
    }
  }
  return hash64(text);
}

bool publishes(const Config& config) {
  const auto sets = [](const PolicySetting& setting) {
    return setting.name == "publish" && std::get<std::string>(setting.value) == "nginx";
  };
  return std::ranges::any_of(
             config.rules, [&](const Rule& r) { return std::ranges::any_of(r.settings, sets); }) ||
         std::ranges::any_of(config.managers, [&](const ManagerConfig& m) {
           return std::ranges::any_of(m.settings, sets);
         });
}

nlohmann::json reportPublisher(const NginxPublisher& publisher) {
  nlohmann::json report = {{"outbox", publisher.outbox()}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(Publication::count_); ++i) {
    const auto publication = static_cast<Publication>(i);
    report[std::string(publicationName(publication))] = publisher.count(publication);
  }
  return report;
}

}  // namespace larder::server
