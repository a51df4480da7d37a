// AppLoader: the hosted apps that a configuration names, from their folders and libraries.
//
//   AppLoader loader(libraries, host);
//   auto mounts = loader.load(config.apps);
//   if (!mounts) fail(mounts.error().message);
//   site.configure({.mounts = *mounts, ...});
//   ...
//   if (loader.changed()) ... loader.load(config.apps) ...    // once a second
//
// A view may call any other one, of any app, and nobody knows before which. So the revision of each
// view, which is part of its cache keys (L14), is made of the code of all apps: after an edit of a
// file no result of the code before it is found, in no process and after no restart.
//
// Used by one thread at a time; libraries and host outlive what it loads.
#pragma once

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

  /// The error names the app's place in the configuration, or file and line of what is wrong in it;
  /// what was loaded before goes on being watched.
  Result<std::vector<site::Mount>> load(const std::vector<AppConfig>& apps);
  /// Whether a file of the folders has changed since the last load(), whatever came of that.
  [[nodiscard]] bool changed();

 private:
  /// A library's app and what it defines, kept over reloads: its code cannot change while it runs.
  struct Native {
    std::string file;
    std::shared_ptr<App> app;
    site::AppDefinition definition;
  };
  struct Loaded {
    std::string mount;
    std::string folder;
    std::shared_ptr<site::AppFolder> files;  ///< null: a library only
    std::shared_ptr<Native> native;          ///< null: a folder only
  };

  Result<site::AppDefinition> loadOne(const AppConfig& config, Loaded& loaded);
  Result<std::shared_ptr<Native>> loadNative(const std::string& library, const Loaded& loaded);
  [[nodiscard]] const Loaded* before(const Loaded& loaded) const;

  PluginLoader& libraries_;
  Host& host_;
  std::vector<Loaded> loaded_;
};

/// One warning for each rule that can match nothing: no app is mounted where its pattern leads, or
/// none of those has the view that it names. Pure.
[[nodiscard]] std::vector<std::string> warnOfIdleRules(const std::vector<Rule>& rules,
                                                       const std::vector<site::Mount>& mounts);

}  // namespace larder::server
