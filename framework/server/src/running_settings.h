// Settings that were changed while the server runs (`larder config set`): kept in the site's
// state.db, and applied on top of the file; -D says more. Some of them a running server takes over,
// the others hold from its start to its end, in all of its processes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Whether a change of this key of an override is not taken over by a running server.
[[nodiscard]] bool needsRestart(std::string_view key) noexcept;

/// All such settings, as overrides: a process that gets them is like those that run.
[[nodiscard]] std::vector<Override> settingsInForce(const Config& running);

/// One line for each such setting that is another one in `read`.
[[nodiscard]] std::vector<std::string> waitingForRestart(const Config& running, const Config& read);

}  // namespace larder::server
