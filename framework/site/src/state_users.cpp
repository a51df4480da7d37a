#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "state_impl.h"
#include "state_secrets.h"

namespace larder::site {

namespace {

constexpr std::size_t kMaxLogin = 64;
constexpr std::size_t kMinPassword = 8;
constexpr std::size_t kMaxPassword = 1'024;
constexpr Millis kFirstWait = 1'000;
constexpr const char* kUserColumns = "SELECT id, login, name, roles FROM user ";

// What a log-in name that nobody has is checked against.
const std::string& nobodysHash() {
  static const std::string hash = hashPassword(randomToken());
  return hash;
}

bool hasControl(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void checkPassword(std::string_view password) {
  if (password.size() < kMinPassword) throw StoreError("a password has at least 8 bytes");
  if (password.size() > kMaxPassword) throw StoreError("a password has at most 1024 bytes");
}

std::string joined(std::vector<std::string> roles) {
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  std::string all;
  for (const auto& role : roles) {
    if (role.empty() || hasControl(role))
      throw StoreError("a role has a name without control characters");
    all.append(all.empty() ? "" : "\n").append(role);
  }
  return all;
}

User readUser(const sqlite::Rows& row) {
  User user{row.integer(0), std::string(row.text(1)), std::string(row.text(2)), {}};
  for (auto roles = row.text(3); !roles.empty();) {
    const auto end = std::min(roles.find('\n'), roles.size());
    user.roles.emplace_back(roles.substr(0, end));
    roles.remove_prefix(std::min(end + 1, roles.size()));
  }
  return user;
}

std::string loginKey(std::string_view login) {
  std::string key = "login:" + std::string(login.substr(0, kMaxLogin));
  for (char& c : key) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return key;
}

// Whoever has one address of version 6 usually has the 2^64 of its network.
std::string addressKey(std::string_view address) {
  std::string text(address);
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) {
    std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
    std::array<char, INET6_ADDRSTRLEN> network{};
    if (inet_ntop(AF_INET6, bytes.data(), network.data(), network.size())) text = network.data();
  }
  return "address:" + text;
}

/// A turn to try that was counted as a failure beforehand, so that many at once cannot pass the
/// limit together.
class Attempts {
 public:
  explicit Attempts(StateDatabase& database) : database_(database) {}

  /// How long to wait; 0: try now.
  Millis reserve(const std::string& login, const std::string& address) {
    const auto& options = database_.options();
    const auto now = database_.now();
    return database_.write([&](StateDatabase::Access& db) {
      const auto wait = std::max(waitOf(db, login, now), waitOf(db, address, now));
      if (wait > 0) return wait;
      count(db, login, options.failures_per_login, now);
      count(db, address, options.failures_per_address, now);
      return Millis{0};
    });
  }
  /// It was no failure.
  void release(const std::string& login, const std::string& address) {
    database_.write([&](StateDatabase::Access& db) {
      db("DELETE FROM attempt WHERE key = ?1").execute(login);
      db("UPDATE attempt SET failures = failures - 1, until = 0 WHERE key = ?1 AND failures > 0")
          .execute(address);
    });
  }

 private:
  struct Count {
    int failures = 0;
    Millis until = 0;
  };
  // A clock that was set back must not lock anybody out for longer than the window.
  Count find(StateDatabase::Access& db, const std::string& key, Millis now) {
    const auto window = database_.options().throttle_window;
    auto row = db("SELECT failures, last, until FROM attempt WHERE key = ?1").run(key);
    if (!row.next() || row.integer(1) < now - window || row.integer(1) > now + window) return {};
    return {static_cast<int>(row.integer(0)), std::min(row.integer(2), now + window)};
  }
  Millis waitOf(StateDatabase::Access& db, const std::string& key, Millis now) {
    return std::max<Millis>(find(db, key, now).until - now, 0);
  }
  void count(StateDatabase::Access& db, const std::string& key, int allowed, Millis now) {
    const int failures = find(db, key, now).failures + 1;
    Millis until = 0;
    if (failures >= allowed) {
      const int doublings = std::min(failures - allowed, 20);
      until = now + std::min(kFirstWait << doublings, database_.options().throttle_window);
    }
    db("INSERT OR REPLACE INTO attempt(key, failures, last, until) VALUES(?1, ?2, ?3, ?4)")
        .execute(key, failures, now, until);
  }

  StateDatabase& database_;
};

}  // namespace

std::int64_t State::addUser(const NewUser& user) {
  if (user.login.empty() || user.login.size() > kMaxLogin || hasControl(user.login))
    throw StoreError("a log-in name has 1 to 64 bytes and no control characters");
  checkPassword(user.password);
  const auto roles = joined(user.roles);
  const auto hash = hashPassword(user.password);
  return impl_->database.write([&](auto& db) {
    if (auto row = db("SELECT 1 FROM user WHERE login = ?1").run(user.login); row.next())
      throw StoreError("the log-in name " + user.login + " is in use");
    db("INSERT INTO user(login, name, password, roles) VALUES(?1, ?2, ?3, ?4)")
        .execute(user.login, user.name, hash, roles);
    return std::int64_t{sqlite3_last_insert_rowid(db.connection().handle())};
  });
}

bool State::setPassword(std::int64_t user, std::string_view password) {
  checkPassword(password);
  const auto hash = hashPassword(password);
  return impl_->database.write([&](auto& db) {
    db("UPDATE user SET password = ?2 WHERE id = ?1").execute(user, hash);
    const bool found = db.changed();
    db("DELETE FROM session WHERE user = ?1").execute(user);
    return found;
  });
}

bool State::setRoles(std::int64_t user, const std::vector<std::string>& roles) {
  const auto all = joined(roles);
  return impl_->database.write([&](auto& db) {
    db("UPDATE user SET roles = ?2 WHERE id = ?1").execute(user, all);
    return db.changed();
  });
}

bool State::setName(std::int64_t user, std::string_view name) {
  return impl_->database.write([&](auto& db) {
    db("UPDATE user SET name = ?2 WHERE id = ?1").execute(user, name);
    return db.changed();
  });
}

bool State::removeUser(std::int64_t user) {
  return impl_->database.write([&](auto& db) {
    db("DELETE FROM user WHERE id = ?1").execute(user);
    return db.changed();
  });
}

std::optional<User> State::user(std::int64_t id) {
  static const std::string kSql = std::string(kUserColumns) + "WHERE id = ?1";
  return impl_->database.read([&](auto& db) -> std::optional<User> {
    auto row = db(kSql).run(id);
    if (!row.next()) return {};
    return readUser(row);
  });
}

std::optional<User> State::userByLogin(std::string_view login) {
  static const std::string kSql = std::string(kUserColumns) + "WHERE login = ?1";
  return impl_->database.read([&](auto& db) -> std::optional<User> {
    auto row = db(kSql).run(login);
    if (!row.next()) return {};
    return readUser(row);
  });
}

std::vector<User> State::users() {
  static const std::string kSql = std::string(kUserColumns) + "ORDER BY login";
  return impl_->database.read([&](auto& db) {
    std::vector<User> all;
    for (auto rows = db(kSql).run(); rows.next();) all.push_back(readUser(rows));
    return all;
  });
}

LogInResult State::logIn(std::string_view login, std::string_view password,
                         std::string_view address) {
  const auto by_login = loginKey(login);
  const auto by_address = addressKey(address);
  Attempts attempts(impl_->database);
  if (const auto wait = attempts.reserve(by_login, by_address); wait > 0)
    return {LogInOutcome::throttled, {}, wait};
  std::int64_t id = 0;
  std::string hash = nobodysHash();
  impl_->database.read([&](auto& db) {
    auto row = db("SELECT id, password FROM user WHERE login = ?1").run(login);
    if (row.next()) {
      id = row.integer(0);
      hash = row.text(1);
    }
  });
  const bool matches =
      verifyPassword(hash, password.substr(0, kMaxPassword)) && password.size() <= kMaxPassword;
  if (!matches || id == 0) return {};
  attempts.release(by_login, by_address);
  if (isOutdated(hash)) {
    const auto fresh = hashPassword(password);
    impl_->database.write([&](auto& db) {
      db("UPDATE user SET password = ?2 WHERE id = ?1 AND password = ?3").execute(id, fresh, hash);
    });
  }
  auto found = user(id);
  if (!found) return {};
  return {LogInOutcome::ok, std::move(*found), 0};
}

}  // namespace larder::site
