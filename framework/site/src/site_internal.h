// What the parts of Site share: site.cpp (configuration, what is known of views), site_routes.cpp
// (what answers a path), site_fast.cpp (hits), site_answers.cpp (everything else), site_reply.cpp
// (the answer's form), site_explain.cpp.
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
  SiteConfig config;
  std::uint64_t number = 0;

  using BindingKey = std::tuple<const ViewDefinition*, const CacheManager*, const Resolved*>;
  mutable std::mutex mutex;
  mutable std::map<BindingKey, std::shared_ptr<const Binding>> bindings;
};

/// What is there answers these methods alone.
struct MethodNotAllowed {
  std::string allow;
};

/// The page that tells of an error.
[[nodiscard]] Page errorPage(int status, std::string_view message);

[[nodiscard]] inline bool readsOnly(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD";
}

}  // namespace larder::site
