// What the parts of Site share: site.cpp (configuration, what is known of views), configured.cpp
// (what of it results depend on), site_routes.cpp (what answers a path), site_fast.cpp (hits),
// site_answers.cpp (everything else), site_reply.cpp (the answer's form), site_explain.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "larder/site/site.h"
#include "route.h"

namespace larder::site {

/// One configuration with the bindings that were made under it.
struct Configured {
  Configured() = default;
  explicit Configured(SiteConfig with);

  SiteConfig config;
  std::uint64_t number = 0;
  std::uint64_t assignment = 0;  ///< hash of who is cached where
  std::uint64_t revision = 0;    ///< hash of what the results of all views depend on

  /// Of all that a result depends on beside content and request (L14).
  [[nodiscard]] std::uint64_t revisionOf(const Mount& mount, const ViewDefinition& view) const;
  [[nodiscard]] const Resolved& rulesFor(std::string_view path, std::string_view view) const;
  /// The longest one that covers the path; null: none.
  [[nodiscard]] const Mount* mountOf(std::string_view path) const;
  /// Null: not cached. `of_object`: the id that the object names, empty for none.
  [[nodiscard]] ManagerPtr managerOf(std::string_view path, const ViewDefinition& view,
                                     std::string_view of_object) const;

  using BindingKey = std::tuple<const ViewDefinition*, const CacheManager*, const Resolved*>;
  mutable std::mutex mutex;
  mutable std::map<BindingKey, std::shared_ptr<const Binding>> bindings;
};

/// What is there answers these methods alone.
struct MethodNotAllowed {
  std::string allow;
};

/// What the caches hold of views that are cached elsewhere now.
void freeMoved(const Configured& before, const Configured& now);

/// The form of a document over HTTP is another result than the value, so it has another name; no
/// view can be called so.
inline constexpr std::string_view kJsonForm = "json of ";

/// "MOUNT view (type)"
[[nodiscard]] std::string viewId(const Mount& mount, const ViewDefinition& view);
/// What the names that a view is known to read begin with where they are kept.
[[nodiscard]] std::string learnedPrefix(const std::string& view_id, std::uint64_t revision);

/// The page that tells of an error.
[[nodiscard]] Page errorPage(int status, std::string_view message);

[[nodiscard]] inline bool readsOnly(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD";
}

}  // namespace larder::site
