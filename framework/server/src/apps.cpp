#include "larder/server/apps.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "larder/cache/suggest.h"
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

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return hash64(std::to_string(a) + ':' + std::to_string(b));
}

/// Over the code of all apps, and who may see what where.
std::uint64_t codeRevision(const std::vector<site::AppDefinition>& apps) {
  std::uint64_t revision = 0;
  const auto add = [&revision](std::string_view text) { revision = mix(revision, hash64(text)); };
  for (const site::AppDefinition& app : apps) {
    for (const site::ViewDefinition& view : app.views) {
      revision = mix(revision, view.revision);
      add(view.permission);  // what was open to all must not be found once it is not
    }
    for (const site::RouteDefinition& route : app.routes)
      for (const std::string* part : {&route.method, &route.pattern, &route.name}) add(*part);
    for (const site::TypeDefinition& type : app.types)
      for (const std::string* part : {&type.name, &type.default_view}) add(*part);
  }
  return revision;
}

/// A definition that keeps alive the app whose code its views are.
std::shared_ptr<const site::AppDefinition> share(site::AppDefinition definition,
                                                 std::shared_ptr<App> app) {
  auto both = std::make_shared<std::pair<std::shared_ptr<App>, site::AppDefinition>>(
      std::move(app), std::move(definition));
  return {both, &both->second};
}

bool mayCover(std::string_view pattern, std::string_view mount) {
  const std::string_view root = rootOfPattern(pattern);
  return isAtOrBelow(root, mount) || (root != pattern && isAtOrBelow(mount, root));
}

/// Why the rule matches nothing; empty if it may match something.
std::string idleReason(const Rule& rule, const std::vector<site::Mount>& mounts) {
  std::vector<std::string_view> paths;
  std::vector<std::string_view> views;
  bool is_mounted = false;
  for (const site::Mount& mount : mounts) {
    paths.push_back(mount.path);
    if (!mayCover(rule.pattern, mount.path)) continue;
    is_mounted = true;
    for (const site::ViewDefinition& view : mount.app->views) views.push_back(view.name);
  }
  if (!is_mounted)
    return "no app is mounted there" + didYouMean(rootOfPattern(rule.pattern), paths);
  if (rule.view.empty() || std::ranges::find(views, rule.view) != views.end()) return {};
  return "no view there is named '" + rule.view + "'" + didYouMean(rule.view, views);
}

}  // namespace

std::vector<std::string> warnOfIdleRules(const std::vector<Rule>& rules,
                                         const std::vector<site::Mount>& mounts) {
  std::vector<std::string> warnings;
  for (const Rule& rule : rules) {
    if (const std::string reason = idleReason(rule, mounts); !reason.empty())
      warnings.push_back(rule.origin + ": the rule for '" + rule.pattern +
                         "' matches nothing: " + reason);
  }
  return warnings;
}

Result<std::vector<site::Mount>> AppLoader::load(const std::vector<AppConfig>& apps) {
  std::vector<Loaded> next;
  std::vector<site::AppDefinition> definitions;
  std::string errors;
  for (const AppConfig& app : apps) {
    next.push_back({.mount = app.mount, .folder = app.folder.string(), .files = {}, .native = {}});
    auto definition = loadOne(app, next.back());
    if (definition)
      definitions.push_back(std::move(*definition));
    else
      errors += (errors.empty() ? "" : "\n") + definition.error().message;
  }
  if (!errors.empty()) return Error{errors};

  const std::uint64_t code = codeRevision(definitions);
  std::vector<site::Mount> mounts;
  for (std::size_t i = 0; i < next.size(); ++i) {
    for (site::ViewDefinition& view : definitions[i].views)
      view.revision = mix(code, view.revision);
    mounts.push_back({next[i].mount, share(std::move(definitions[i]),
                                           next[i].native ? next[i].native->app : nullptr)});
  }
  loaded_ = std::move(next);
  return mounts;
}

bool AppLoader::changed() {
  bool any = false;
  for (const Loaded& loaded : loaded_) any = (loaded.files && loaded.files->changed()) || any;
  return any;
}

const AppLoader::Loaded* AppLoader::before(const Loaded& loaded) const {
  const auto found = std::ranges::find_if(loaded_, [&](const Loaded& candidate) {
    return candidate.mount == loaded.mount && candidate.folder == loaded.folder;
  });
  return found == loaded_.end() ? nullptr : &*found;
}

Result<site::AppDefinition> AppLoader::loadOne(const AppConfig& config, Loaded& loaded) {
  const std::string place = config.origin + ": app at " + config.mount + ": ";
  site::AppDefinition definition;
  std::string library = config.library;
  if (!loaded.folder.empty()) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(loaded.folder, ignored))
      return Error{place + "there is no folder " + loaded.folder};
    const Loaded* old = before(loaded);
    loaded.files =
        old ? old->files : std::make_shared<site::AppFolder>(loaded.folder, host_.clock());
    auto files = loaded.files->load();
    if (!files) return files.error();
    definition = std::move(*files);
    if (library.empty())
      library = definition.library;
    else if (!definition.library.empty() && library != definition.library)
      return Error{place + "its folder names the library " + definition.library + ", not " +
                   library};
  }
  if (library.empty()) return definition;
  auto native = loadNative(library, loaded);
  if (!native) return Error{place + native.error().message};
  loaded.native = *native;
  if (loaded.folder.empty()) return loaded.native->definition;
  if (auto merged = definition.addNative(loaded.native->definition); !merged) return merged.error();
  return definition;
}

Result<std::shared_ptr<AppLoader::Native>> AppLoader::loadNative(const std::string& library,
                                                                 const Loaded& loaded) {
  const Result<PluginPtr> plugin = libraries_.load(library);
  if (!plugin) return plugin.error();
  const std::string& file = (*plugin)->origin();
  const Loaded* old = before(loaded);
  if (old && old->native && old->native->file == file) return old->native;
  const auto build = contentHash(file);
  if (!build) return build.error();
  auto instance = (*plugin)->instantiate<App>(host_, Settings());
  if (!instance) return instance.error();
  auto native = std::make_shared<Native>();
  native->file = file;
  native->app = std::move(*instance);
  auto definition = site::defineApp(*native->app, *build, file);
  if (!definition) return definition.error();
  native->definition = std::move(*definition);
  return native;
}

}  // namespace larder::server
