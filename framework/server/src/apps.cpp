#include "larder/server/apps.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "larder/cache/units.h"
#include "larder/key.h"

namespace larder::server {
namespace {

Result<std::uint64_t> contentHash(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  if (!in) return Error{file + ": cannot be read"};
  return hash64(content.str());
}

}  // namespace

Result<std::vector<site::Mount>> AppLoader::load(const std::vector<AppConfig>& apps) {
  std::vector<site::Mount> mounts;
  std::string errors;
  for (const AppConfig& app : apps) {
    auto definition = loadOne(app);
    if (definition)
      mounts.push_back({app.mount, std::move(*definition)});
    else
      errors += (errors.empty() ? "" : "\n") + definition.error().message;
  }
  if (!errors.empty()) return Error{errors};
  return mounts;
}

bool AppLoader::changed() {
  bool any = false;
  for (const auto& [mount, folder] : folders_) any |= folder->changed();
  return any;
}

Result<std::shared_ptr<const site::AppDefinition>> AppLoader::loadOne(const AppConfig& config) {
  const auto fault = [&](const std::string& what) {
    return Error{config.origin + ": app at " + config.mount + ": " + what};
  };
  site::AppDefinition definition;
  std::string library = config.library;
  if (!config.folder.empty()) {
    auto& folder = folders_[config.mount];
    if (!folder || folder->folder() != config.folder.string()) {
      folder = std::make_unique<site::AppFolder>(config.folder.string(), host_.clock());
    }
    auto files = folder->load();
    if (!files) return files.error();
    definition = std::move(*files);
    if (library.empty()) library = definition.library;
  }
  std::shared_ptr<App> app;
  if (!library.empty()) {
    const Result<PluginPtr> module = libraries_.load(library);
    if (!module) return fault(module.error().message);
    const auto build = contentHash((*module)->origin());
    if (!build) return fault(build.error().message);
    auto instance = (*module)->instantiate<App>(host_, Settings());
    if (!instance) return fault(instance.error().message);
    app = std::move(*instance);
    auto native = site::defineApp(*app, *build, (*module)->origin());
    if (!native) return fault(native.error().message);
    if (auto added = definition.addNative(std::move(*native)); !added) return added.error();
  }
  // The definition's views are the app's code and may use what the app owns.
  auto whole = std::make_shared<std::pair<std::shared_ptr<App>, site::AppDefinition>>(
      std::move(app), std::move(definition));
  return std::shared_ptr<const site::AppDefinition>(whole, &whole->second);
}

}  // namespace larder::server
