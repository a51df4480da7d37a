#include "larder/testing/conformance.h"

#include <stdlib.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <stdexcept>
#include <utility>

#include "larder/cache/envelope.h"
#include "larder/cache/suggest.h"
#include "larder/cache/system_clock.h"
#include "larder/cache/thread_pool.h"
#include "larder/testing/manual_executor.h"

namespace larder::testing {
namespace {

using Raw = decltype(RawSetting::value);

std::string originOf(const std::string& file, const toml::node& node) {
  return file + ":" + std::to_string(node.source().begin.line);
}

/// What a text of the configuration may ask for, started when the first one does.
class Parts {
 public:
  Result<std::string> expand(std::string text) {
    for (std::size_t at = 0; (at = text.find("${", at)) != std::string::npos;) {
      const std::size_t end = text.find('}', at);
      auto server = start(text.substr(at, end - at + 1));
      if (!server)
        return Error{"'" + text +
                     "' names what this kit does not provide: " + server.error().message};
      const std::string& address = (*server)->address();
      text.replace(at, end - at + 1, address);
      at += address.size();
    }
    return text;
  }
  std::vector<std::unique_ptr<MemcachedServer>> takeServers() {
    std::vector<std::unique_ptr<MemcachedServer>> servers;
    servers.reserve(servers_.size());
    for (auto& [name, server] : servers_) servers.push_back(std::move(server));
    return servers;
  }

 private:
  Result<MemcachedServer*> start(const std::string& name) {
    using Listens = MemcachedServer::Listens;
    static constexpr std::pair<std::string_view, Listens> kProvided[] = {
        {"${MEMCACHED}", Listens::tcp},
        {"${MEMCACHED_2}", Listens::tcp},
        {"${MEMCACHED_3}", Listens::tcp},
        {"${MEMCACHED_SOCKET}", Listens::unixSocket}};
    const auto provided = std::find_if(std::begin(kProvided), std::end(kProvided),
                                       [&](const auto& one) { return one.first == name; });
    if (provided == std::end(kProvided)) {
      std::string known;
      for (const auto& one : kProvided)
        known += (known.empty() ? "" : ", ") + std::string(one.first);
      return Error{"it knows " + known};
    }
    auto& server = servers_[name];
    if (!server) {
      auto started = MemcachedServer::start({.listens = provided->second, .megabytes = 128});
      if (!started) return started.error();
      server = std::make_unique<MemcachedServer>(std::move(*started));
    }
    return server.get();
  }

  std::map<std::string, std::unique_ptr<MemcachedServer>> servers_;
};

Result<Raw> rawOf(const toml::node& node, Parts& parts) {
  if (const auto* v = node.as_boolean()) return Raw(v->get());
  if (const auto* v = node.as_integer()) return Raw(v->get());
  if (const auto* v = node.as_floating_point()) return Raw(v->get());
  if (const auto* v = node.as_string()) {
    auto text = parts.expand(v->get());
    if (!text) return text.error();
    return Raw(std::move(*text));
  }
  std::vector<std::string> texts;
  const auto* list = node.as_array();
  if (!list) return Error{"must be true or false, a number, a text or a list of texts"};
  for (const auto& item : *list) {
    const auto* v = item.as_string();
    if (!v) return Error{"is a list of something else than texts"};
    auto text = parts.expand(v->get());
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  return Raw(std::move(texts));
}

Result<RawSettings> readTable(const std::string& file, const toml::node& node, Parts& parts) {
  const auto* table = node.as_table();
  if (!table) return Error{originOf(file, node) + ": must be a table of settings"};
  RawSettings result;
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    auto raw = rawOf(value, parts);
    if (!raw) return Error{originOf(file, value) + ": '" + name + "' " + raw.error().message};
    result.emplace(name, RawSetting{std::move(*raw), originOf(file, value)});
  }
  return result;
}

void override(RawSettings& settings, const RawSettings& on_top) {
  for (const auto& [name, value] : on_top) settings.insert_or_assign(name, value);
}

RawSetting setByKit(std::string text) {
  return {std::move(text), "set by the kit"};
}

bool isVariantName(std::string_view name) {
  for (const char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) return false;
  }
  return !name.empty() && name != "default";
}

std::vector<SettingSpec> schemaOf(const Plugin& plugin) {
  std::vector<SettingSpec> schema(plugin.settings().begin(), plugin.settings().end());
  if (plugin.kind() == LARDER_BYTE_CACHE)
    schema.insert(schema.end(), envelopeSettings().begin(), envelopeSettings().end());
  return schema;
}

bool has(const std::vector<SettingSpec>& schema, std::string_view name) {
  return std::any_of(schema.begin(), schema.end(),
                     [name](const SettingSpec& spec) { return spec.name == name; });
}

template <class T>
T orThrow(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

}  // namespace

Result<Subject> Subject::open(const std::string& plugin, const std::string& config) {
  Subject subject;
  std::array<char, PATH_MAX> real{};
  if (!::realpath(plugin.c_str(), real.data()))
    return Error{"plugin file " + plugin + " cannot be found"};
  const std::string path(real.data());
  subject.loader_ = std::make_unique<PluginLoader>(std::vector{path.substr(0, path.rfind('/'))});
  auto loaded = subject.loader_->load(path);
  if (!loaded) return loaded.error();
  subject.plugin_ = std::move(*loaded);
  if (subject.plugin_->kind() != LARDER_OBJECT_CACHE && !subject.isByteCache())
    return Error{path +
                 " is neither an object cache nor a byte cache: the kit has no cases for it"};

  subject.schema_ = schemaOf(*subject.plugin_);
  if (!config.empty()) {
    if (auto read = subject.read(config); !read) return read.error();
  }
  for (const auto& variant : subject.variants()) {
    for (const auto& overrides : {RawSettings(), subject.small_}) {
      if (auto settings = subject.settings(variant, overrides); !settings) return settings.error();
    }
  }
  return subject;
}

Result<> Subject::read(const std::string& config) {
  config_ = config;
  Parts parts;
  try {
    const toml::table root = toml::parse_file(config);
    for (const auto& [key, node] : root) {
      static constexpr std::array<std::string_view, 4> kTables = {"settings", "small", "variant",
                                                                  "manager"};
      const std::string_view name = key.str();
      if (name == "variant" && node.is_table()) {
        for (const auto& [variant, table] : *node.as_table()) {
          if (!isVariantName(variant.str()))
            return Error{originOf(config, table) + ": a variant is named by letters and digits, " +
                         "and not 'default'"};
          auto settings = readTable(config, table, parts);
          if (!settings) return settings.error();
          variants_.emplace(variant.str(), std::move(*settings));
        }
      } else if (name == "manager" && node.is_table()) {
        for (const auto& [id, table] : *node.as_table()) {
          auto settings = readTable(config, table, parts);
          if (!settings) return settings.error();
          if (auto added = readPart(id.str(), std::move(*settings)); !added)
            return Error{originOf(config, table) + ": " + added.error().message};
        }
      } else if (name == "settings" || name == "small") {
        auto settings = readTable(config, node, parts);
        if (!settings) return settings.error();
        (name == "small" ? small_ : settings_) = std::move(*settings);
      } else {
        return Error{originOf(config, node) + ": unknown table '" + std::string(name) + "'" +
                     didYouMean(name, kTables)};
      }
    }
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    return Error{config + (begin.line ? ":" + std::to_string(begin.line) : std::string()) + ": " +
                 std::string(error.description())};
  }
  servers_ = parts.takeServers();
  return Done{};
}

Result<> Subject::readPart(std::string_view id, RawSettings settings) {
  const auto type = settings.find("type");
  const auto* name =
      type == settings.end() ? nullptr : std::get_if<std::string>(&type->second.value);
  if (!name) return Error{"a manager needs the type of its plugin, like type = \"RAMCache\""};
  for (const Refusal& refusal : loader_->loadAll())
    return Error{refusal.file + ": " + refusal.message};
  auto plugin = loader_->find(*name);
  if (!plugin) return plugin.error();
  settings.erase(type);
  Part part{*plugin, schemaOf(**plugin), std::move(settings)};
  if (auto valid = partSettings(id, part, {}); !valid) return valid.error();
  parts_.emplace(id, std::move(part));
  return Done{};
}

Result<Settings> Subject::partSettings(std::string_view id, const Part& part,
                                       const RawSettings& overrides) const {
  RawSettings raw = part.settings;
  override(raw, overrides);
  return readSettings(part.schema, raw, config_ + ": manager '" + std::string(id) + "'");
}

std::vector<std::string> Subject::partsOf(const Settings& settings) const {
  std::vector<std::string> ids;
  for (const SettingSpec& spec : schema_) {
    if (spec.type != SettingType::text) continue;
    if (const auto it = parts_.find(settings.text(spec.name)); it != parts_.end())
      ids.push_back(it->first);
  }
  return ids;
}

bool Subject::leavesProcess() const noexcept {
  return isByteCache() || std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
           return part.second.plugin->kind() == LARDER_BYTE_CACHE;
         });
}

bool Subject::waits(const std::string& variant) const {
  if (isByteCache() || plugin_->can(LARDER_BLOCKS)) return true;
  const auto settings = this->settings(variant, {});
  const auto ids = settings ? partsOf(*settings) : std::vector<std::string>();
  return std::any_of(ids.begin(), ids.end(), [this](const std::string& id) {
    const Plugin& plugin = *parts_.find(id)->second.plugin;
    return plugin.kind() == LARDER_BYTE_CACHE || plugin.can(LARDER_BLOCKS);
  });
}

std::vector<std::string> Subject::variants() const {
  std::vector<std::string> names = {"default"};
  for (const auto& [name, settings] : variants_) names.push_back(name);
  return names;
}

std::vector<std::string> Subject::storeVariants() const {
  std::vector<std::string> names = {"default"};
  for (const auto& [name, settings] : variants_) {
    const bool differs = std::any_of(settings.begin(), settings.end(), [this](const auto& setting) {
      const auto own = plugin_->settings();
      return std::any_of(own.begin(), own.end(), [&](const SettingSpec& spec) {
        return setting.first == spec.name || (spec.alias && setting.first == spec.alias);
      });
    });
    if (differs) names.push_back(name);
  }
  return names;
}

std::vector<MemcachedServer*> Subject::servers(const std::string& variant) const {
  std::string texts;
  const auto collect = [&](const RawSettings& settings) {
    for (const auto& [name, setting] : settings) {
      if (const auto* text = std::get_if<std::string>(&setting.value)) texts += *text + '\n';
      if (const auto* list = std::get_if<std::vector<std::string>>(&setting.value)) {
        for (const std::string& text : *list) texts += text + '\n';
      }
    }
  };
  collect(rawSettings(variant));
  if (const auto settings = this->settings(variant, {})) {
    for (const std::string& id : partsOf(*settings)) collect(parts_.find(id)->second.settings);
  }
  std::vector<MemcachedServer*> named;
  for (const auto& server : servers_) {
    if (texts.find(server->address()) != std::string::npos) named.push_back(server.get());
  }
  return named;
}

bool Subject::hasSetting(std::string_view name) const {
  if (has(schema_, name) || parts_.empty()) return has(schema_, name);
  return std::all_of(parts_.begin(), parts_.end(),
                     [name](const auto& part) { return has(part.second.schema, name); });
}

bool Subject::canBeSmall() const {
  return !isByteCache() && (!small_.empty() || hasSetting("max_size"));
}

RawSettings Subject::rawSettings(const std::string& variant) const {
  RawSettings raw = settings_;
  const auto it = variants_.find(variant);
  if (it != variants_.end()) override(raw, it->second);
  return raw;
}

Result<Settings> Subject::settings(const std::string& variant, const RawSettings& overrides) const {
  RawSettings raw = rawSettings(variant);
  override(raw, overrides);
  return readSettings(schema_, raw,
                      (config_.empty() ? "without a configuration" : config_) + ": variant '" +
                          variant + "' of " + std::string(plugin_->type()));
}

struct World::Time {
  explicit Time(bool manual)
      : executor(manual ? std::unique_ptr<Executor>(std::make_unique<ManualExecutor>(manual_clock))
                        : std::make_unique<ThreadPool>(system_clock, ThreadPool::Options{})),
        clock(manual ? static_cast<const Clock&>(manual_clock) : system_clock),
        is_manual(manual) {}

  ManualClock manual_clock;
  SystemClock system_clock;
  std::unique_ptr<Executor> executor;
  const Clock& clock;
  const bool is_manual;
  TestHost host{clock, *executor};
};

namespace {

/// Different in each World of each process, so that what an earlier run left in a store is not
/// found.
std::string freshPrefix() {
  static std::atomic<unsigned> number{0};
  return "kit-" + std::to_string(::getpid()) + "-" + std::to_string(SystemClock().wall()) + "-" +
         std::to_string(++number) + ":";
}

}  // namespace

World::World(const Subject& subject, std::string variant)
    : subject_(subject),
      variant_(std::move(variant)),
      prefix_(freshPrefix()),
      time_(std::make_unique<Time>(!subject.waits(variant_))) {}

World::~World() = default;

std::shared_ptr<Cache> World::make(const RawSettings& overrides, std::string_view name_space) {
  // A prefix of its own, so that nobody else's entries are in it.
  const auto own = [&](const std::vector<SettingSpec>& schema, std::string_view id) {
    RawSettings raw = overrides;
    raw.insert_or_assign("prefix",
                         setByKit(prefix_ + std::string(name_space) + std::string(id) + ":"));
    std::erase_if(raw, [&schema](const auto& setting) { return !has(schema, setting.first); });
    return raw;
  };
  const Settings settings = orThrow(subject_.settings(variant_, own(subject_.schema_, "")));
  for (const std::string& id : subject_.partsOf(settings)) {
    const Subject::Part& part = subject_.parts_.find(id)->second;
    const std::string part_id = "." + id;
    host().addManager(
        id,
        instance(*part.plugin, orThrow(subject_.partSettings(id, part, own(part.schema, part_id))),
                 std::string(name_space) + part_id));
  }
  return instance(*subject_.plugin_, settings, name_space);
}

std::shared_ptr<Cache> World::instance(const Plugin& plugin, const Settings& settings,
                                       std::string_view name_space) {
  if (plugin.kind() != LARDER_BYTE_CACHE)
    return orThrow(plugin.instantiate<Cache>(host(), settings));
  std::shared_ptr<ByteCache> store = orThrow(plugin.instantiate<ByteCache>(host(), settings));
  return std::make_shared<EnvelopeCache>(std::move(store), clock(),
                                         envelopeOptions(settings, std::string(name_space)));
}

std::shared_ptr<Cache> World::cache(std::string_view name_space) {
  return make({}, name_space);
}

std::shared_ptr<Cache> World::cacheOfEntriesUpTo(std::size_t bytes) {
  return make({{"max_entry_size", setByKit(std::to_string(bytes) + "B")}}, "a");
}

std::shared_ptr<Cache> World::smallCache() {
  RawSettings small = subject_.small_;
  if (small.empty()) small.emplace("max_size", setByKit("1M"));
  return make(small, "a");
}

std::shared_ptr<ByteCache> World::bytes() {
  const Settings settings = orThrow(subject_.settings(variant_, {}));
  return orThrow(subject_.plugin_->instantiate<ByteCache>(host(), settings));
}

const Clock& World::clock() const noexcept {
  return time_->clock;
}

ManualClock* World::manualClock() noexcept {
  return time_->is_manual ? &time_->manual_clock : nullptr;
}

TestHost& World::host() noexcept {
  return time_->host;
}

void World::pass(Millis duration) {
  if (time_->is_manual) {
    time_->manual_clock.advance(duration);
    static_cast<ManualExecutor&>(*time_->executor).runAll();
  } else {
    time_->executor->makeEvent()->wait(clock().monotonic() + duration);
  }
}

}  // namespace larder::testing
