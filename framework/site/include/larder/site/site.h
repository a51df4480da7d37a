// Site: apps mounted at paths, content, views and who caches them; answers requests.
//
//   Site site({.name = "main", .clock = &clock, ...}, store, state, engine);
//   site.configure({.mounts = {{"/handbook", definition}}, .registry = registry, .rules = rules});
//   site.handle(request, reply);
//
// Thread-safe. configure() swaps everything at once; requests that run keep what they began with.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache/cache_manager.h"
#include "larder/cache/engine.h"
#include "larder/cache/rules.h"
#include "larder/host.h"
#include "larder/result.h"
#include "larder/site/app_definition.h"
#include "larder/site/page_offer.h"
#include "larder/site/request.h"
#include "larder/site/state.h"
#include "larder/site/store.h"
#include "larder/value.h"

namespace larder::site {

struct Mount {
  std::string path;  ///< canonical
  std::shared_ptr<const AppDefinition> app;
};

/// What a site serves; immutable once given to configure().
struct SiteConfig {
  std::vector<Mount> mounts;
  std::shared_ptr<const CacheManagerRegistry> registry;
  std::shared_ptr<const RuleSet> rules;
  std::uint64_t revision = 0;  ///< of all this, for pages that are published
};

struct SiteOptions {
  std::string name = "site";
  const Clock* clock = nullptr;
  Executor* executor = nullptr;
  std::function<void(LogLevel, std::string_view)> log;
  /// Derives etag, head lines and gzip of a page when it is made; `is_private`: of one visitor.
  std::function<void(Page&, bool is_private)> finish;
  Millis request_timeout = 30'000;     ///< ms, for a whole tree of renders
  Millis cache_timeout = 100;          ///< ms that a look-up of no render may take in all
  PagePublisher* publisher = nullptr;  ///< offered pages of views whose policy publishes
};

/// How a request is cached, as configured, and what the cache holds for it.
struct Explanation {
  std::string path;
  std::string view;
  std::string app;                 ///< where it is mounted
  CacheManager::Identity manager;  ///< without an id: none
  Waits waits = Waits::never;      ///< of the manager
  std::string manager_origin;      ///< of the rule that names it, if one does
  std::string why_not;             ///< why nothing is served from the cache, if so
  Policy policy;
  std::vector<Rule> rules;              ///< those that matched, strongest first
  std::vector<PolicySetting> settings;  ///< what they give
  Inspection inspection;
};

/// The answer to one request. Either `entry` or `page` holds it.
struct Reply {
  EntryRef entry;
  Value page;
  bool cacheable = false;  ///< the view has a manager: Cache-Status is due
  Outcome outcome = Outcome::bypass;
  bool stored = false;
  bool is_private = false;
  Millis age = 0;                 ///< ms since the render
  Millis ttl = 0;                 ///< ms of freshness left, negative when stale
  std::vector<std::string> vary;  ///< headers among the known inputs
  std::string error_id;           ///< of a 500, found in the log

  [[nodiscard]] PageView content() const noexcept {
    return *(entry ? entry->value.page() : page.page());
  }
};

/// What Site::tryFast() came to.
enum class Quick : std::uint8_t {
  hit,
  gather,  ///< tryTogether() may find it
  ask,     ///< handle() makes it
};

/// One of several requests whose pages are looked up together.
struct Gathered {
  const RequestView* request = nullptr;
  Reply reply;
  bool hit = false;  ///< the reply is filled
  RequestMemo memo;  ///< of another one: what was looked up, for handle()
};

struct Binding;
struct Configured;
struct Route;
struct ViewMemory;
class RequestState;
class PageDates;
class Receipts;
class RouteCache;
class PageCall;
class DetachedCall;

class Site {
 public:
  Site(SiteOptions options, Store& store, State* state, Engine& engine);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  /// Installs the apps' schemas, then serves this. Fails without changing anything.
  [[nodiscard]] Result<> configure(SiteConfig config);

  /// GET and HEAD of a page that can be had without waiting.
  [[nodiscard]] Quick tryFast(const RequestView& request, Reply& reply) noexcept;
  /// The hits among requests for which tryFast() said `gather`, in one round trip to each shared
  /// cache.
  void tryTogether(std::span<Gathered> requests) noexcept;
  /// Any request. Never throws: failures become pages. `first_look`: of tryTogether().
  void handle(const RequestView& request, Reply& reply, RequestMemo* first_look = nullptr) noexcept;

  /// How a GET would be answered; nothing is counted, rendered or stored.
  [[nodiscard]] Result<Explanation> explain(const RequestView& request);

  /// What has to happen once a second: names that other processes learned.
  void maintain() noexcept;

  /// Hits, misses and so on of each view, by "MOUNT view (type)".
  [[nodiscard]] std::vector<std::pair<std::string, const Counters*>> viewCounters() const;
  [[nodiscard]] ObjectStatistics& objects() noexcept { return objects_; }
  [[nodiscard]] const SiteOptions& options() const noexcept { return options_; }
  [[nodiscard]] Store& store() noexcept { return store_; }
  [[nodiscard]] Engine& engine() noexcept { return engine_; }

 private:
  friend class RequestContext;
  friend class PageCall;
  friend class DetachedCall;

  using RoutePtr = std::shared_ptr<const Route>;

  [[nodiscard]] std::shared_ptr<const Configured> configured() const;
  [[nodiscard]] RoutePtr cachedRoute(std::string_view full_path) noexcept;
  /// Of a call within a render: as the render's snapshot sees it (L7).
  [[nodiscard]] RoutePtr nestedRoute(std::string_view path, std::string_view view,
                                     ReadSnapshot& snapshot);
  /// Reads what it needs from the snapshot; throws HttpError 404 or 405.
  [[nodiscard]] RoutePtr resolve(std::string_view object_path, std::string_view view,
                                 std::string_view method, ReadSnapshot& snapshot);
  void bind(Route& route, std::string_view object_manager);
  [[nodiscard]] ViewMemory& memory(const std::string& view_id);
  [[nodiscard]] std::shared_ptr<LearnedInputs> learnedInputs(const std::string& id);
  /// False when the state could not be read.
  bool adoptLearned(const std::string& id, LearnedInputs& inputs) noexcept;
  /// What views read that are there no more, or are others now.
  void forgetLearned(const Configured& now) noexcept;

  struct Lookable;
  [[nodiscard]] bool findRoute(Lookable& lookable) noexcept;
  [[nodiscard]] bool prepare(Lookable& lookable);
  [[nodiscard]] bool take(std::optional<Answer>& answer, const Lookable& lookable, Reply& reply);
  void serve(RequestState& state, Reply& reply, RequestMemo* first_look);
  void serveView(RequestState& state, const RoutePtr& route, CallContext& context, Reply& reply);
  void serveAction(RequestState& state, const Route& route, CallContext& context, Reply& reply);
  void authorise(RequestState& state, const std::string& permission, const Mount& mount,
                 std::string_view path);
  [[nodiscard]] std::string receiptCookie(const RequestState& state, const Receipt& receipt) const;
  /// Sees to it that what the visitor's receipt names is known here.
  [[nodiscard]] bool observeFor(const RequestState& state) noexcept;
  void fill(Reply& reply, Answer answer, const Route& route) const;
  void offer(const RequestView& request, std::string_view full_path, const Route& route,
             const Reply& reply) const noexcept;
  void fillPage(Reply& reply, Page page, bool is_private = false) const;
  void fillError(Reply& reply, int status, std::string_view message) const;
  void fillBusy(Reply& reply, std::string_view why) const;
  void fail(RequestState& state, Reply& reply, std::string_view what) noexcept;

  SiteOptions options_;
  Store& store_;
  State* state_;
  Engine& engine_;
  std::unique_ptr<RouteCache> routes_;
  std::unique_ptr<const Receipts> receipts_;
  std::unique_ptr<PageDates> dates_;
  mutable std::mutex configured_mutex_;
  std::shared_ptr<const Configured> configured_;
  std::atomic<std::uint64_t> config_number_{0};
  mutable std::mutex memory_mutex_;
  std::map<std::string, std::unique_ptr<ViewMemory>, std::less<>> memories_;
  std::map<std::string, std::shared_ptr<LearnedInputs>, std::less<>> learned_;
  ObjectStatistics objects_;
  std::atomic<std::uint64_t> state_version_{0};
  std::atomic<std::uint64_t> next_error_{1};
};

}  // namespace larder::site
