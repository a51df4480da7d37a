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

Result<std::shared_ptr<const site::AppDefinition>> AppLoader::loadOne(const AppConfig& config) {
  const auto fault = [&](const std::string& what) {
    return Error{config.origin + ": app at " + config.mount + ": " + what};
  };
  const Result<PluginPtr> library = libraries_.load(config.library);
  if (!library) return fault(library.error().message);
  const auto build = contentHash((*library)->origin());
  if (!build) return fault(build.error().message);
  auto instance = (*library)->instantiate<App>(host_, Settings());
  if (!instance) return fault(instance.error().message);
  std::shared_ptr<App> app(std::move(*instance));
  auto native = site::defineApp(*app, *build, (*library)->origin());
  if (!native) return fault(native.error().message);
  // The definition's views are the app's code and may use what the app owns.
  auto definition = std::make_shared<std::pair<std::shared_ptr<App>, site::AppDefinition>>(
      std::move(app), std::move(*native));
  return std::shared_ptr<const site::AppDefinition>(definition, &definition->second);
}

}  // namespace larder::server
