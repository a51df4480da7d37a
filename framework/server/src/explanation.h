// What a process tells about how one request is cached, as JSON, and that JSON for a terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "larder/clock.h"
#include "larder/result.h"
#include "larder/site/site.h"

namespace larder::server {

/// `url`: a path with its query, or the whole of it with scheme and host; asked as an anonymous
/// visitor without further headers would.
[[nodiscard]] Result<nlohmann::json> explainUrl(site::Site& site, std::string_view url,
                                                const Clock& clock);

/// What one process has told.
void printExplanation(const nlohmann::json& explanation, std::ostream& out);

}  // namespace larder::server
