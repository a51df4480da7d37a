// What the application has to know of publishing: whether it is asked for, under which revision,
// and what came of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "larder/server/config.h"
#include "larder/site/site.h"
#include "nginx_publisher.h"

namespace larder::server {

/// Of everything beside content that decides what a page looks like and whether it is published.
[[nodiscard]] std::uint64_t revisionOf(const Config& config, std::span<const site::Mount> mounts);
[[nodiscard]] bool publishes(const Config& config);
[[nodiscard]] nlohmann::json reportPublisher(const NginxPublisher& publisher);

}  // namespace larder::server
