#include "larder/cache/plugin_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "file_trust.h"
#include "larder/cache/suggest.h"

namespace larder {
namespace {

/// What every descriptor of this major version has; later minors only append.
constexpr std::size_t kSmallestDescriptor =
    offsetof(larder_descriptor, destroy) + sizeof(larder_descriptor::destroy);
constexpr std::uint32_t kKnownCapabilities =
    LARDER_BLOCKS | LARDER_SHARED | LARDER_ENUMERABLE | LARDER_LEASES;
constexpr const char* kSymbol = LARDER_PLUGIN_SYMBOL;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Leaves it open for as long as the process runs.
  void keep() noexcept { fd_ = -1; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

std::string reasonOf(int error) {
  return std::generic_category().message(error);
}

std::string_view kindName(std::uint32_t kind) noexcept {
  switch (kind) {
    case LARDER_OBJECT_CACHE:
      return "an object cache";
    case LARDER_BYTE_CACHE:
      return "a byte cache";
    case LARDER_RESPONSE_MANAGER:
      return "a response manager";
    case LARDER_APP:
      return "a hosted app";
    default:
      return "of an unknown kind";
  }
}

std::string abiText(unsigned major, unsigned minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

Plugin::FileId idOf(const struct stat& info) noexcept {
  return {info.st_dev, info.st_ino,
          std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::optional<std::string> settingsProblem(const larder_descriptor& d) {
  if (d.settings_count == 0) return std::nullopt;
  if (!d.settings) return "says that it has settings but lists none";
  for (std::size_t i = 0; i < d.settings_count; ++i) {
    const SettingSpec& spec = d.settings[i];
    if (!spec.name || !*spec.name || !spec.help)
      return "has a setting (number " + std::to_string(i + 1) + ") without a name or a help text";
    if (spec.type > SettingType::size)
      return "has a setting '" + std::string(spec.name) + "' of an unknown type";
  }
  return std::nullopt;
}

/// What is wrong with a descriptor, or nothing. Reads a field only after what says that it is
/// there.
std::optional<std::string> problemOf(const larder_descriptor* d) {
  if (!d) return "returns no descriptor from " + std::string(kSymbol) + "()";
  if (d->struct_size < offsetof(larder_descriptor, fingerprint))
    return "has a descriptor of " + std::to_string(d->struct_size) +
           " bytes, too small to tell its version: rebuild it with larder/plugin.h";
  if (d->abi_major != LARDER_ABI_MAJOR || d->abi_minor > LARDER_ABI_MINOR)
    return "is built for plugin ABI " + abiText(d->abi_major, d->abi_minor) +
           ", this server has ABI " + abiText(LARDER_ABI_MAJOR, LARDER_ABI_MINOR) +
           (d->abi_major < LARDER_ABI_MAJOR ? ": rebuild it with this server's headers"
                                            : ": install a newer server, or rebuild the plugin "
                                              "with this server's headers");
  if (d->struct_size < kSmallestDescriptor)
    return "has a descriptor of " + std::to_string(d->struct_size) + " bytes, ABI " +
           abiText(d->abi_major, d->abi_minor) + " needs at least " +
           std::to_string(kSmallestDescriptor) + ": rebuild it with larder/plugin.h";
  if (!d->fingerprint || std::strcmp(d->fingerprint, LARDER_FINGERPRINT) != 0)
    return "is built with another toolchain: its fingerprint is \"" +
           std::string(d->fingerprint ? d->fingerprint : "") + "\", the server's is \"" +
           LARDER_FINGERPRINT + "\": rebuild it with the server's compiler and standard";
  if (!d->type || !*d->type) return "does not say its type: the name in the configuration";
  if (!d->version) return "does not say its version";
  if (d->kind < LARDER_OBJECT_CACHE || d->kind > LARDER_APP)
    return "is of kind " + std::to_string(d->kind) + ", which this server does not know";
  if ((d->capabilities & ~kKnownCapabilities) != 0)
    return "claims capabilities (bits " + std::to_string(d->capabilities) +
           ") that this server does not know";
  if (!d->create || !d->destroy) return "lacks create() or destroy()";
  return settingsProblem(*d);
}

/// Pins a plugin directory: what is renamed on the way to it later changes nothing.
Result<FileDescriptor> openDirectory(const std::string& directory) {
  if (!directory.starts_with('/'))
    return Error{"plugin directory '" + directory + "' is not absolute: write its whole path"};
  FileDescriptor folder(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (!folder || ::fstat(folder.get(), &info) != 0)
    return Error{"plugin directory " + directory + " cannot be opened: " + reasonOf(errno)};
  if (const auto why = changeableByOthers(directory, info, ::geteuid())) return Error{*why};
  return folder;
}

std::vector<std::string> modulesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (entry.path().extension() == ".so") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string_view> viewsOf(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

/// dlerror() names the way through /proc; people know the file by its path.
std::string loadError(const std::string& opened, const std::string& path) {
  std::string text = ::dlerror();
  for (std::size_t at = 0; (at = text.find(opened, at)) != std::string::npos; at += path.size())
    text.replace(at, opened.size(), path);
  return text;
}

}  // namespace

bool Plugin::changedOnDisk() const noexcept {
  if (file_ == FileId()) return false;
  struct stat info = {};
  return ::stat(origin_.c_str(), &info) != 0 || idOf(info) != file_;
}

Result<void*> Plugin::create(std::uint32_t kind, Host& host, const Settings& settings) const {
  const std::string who = std::string(type()) + " (" + origin_ + ") ";
  if (descriptor_.kind != kind)
    return Error{who + "is " + std::string(kindName(descriptor_.kind)) + ", needed is " +
                 std::string(kindName(kind))};
  try {
    if (void* made = descriptor_.create(host, settings)) return made;
    return Error{who + "could not be set up: create() returned nothing"};
  } catch (const std::exception& error) {
    return Error{who + "could not be set up: " + error.what()};
  } catch (...) {
    return Error{who + "could not be set up: it threw what is no std::exception"};
  }
}

PluginLoader::PluginLoader(std::vector<std::string> directories)
    : directories_([&] {
        for (auto& directory : directories) {
          while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
        }
        return std::move(directories);
      }()) {}

Result<PluginPtr> PluginLoader::accept(const larder_descriptor* descriptor,
                                       const std::string& origin, Plugin::FileId file) {
  if (const auto problem = problemOf(descriptor)) return Error{origin + " " + *problem};
  for (const auto& other : plugins_) {
    // Managers and apps are named in different places.
    const bool same_place = (other->kind() == LARDER_APP) == (descriptor->kind == LARDER_APP);
    if (same_place && other->type() == descriptor->type)
      return Error{origin + " is a second plugin of type '" + descriptor->type + "', after " +
                   other->origin() + ": remove one of them"};
  }
  return PluginPtr(std::make_shared<const Plugin>(*descriptor, origin, file));
}

Result<PluginPtr> PluginLoader::addBuiltIn(larder_descriptor_function entry) {
  const std::lock_guard lock(mutex_);
  Result<PluginPtr> plugin = accept(entry(), "built in", {});
  if (plugin) plugins_.push_back(*plugin);
  return plugin;
}

PluginPtr PluginLoader::loadedFrom(const std::string& path) const {
  for (const auto& plugin : plugins_) {
    if (plugin->origin() == path) return plugin;
  }
  return nullptr;
}

Result<PluginPtr> PluginLoader::loadFrom(const std::string& directory, const std::string& name) {
  const std::string path = directory + "/" + name;
  if (PluginPtr known = loadedFrom(path)) return known;
  Result<FileDescriptor> folder = openDirectory(directory);
  if (!folder) return folder.error();

  // Nobody else can exchange the file between this look at it and dlopen(): the directory is pinned
  // and nobody else may write in it.
  const FileDescriptor file(
      ::openat(folder->get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info = {};
  if (!file || ::fstat(file.get(), &info) != 0) {
    const int error = errno;
    if (error == ELOOP)
      return Error{path +
                   " is a symbolic link: put the file itself there, or configure the "
                   "directory that it is in"};
    if (error == ENOENT)
      return Error{path + " does not exist" + didYouMean(name, viewsOf(modulesIn(directory)))};
    return Error{path + " cannot be opened: " + reasonOf(error)};
  }
  if (!S_ISREG(info.st_mode)) return Error{path + " is not a regular file"};
  if (const auto why = changeableByOthers(path, info, ::geteuid())) return Error{*why};

  // dlopen() compares names before it looks at files, so this name must never come again: the
  // descriptor in it stays open. By way of the directory, $ORIGIN in a module's RUNPATH works.
  const std::string opened = "/proc/self/fd/" + std::to_string(folder->get()) + "/" + name;
  void* module = ::dlopen(opened.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) return Error{path + " cannot be loaded as a module: " + loadError(opened, path)};
  const link_map* map = nullptr;
  if (::dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 && opened == map->l_name) folder->keep();

  void* symbol = ::dlsym(module, kSymbol);
  if (!symbol)
    return Error{path + " is no plugin: it has no symbol " + kSymbol +
                 "; does it use LARDER_PLUGIN or LARDER_APP_MODULE?"};
  const auto entry = reinterpret_cast<larder_descriptor_function>(symbol);
  Result<PluginPtr> plugin = accept(entry(), path, idOf(info));
  if (plugin) plugins_.push_back(*plugin);
  return plugin;
}

Result<PluginPtr> PluginLoader::load(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  const std::string name(slash == std::string_view::npos ? file : file.substr(slash + 1));
  if (name.empty() || (slash != std::string_view::npos && !file.starts_with('/')))
    return Error{"plugin file '" + std::string(file) +
                 "' must be a file name like \"comments.so\" or an absolute path"};

  const std::lock_guard lock(mutex_);
  if (slash != std::string_view::npos) {
    const std::string directory(file.substr(0, slash));
    if (std::find(directories_.begin(), directories_.end(), directory) == directories_.end())
      return Error{"plugin file " + std::string(file) +
                   " is not in a configured plugin directory: move it there, or add " + directory +
                   " to the configuration"};
    return loadFrom(directory, name);
  }

  std::vector<std::string> names;
  std::string searched;
  for (const auto& directory : directories_) {
    std::string path = directory;
    path.append("/").append(name);
    struct stat info = {};
    if (loadedFrom(path) || ::lstat(path.c_str(), &info) == 0) return loadFrom(directory, name);
    if (!searched.empty()) searched += ", ";
    searched += directory;
    for (auto& module : modulesIn(directory)) names.push_back(std::move(module));
  }
  return Error{"plugin file " + name + " does not exist in " +
               (searched.empty() ? "any directory: none is configured" : searched) +
               didYouMean(name, viewsOf(names))};
}

std::vector<Refusal> PluginLoader::loadAll() {
  const std::lock_guard lock(mutex_);
  refusals_.clear();
  for (const auto& directory : directories_) {
    if (const auto folder = openDirectory(directory); !folder) {
      refusals_.push_back({directory, folder.error().message});
      continue;
    }
    for (const auto& name : modulesIn(directory)) {
      const Result<PluginPtr> plugin = loadFrom(directory, name);
      if (plugin) continue;
      std::string file = directory;
      file.append("/").append(name);
      refusals_.push_back({std::move(file), plugin.error().message});
    }
  }
  return refusals_;
}

Result<PluginPtr> PluginLoader::find(std::string_view type) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string_view> types;
  for (const auto& plugin : plugins_) {
    if (plugin->kind() == LARDER_APP) continue;
    if (plugin->type() == type) return plugin;
    types.push_back(plugin->type());
  }
  std::string message =
      "there is no plugin of type '" + std::string(type) + "'" + didYouMean(type, types);
  for (const auto& refusal : refusals_) message += "\nrefused: " + refusal.message;
  return Error{message};
}

std::vector<PluginPtr> PluginLoader::plugins() const {
  const std::lock_guard lock(mutex_);
  return plugins_;
}

std::vector<Refusal> PluginLoader::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

}  // namespace larder
