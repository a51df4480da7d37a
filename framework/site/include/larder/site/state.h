// State: what a site remembers that is not content: users, sessions, learned names, settings
// changed while running, and small values of the server's own. It lives in state.db, apart from the
// content, so that a commit here never looks like a change of the site.
//
//   auto state = site::State::open({.data_dir = "var", .clock = &clock});
//   auto result = state->logIn(login, password, client_address);
//   if (result.outcome == LogInOutcome::ok) auto session = state->startSession(result.user.id);
//
// Shared by all processes of the site: what one writes, the next call of any other sees.
// Thread-safe. Throws StoreError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/clock.h"
#include "larder/entry.h"
#include "larder/site/store.h"
#include "larder/view.h"

namespace larder::site {

struct StateOptions {
  /// Made if it is missing; holds state.db and state.lock.
  std::filesystem::path data_dir = {};
  /// Outlives the state.
  const Clock* clock = nullptr;
  LogFunction log = {};
  Millis session_lifetime = 14LL * 24 * 3600 * 1000;  ///< since its last use, ms
  /// Wrong passwords within `throttle_window` ms after which a log-in name or an address has to
  /// wait: a second, then twice as long each time, up to the window.
  int failures_per_login = 5;
  int failures_per_address = 20;
  Millis throttle_window = 15LL * 60 * 1000;
  /// How long a write waits for other processes, ms.
  Millis writer_wait = 5'000;
};

struct NewUser {
  std::string
      login;  ///< 1 to 64 bytes, no control characters; compared without regard to ASCII case
  std::string name;
  std::string password;  ///< at least 8 bytes
  std::vector<std::string> roles;
};

enum class LogInOutcome : std::uint8_t {
  ok,
  refused,    ///< unknown name or wrong password: the two take the same time and look the same
  throttled,  ///< not even tried: too many failures
};

struct LogInResult {
  LogInOutcome outcome = LogInOutcome::refused;
  User user;               ///< of an ok
  Millis retry_after = 0;  ///< of a throttled one, ms
};

/// The cookies that hold a session's token and, after a save, its receipt (L21).
inline constexpr std::string_view kSessionCookie = "larder_session";
inline constexpr std::string_view kReceiptCookie = "larder_receipt";

struct Session {
  std::optional<User> user;  ///< none: an anonymous session
  std::string csrf;          ///< 43 characters, safe in forms and headers
  Millis expires = 0;        ///< wall clock
  std::map<std::string, std::string, std::less<>> values;
};

struct NewSession {
  std::string token;  ///< 43 characters for the cookie; only its hash is stored
  std::string csrf;
  Millis expires = 0;  ///< wall clock
};

/// A setting changed while running.
struct RuntimeSetting {
  std::string key;
  std::string value;
  Millis at = 0;  ///< wall clock
  std::string by;
};

/// A page that was, or may have been, put where a front server reads it (L23).
struct PublishedPage {
  std::int64_t id = 0;
  std::string key;
  Stamp stamp;
  std::vector<ScopeId> scopes;
  std::uint64_t revision = 0;  ///< of the code and configuration that made it
  std::int64_t expires = 0;    ///< seconds, by the clock of the server that holds it
  bool settled = false;        ///< false: nobody knows whether, or when, it arrives there
};

class State {
 public:
  [[nodiscard]] static std::unique_ptr<State> open(StateOptions options);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Users. Passwords are hashed with argon2id (libsodium, "interactive" limits: 64 MB, some 50 ms).
  /// The new id, which is never used again. A login in use, or a field out of bounds: StoreError.
  std::int64_t addUser(const NewUser& user);
  /// Ends the user's sessions. False when there is no such user.
  bool setPassword(std::int64_t user, std::string_view password);
  bool setRoles(std::int64_t user, const std::vector<std::string>& roles);
  bool setName(std::int64_t user, std::string_view name);
  /// With all sessions.
  bool removeUser(std::int64_t user);
  [[nodiscard]] std::optional<User> user(std::int64_t id);
  [[nodiscard]] std::optional<User> userByLogin(std::string_view login);
  [[nodiscard]] std::vector<User> users();
  /// Checks a password; counts failures by login and by address.
  [[nodiscard]] LogInResult logIn(std::string_view login, std::string_view password,
                                  std::string_view address);

  // Sessions.
  [[nodiscard]] NewSession startSession(std::optional<std::int64_t> user);
  /// None for a token that is unknown, expired or revoked. A use prolongs it.
  [[nodiscard]] std::optional<Session> session(std::string_view token);
  /// False when there is no such session. At most 64 values of 4 KB each.
  bool setSessionValue(std::string_view token, std::string_view name, std::string_view value);
  void endSession(std::string_view token);
  void endSessions(std::int64_t user);

  // Learned input names of views.
  /// Adds names and returns all that are known of the view, sorted.
  std::vector<std::string> learn(std::string_view view, std::span<const std::string> names);
  [[nodiscard]] std::map<std::string, std::vector<std::string>, std::less<>> learned();
  void forgetLearned(std::string_view view);

  // Settings changed while running; they override the files.
  void setSetting(std::string_view key, std::string_view value, std::string_view by);
  /// Back to what the files say; false when it was not changed.
  bool revertSetting(std::string_view key);
  [[nodiscard]] std::vector<RuntimeSetting> settings();

  // Small values of the server's own, by space and key (a publisher's cursor, a resumable import).
  [[nodiscard]] std::optional<std::string> get(std::string_view space, std::string_view key);
  void put(std::string_view space, std::string_view key, std::string_view value);
  bool erase(std::string_view space, std::string_view key);
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> list(std::string_view space);

  // Published pages.
  /// Notes pages before they are published, unsettled; sets their ids. The id stays 0 where an
  /// earlier one of that key is not settled: that one may still arrive and replace this one.
  void notePublished(std::span<PublishedPage> pages);
  /// They have arrived: what was noted of their keys before is replaced.
  void settlePublished(std::span<const std::int64_t> ids);
  void forgetPublished(std::span<const std::int64_t> ids);
  /// Those that expired before `seconds`.
  void forgetExpired(std::int64_t seconds);
  /// In order of their ids, after `after`.
  [[nodiscard]] std::vector<PublishedPage> published(std::int64_t after, std::size_t limit);

  /// Changes whenever some other process has changed anything: poll it to reload what was read.
  /// Costs some microseconds.
  [[nodiscard]] std::uint64_t version();

  /// Removes expired sessions and old failures, checkpoints. Never throws.
  void maintain() noexcept;

 private:
  class Impl;
  explicit State(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder::site
