// What the conformance kit works on: a plugin with a configuration, and per case a small world with
// a clock, an executor and instances of it. A plugin's author who wants cases beyond those of
// `larder-conformance` writes them on the same two classes.
//
//   auto subject = Subject::open("lib/larder/plugins/ramcache.so", "conformance.toml");
//   if (!subject) return fail(subject.error().message);
//   World world(*subject, "default");
//   std::shared_ptr<Cache> cache = world.cache();
//
// The configuration is TOML, strict:
//
//   [settings]             # of the plugin and, over a byte cache, of the envelope
//   servers = ["${MEMCACHED}"]        # the address of a memcached that is started for the run;
//                                     # others are ${MEMCACHED_2}, ${MEMCACHED_3} and, on a Unix
//                                     # socket, ${MEMCACHED_SOCKET}
//   [small]                # on top of them, for the cases that fill a cache until it evicts
//   max_size = "1M"
//   [variant.binary]       # on top of them; all cases run once more with each variant
//   protocol = "binary"
//   [manager.near]         # for a manager made of others: one that Host::manager() finds, if a
//   type = "RAMCache"      # setting has its id as its value; each instance gets one of its own
//
// Thread guarantee: a Subject is immutable after open(), a World belongs to one thread; what it
// makes is as thread-safe as the plugin promises.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.h"
#include "larder/cache/plugin_loader.h"
#include "larder/cache/settings_reader.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/memcached_server.h"
#include "larder/testing/test_host.h"

namespace larder::testing {

class Subject {
 public:
  /// `config` empty: the plugin's own defaults. The error says which file, line and key.
  static Result<Subject> open(const std::string& plugin, const std::string& config);

  [[nodiscard]] const Plugin& plugin() const noexcept { return *plugin_; }
  [[nodiscard]] bool isByteCache() const noexcept { return plugin_->kind() == LARDER_BYTE_CACHE; }
  /// "default" and the names of the tables [variant.*], sorted.
  [[nodiscard]] std::vector<std::string> variants() const;
  /// Those that differ below the envelope: "default" and the ones with a setting of the plugin's
  /// own.
  [[nodiscard]] std::vector<std::string> storeVariants() const;
  /// Whether the entries that a case puts may come back from outside of the process.
  [[nodiscard]] bool leavesProcess() const noexcept;
  /// Whether a look-up may wait: then the clock of its World is the system's.
  [[nodiscard]] bool waits(const std::string& variant) const;
  /// Whether the plugin, or the envelope over it, has a setting of this name; or else each of the
  /// managers that it is made of.
  [[nodiscard]] bool hasSetting(std::string_view name) const;
  /// Whether it is known how to make an instance that evicts: by [small], or by `max_size`.
  [[nodiscard]] bool canBeSmall() const;
  /// Those memcacheds of the run that this variant, or a manager that it is made of, names.
  [[nodiscard]] std::vector<MemcachedServer*> servers(const std::string& variant) const;

 private:
  friend class World;
  Subject() = default;
  /// One of the managers that the plugin may find.
  struct Part {
    PluginPtr plugin;
    std::vector<SettingSpec> schema;
    RawSettings settings;
  };
  Result<> read(const std::string& config);
  Result<> readPart(std::string_view id, RawSettings settings);
  [[nodiscard]] Result<Settings> partSettings(std::string_view id, const Part& part,
                                              const RawSettings& overrides) const;
  /// The parts that the settings name.
  [[nodiscard]] std::vector<std::string> partsOf(const Settings& settings) const;
  [[nodiscard]] RawSettings rawSettings(const std::string& variant) const;
  /// Settings with `overrides` on top of the variant's.
  [[nodiscard]] Result<Settings> settings(const std::string& variant,
                                          const RawSettings& overrides) const;

  std::unique_ptr<PluginLoader> loader_;
  PluginPtr plugin_;
  std::string config_;
  /// The plugin's settings and, over a byte cache, the envelope's.
  std::vector<SettingSpec> schema_;
  RawSettings settings_;
  RawSettings small_;
  std::map<std::string, RawSettings, std::less<>> variants_;
  std::map<std::string, Part, std::less<>> parts_;
  std::vector<std::unique_ptr<MemcachedServer>> servers_;
};

/// An object cache that never waits gets a clock that the case moves; everything else gets the
/// system's clock and a thread pool.
class World {
 public:
  World(const Subject& subject, std::string variant);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// An instance whose content no other one sees, unless `name_space` is the same and the plugin is
  /// shared. A byte cache comes in the engine's envelope. Throws std::runtime_error with the
  /// plugin's reason.
  [[nodiscard]] std::shared_ptr<Cache> cache(std::string_view name_space = "a");
  /// One with `max_entry_size` set to `bytes`.
  [[nodiscard]] std::shared_ptr<Cache> cacheOfEntriesUpTo(std::size_t bytes);
  /// One that evicts soon, see Subject::canBeSmall().
  [[nodiscard]] std::shared_ptr<Cache> smallCache();
  /// The byte cache itself; its keys should begin with keyPrefix(), so that they are the case's
  /// own.
  [[nodiscard]] std::shared_ptr<ByteCache> bytes();
  [[nodiscard]] std::string keyPrefix() const { return prefix_; }

  [[nodiscard]] const Clock& clock() const noexcept;
  /// Null when the clock is the system's.
  [[nodiscard]] ManualClock* manualClock() noexcept;
  [[nodiscard]] TestHost& host() noexcept;
  /// A deadline that nothing in a healthy store reaches.
  [[nodiscard]] Deadline soon() const noexcept { return clock().monotonic() + 10'000; }
  /// Lets time go by, and due work of the plugin happen.
  void pass(Millis duration);

 private:
  /// Each schema gets those of the overrides that it knows.
  [[nodiscard]] std::shared_ptr<Cache> make(const RawSettings& overrides,
                                            std::string_view name_space);
  [[nodiscard]] std::shared_ptr<Cache> instance(const Plugin& plugin, const Settings& settings,
                                                std::string_view name_space);

  const Subject& subject_;
  const std::string variant_;
  const std::string prefix_;
  struct Time;
  std::unique_ptr<Time> time_;
};

}  // namespace larder::testing
