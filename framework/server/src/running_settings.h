// Settings that were changed while the server runs (`larder config set`): kept in the site's
// state.db, and applied on top of the file; -D says more.
#pragma once

#include <span>
#include <string>

#include "larder/server/config.h"
#include "larder/site/state.h"

namespace larder::server {

[[nodiscard]] site::StateOptions stateOptions(const Config& config, const Clock& clock,
                                              site::LogFunction log = {});

/// What is kept, by key, as overrides.
[[nodiscard]] std::vector<Override> runningSettings(site::State& state);

/// The file, then what was changed while running, then the overrides of the command line. A change
/// that the file does not fit any more is an error that says how to take it back.
Result<Config> loadEffectiveConfig(const std::string& file, std::span<const Override> overrides);

}  // namespace larder::server
