// AppLoader: the hosted apps that a configuration names, from their folders and libraries.
//
//   AppLoader loader(libraries, host);
//   auto mounts = loader.load(config.apps);
//   if (!mounts) fail(mounts.error().message);
//   site.configure({.mounts = *mounts, ...});
//
// Used by one thread at a time; libraries and host outlive what it loads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larder/cache/plugin_loader.h"
#include "larder/host.h"
#include "larder/result.h"
#include "larder/server/config.h"
#include "larder/site/app_folder.h"
#include "larder/site/site.h"

namespace larder::server {

class AppLoader {
 public:
  AppLoader(PluginLoader& libraries, Host& host) : libraries_(libraries), host_(host) {}

  /// The error names the app's place in the configuration, or file and line of what is wrong in it.
  Result<std::vector<site::Mount>> load(const std::vector<AppConfig>& apps);
  /// Whether a file that the apps were loaded from is another one now. Some microseconds each.
  [[nodiscard]] bool changed();

 private:
  Result<std::shared_ptr<const site::AppDefinition>> loadOne(const AppConfig& app);
  PluginLoader& libraries_;
  std::map<std::string, std::unique_ptr<site::AppFolder>> folders_;  ///< by mount
  Host& host_;
};

}  // namespace larder::server
