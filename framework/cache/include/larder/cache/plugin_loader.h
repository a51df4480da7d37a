// PluginLoader: finds plugins and hosted apps in configured directories, checks their descriptors
// before any C++ call, and makes instances of them.
//
//   PluginLoader loader({"/usr/lib/larder/plugins"});
//   for (const Refusal& refusal : loader.loadAll()) log(refusal.message);
//   Result<PluginPtr> plugin = loader.find("RAMCache");
//   if (!plugin) return plugin.error();
//   Result<Settings> settings = readSettings((*plugin)->settings(), raw, owner);
//   Result<PluginInstance<Cache>> cache = (*plugin)->instantiate<Cache>(host, *settings);
//
// A module is code that runs with the server's rights, so only a regular file is loaded that nobody
// but root and the user of the server can change, from a directory of which the same holds. It is
// loaded with RTLD_NOW | RTLD_LOCAL and stays loaded until the process ends: instances, threads and
// exceptions of it may live anywhere.
//
// Thread-safe. Every refusal is an Error that says what differs and what to do about it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/abi.h"
#include "larder/result.h"
#include "larder/settings.h"

namespace larder {

class App;
class ByteCache;
class Cache;
class ResponseManager;

/// Ends an instance by the plugin that made it.
struct PluginDestroyer {
  void (*destroy)(void*) = nullptr;
  template <class Interface>
  void operator()(Interface* instance) const noexcept {
    destroy(instance);
  }
};
/// Interface is one of Cache, ByteCache, ResponseManager, App. Converts to shared_ptr<Interface>.
template <class Interface>
using PluginInstance = std::unique_ptr<Interface, PluginDestroyer>;

/// A descriptor that has passed all checks. Immutable; never goes while the process runs.
class Plugin {
 public:
  /// Which file it was, to notice that it is another one now; zeros for a built-in.
  struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const FileId&, const FileId&) = default;
  };
  /// By PluginLoader, which has checked the descriptor.
  Plugin(const larder_descriptor& descriptor, std::string origin, FileId file)
      : descriptor_(descriptor), origin_(std::move(origin)), file_(file) {}

  [[nodiscard]] std::string_view type() const noexcept { return descriptor_.type; }
  [[nodiscard]] std::string_view version() const noexcept { return descriptor_.version; }
  /// The path of its file, or "built in".
  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }
  [[nodiscard]] std::uint32_t kind() const noexcept { return descriptor_.kind; }
  [[nodiscard]] bool can(larder_capability capability) const noexcept {
    return (descriptor_.capabilities & capability) != 0;
  }
  [[nodiscard]] std::span<const SettingSpec> settings() const noexcept {
    return {descriptor_.settings, descriptor_.settings_count};
  }
  /// Whether the file that it was loaded from has been replaced or removed since: what runs is the
  /// old one, until the process ends.
  [[nodiscard]] bool changedOnDisk() const noexcept;

  /// What create() throws becomes the error; so does a plugin of another kind.
  template <class Interface>
  Result<PluginInstance<Interface>> instantiate(Host& host, const Settings& settings) const {
    Result<void*> made = create(kKindOf<Interface>, host, settings);
    if (!made) return made.error();
    return PluginInstance<Interface>(static_cast<Interface*>(*made), {descriptor_.destroy});
  }

 private:
  template <class Interface>
  static constexpr std::uint32_t kKindOf = 0;

  Result<void*> create(std::uint32_t kind, Host& host, const Settings& settings) const;

  larder_descriptor descriptor_;
  std::string origin_;
  FileId file_;
};
template <>
inline constexpr std::uint32_t Plugin::kKindOf<Cache> = LARDER_OBJECT_CACHE;
template <>
inline constexpr std::uint32_t Plugin::kKindOf<ByteCache> = LARDER_BYTE_CACHE;
template <>
inline constexpr std::uint32_t Plugin::kKindOf<ResponseManager> = LARDER_RESPONSE_MANAGER;
template <>
inline constexpr std::uint32_t Plugin::kKindOf<App> = LARDER_APP;

using PluginPtr = std::shared_ptr<const Plugin>;

/// A file that was not accepted.
struct Refusal {
  std::string file;
  std::string message;
};

class PluginLoader {
 public:
  /// Absolute directories, searched in this order.
  explicit PluginLoader(std::vector<std::string> directories);

  /// A plugin that is linked into the process; checked like any other.
  Result<PluginPtr> addBuiltIn(larder_descriptor_function entry);
  /// `file` is a name ("comments.so"), looked for in the directories, or the absolute path of a
  /// file in one of them. Loading what is loaded already gives the same plugin.
  Result<PluginPtr> load(std::string_view file);
  /// Loads every *.so of the directories; returns what was refused.
  std::vector<Refusal> loadAll();

  /// Among the cache plugins loaded so far, by what the configuration calls `type`. The error names
  /// the nearest type, and the files that the last loadAll() refused: if there are any, one of them
  /// may be what is missing, so the manager is failed rather than misspelt.
  [[nodiscard]] Result<PluginPtr> find(std::string_view type) const;
  [[nodiscard]] std::vector<PluginPtr> plugins() const;
  [[nodiscard]] std::vector<Refusal> refusals() const;

 private:
  [[nodiscard]] PluginPtr loadedFrom(const std::string& path) const;
  Result<PluginPtr> loadFrom(const std::string& directory, const std::string& name);
  Result<PluginPtr> accept(const larder_descriptor* descriptor, const std::string& origin,
                           Plugin::FileId file);

  const std::vector<std::string> directories_;
  mutable std::mutex mutex_;
  std::vector<PluginPtr> plugins_;
  std::vector<Refusal> refusals_;
};

}  // namespace larder
