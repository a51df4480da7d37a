#include <algorithm>

#include "state_impl.h"
#include "state_secrets.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxValues = 64;
constexpr std::size_t kMaxValue = 4'096;
constexpr std::size_t kTokenLength = 43;
constexpr Millis kProlongAtMost = 3'600'000;  // a use within this after the last one writes nothing
constexpr Millis kProlongAgain = 10'000;      // after a failure, for which each would wait as long

}  // namespace

void State::Impl::prolong(std::string_view token_hash, Session& session, Millis now) noexcept {
  const auto& options = database.options();
  const auto lifetime = options.session_lifetime;
  if (session.expires - now >= lifetime - std::min(lifetime / 10, kProlongAtMost)) return;
  const auto moment = options.clock->monotonic();
  if (moment < prolong_again_.load(std::memory_order_relaxed)) return;
  try {
    database.write([&](auto& db) {
      db("UPDATE session SET expires = ?2 WHERE token = ?1")
          .execute(sqlite::Bytes{token_hash}, now + lifetime);
    });
    session.expires = now + lifetime;
  } catch (const std::exception& error) {
    prolong_again_.store(moment + kProlongAgain, std::memory_order_relaxed);
    if (options.log) {
      options.log(LogLevel::warning,
                  std::string("sessions in use are not prolonged: ") + error.what());
    }
  }
}

NewSession State::startSession(std::optional<std::int64_t> user) {
  NewSession session{randomToken(), randomToken(),
                     impl_->database.now() + impl_->database.options().session_lifetime};
  impl_->database.write([&](auto& db) {
    auto& insert = db("INSERT INTO session(token, user, csrf, expires) VALUES(?1, ?2, ?3, ?4)");
    insert.execute(sqlite::Bytes{hashToken(session.token)}, user ? Tree(*user) : Tree(),
                   session.csrf, session.expires);
  });
  return session;
}

std::optional<Session> State::session(std::string_view token) {
  if (token.size() != kTokenLength) return {};
  const auto hash = hashToken(token);
  const auto now = impl_->database.now();
  Session session;
  std::int64_t user_id = 0;
  const bool found = impl_->database.read([&](auto& db) {
    {
      auto row = db("SELECT user, csrf, expires FROM session WHERE token = ?1 AND expires > ?2")
                     .run(sqlite::Bytes{hash}, now);
      if (!row.next()) return false;
      user_id = row.integer(0);
      session.csrf = row.text(1);
      session.expires = row.integer(2);
    }
    auto values =
        db("SELECT name, value FROM session_value WHERE token = ?1").run(sqlite::Bytes{hash});
    while (values.next()) session.values.emplace(values.text(0), values.text(1));
    return true;
  });
  if (!found) return {};
  if (user_id != 0) {
    session.user = user(user_id);
    if (!session.user) return {};
  }
  impl_->prolong(hash, session, now);
  return session;
}

bool State::setSessionValue(std::string_view token, std::string_view name, std::string_view value) {
  if (name.empty() || name.size() > kMaxValue || value.size() > kMaxValue)
    throw StoreError("a session's value has a name, and each of them at most 4096 bytes");
  const auto hash = hashToken(token);
  const auto now = impl_->database.now();
  return impl_->database.write([&](auto& db) {
    {
      auto row = db("SELECT (SELECT count(*) FROM session_value WHERE token = ?1 AND name <> ?3) "
                    "FROM session WHERE token = ?1 AND expires > ?2")
                     .run(sqlite::Bytes{hash}, now, name);
      if (!row.next()) return false;
      if (static_cast<std::size_t>(row.integer(0)) >= kMaxValues)
        throw StoreError("a session holds at most 64 values");
    }
    db("INSERT OR REPLACE INTO session_value(token, name, value) VALUES(?1, ?2, ?3)")
        .execute(sqlite::Bytes{hash}, name, value);
    return true;
  });
}

void State::endSession(std::string_view token) {
  const auto hash = hashToken(token);
  impl_->database.write(
      [&](auto& db) { db("DELETE FROM session WHERE token = ?1").execute(sqlite::Bytes{hash}); });
}

void State::endSessions(std::int64_t user) {
  impl_->database.write([&](auto& db) { db("DELETE FROM session WHERE user = ?1").execute(user); });
}

}  // namespace larder::site
