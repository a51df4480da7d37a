#include "memcached_manager.h"

#include <algorithm>
#include <stdexcept>

namespace larder::memcached {

namespace {

std::int64_t inRange(const Settings& settings, const char* name, std::int64_t low,
                     std::int64_t high, const char* unit) {
  const std::int64_t value = settings.integer(name);
  if (value < low || value > high) {
    throw std::runtime_error(std::string(name) + ": it must be from " + std::to_string(low) +
                             " to " + std::to_string(high) + unit);
  }
  return value;
}

/// "USER PASSWORD" as memcached's text protocol takes it; empty: none.
std::string readLogin(const Settings& settings) {
  const std::string& user = settings.text("username");
  const std::string& password = settings.text("password");
  if (user.empty() && password.empty()) return {};
  // memcached reads a password up to the next blank.
  const auto readable = [](const std::string& text) {
    return !text.empty() && text.size() <= 200 &&
           std::none_of(text.begin(), text.end(), [](char c) { return c >= 0 && c <= 0x20; });
  };
  if (!readable(user) || !readable(password) || user.find(':') != std::string::npos) {
    throw std::runtime_error(
        "username, password: both or none, of 1 to 200 characters without blanks and control "
        "characters, the name also without a colon");
  }
  return user + ' ' + password;
}

ServerOptions readOptions(const Settings& settings) {
  if (settings.boolean("binary")) {
    throw std::runtime_error(
        "binary: not offered. memcached's authors have deprecated that protocol, and a multi-get "
        "over it takes up to 2.5 times as long; leave the setting out. Servers that ask for a "
        "password: start them with -Y FILE instead of -S and set username and password here");
  }
  constexpr std::int64_t kHour = 3'600'000;
  ServerOptions options;
  options.timeout = inRange(settings, "timeout", 1, 60'000, " ms");
  options.connect_timeout = inRange(settings, "connect_timeout", 1, 60'000, " ms");
  options.breaker_after =
      static_cast<std::uint32_t>(inRange(settings, "breaker_after", 1, 1000, ""));
  options.first_probe = inRange(settings, "first_probe", 1, kHour, " ms");
  options.max_probe = inRange(settings, "max_probe", options.first_probe, kHour, " ms");
  options.idle_timeout = inRange(settings, "idle_timeout", 1, 24 * kHour, " ms");
  options.max_connections =
      static_cast<std::size_t>(inRange(settings, "max_connections", 1, 10'000, ""));
  options.max_item_size = settings.size("max_item_size");
  options.login = readLogin(settings);
  return options;
}

/// `others`: no server may be among them, too.
std::vector<Endpoint> readServers(const Settings& settings, const char* setting,
                                  const std::vector<std::shared_ptr<Server>>& others) {
  const auto addresses = parseServers(settings.texts(setting));
  if (!addresses) throw std::runtime_error(std::string(setting) + ": " + addresses.error().message);
  std::vector<Endpoint> endpoints;
  for (const ServerAddress& address : *addresses) {
    Endpoint endpoint = resolved(endpointOf(address));
    const auto same = [&](const Endpoint& other) { return areSame(other, endpoint); };
    if (const auto twice = std::find_if(endpoints.begin(), endpoints.end(), same);
        twice != endpoints.end()) {
      throw std::runtime_error(std::string(setting) + ": '" + twice->name + "' and '" +
                               endpoint.name + "' are one server");
    }
    const auto same_server = [&](const auto& other) {
      return areSame(other->endpoint(), endpoint);
    };
    if (std::any_of(others.begin(), others.end(), same_server)) {
      throw std::runtime_error(std::string(setting) + ": '" + endpoint.name +
                               "' is among the servers, too; what fails with them is no mirror");
    }
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

/// What no request may smuggle into a command: everything but printable ASCII, and long keys.
bool isKey(std::string_view key) noexcept {
  const auto is_printable = [](char c) { return c > 0x20 && c < 0x7f; };
  return !key.empty() && key.size() <= 250 && std::all_of(key.begin(), key.end(), is_printable);
}

/// What this process has counted of these servers together.
Stats countedOf(std::span<const Server* const> servers) {
  struct Column {
    const char* name;
    std::atomic<std::uint64_t> Counts::*counter;
  };
  static constexpr Column kColumns[] = {
      {"requests", &Counts::requests},
      {"hits", &Counts::hits},
      {"misses", &Counts::misses},
      {"stored", &Counts::stored},
      {"erased", &Counts::erased},
      {"bytes_read", &Counts::bytes_read},
      {"bytes_written", &Counts::bytes_written},
      {"errors_timeout", &Counts::timeouts},
      {"errors_unreachable", &Counts::unreachable},
      {"errors_protocol", &Counts::protocol},
      {"errors_breaker", &Counts::breaker},
      {"errors_other", &Counts::other_errors},
  };
  Stats stats;
  for (const auto& [name, counter] : kColumns) {
    std::uint64_t sum = 0;
    for (const Server* server : servers) sum += (server->counts().*counter).load();
    stats.emplace_back(name, sum);
  }
  Latency latency;
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  for (const Server* server : servers) {
    server->latency().addTo(latency);
    connections += server->connections();
    open += server->breakerOpen() ? 1 : 0;
  }
  stats.emplace_back("connections", connections);
  stats.emplace_back("breakers_open", open);
  stats.emplace_back("latency_us_p50", latency.percentile(50));
  stats.emplace_back("latency_us_p90", latency.percentile(90));
  stats.emplace_back("latency_us_p99", latency.percentile(99));
  return stats;
}

/// Whether a server has said nothing, as opposed to: no.
bool isOutage(Reason reason) noexcept {
  return reason == Reason::timeout || reason == Reason::unreachable || reason == Reason::breaker ||
         reason == Reason::protocol;
}

}  // namespace

MemcachedManager::MemcachedManager(Host& host, const Settings& settings)
    : host_(host),
      options_(readOptions(settings)),
      pool_(host, readServers(settings, "servers", {}), options_) {
  if (!settings.texts("mirrors").empty())
    mirrors_.emplace(host, readServers(settings, "mirrors", pool_.servers()), options_);
}

MemcachedManager::~MemcachedManager() = default;

Millis MemcachedManager::timeFor(Deadline deadline) const noexcept {
  if (deadline == kForever) return options_.timeout;
  return std::clamp<Millis>(deadline - host_.clock().monotonic(), 0, options_.timeout);
}

ByteLookup MemcachedManager::get(std::string_view key, Deadline deadline) noexcept {
  if (!isKey(key)) return {Status::error, {}, Reason::unsupported};
  const Millis time = timeFor(deadline);
  if (time == 0) return {Status::error, {}, Reason::timeout};
  const Budget budget(time);
  ByteLookup answer = pool_.get(key, budget);
  if (answer.status == Status::error && mirrors_ && !budget.over())
    answer = mirrors_->get(key, Budget(budget.pollTimeout()));
  return answer;
}

void MemcachedManager::getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
                               Deadline deadline) noexcept {
  const Millis time = timeFor(deadline);
  const Budget budget(time);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = {};
    if (time == 0) out[i] = {Status::error, {}, Reason::timeout};
    if (!isKey(keys[i])) out[i] = {Status::error, {}, Reason::unsupported};
  }
  pool_.getMany(keys, out, budget);
  if (!mirrors_ || budget.over()) return;
  std::vector<std::size_t> places;
  std::vector<std::string_view> unanswered;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (out[i].status != Status::error || out[i].reason == Reason::unsupported) continue;
    places.push_back(i);
    unanswered.push_back(keys[i]);
  }
  if (unanswered.empty()) return;
  std::vector<ByteLookup> answers(unanswered.size());
  mirrors_->getMany(unanswered, answers, Budget(budget.pollTimeout()));
  for (std::size_t i = 0; i < places.size(); ++i) out[places[i]] = std::move(answers[i]);
}

template <class Work>
Stored MemcachedManager::change(std::string_view key, Deadline deadline, bool everywhere,
                                Work&& work) noexcept {
  if (!isKey(key)) return {false, Reason::unsupported};
  const Millis time = timeFor(deadline);
  if (time == 0) return {false, Reason::timeout};
  const Budget budget(time);
  const Stored first = work(pool_, budget);
  if (!mirrors_ || budget.over()) return first;
  const bool said = first.ok || !isOutage(first.reason);
  if (said && !everywhere) return first;
  const Stored second = work(*mirrors_, Budget(budget.pollTimeout()));
  return said ? first : second;
}

Stored MemcachedManager::write(Verb verb, std::string_view key, std::string_view value, Millis ttl,
                               Deadline deadline) noexcept {
  if (ttl <= 0) return {false, Reason::unsupported};
  const std::int64_t expiry = expiryFor(ttl, host_.clock().wall());
  return change(key, deadline, verb == Verb::set, [&](Pool& pool, const Budget& budget) {
    return pool.store(verb, key, value, expiry, budget);
  });
}

Stored MemcachedManager::put(std::string_view key, std::string_view value, Millis ttl,
                             Deadline deadline) noexcept {
  return write(Verb::set, key, value, ttl, deadline);
}

Stored MemcachedManager::add(std::string_view key, std::string_view value, Millis ttl,
                             Deadline deadline) noexcept {
  return write(Verb::add, key, value, ttl, deadline);
}

Stored MemcachedManager::release(std::string_view key, std::string_view expected,
                                 Deadline deadline) noexcept {
  return change(key, deadline, false, [&](Pool& pool, const Budget& budget) {
    return pool.release(key, expected, budget);
  });
}

Stored MemcachedManager::erase(std::string_view key, Deadline deadline) noexcept {
  return change(key, deadline, true,
                [&](Pool& pool, const Budget& budget) { return pool.erase(key, budget); });
}

Stored MemcachedManager::clear(Deadline deadline) noexcept {
  (void)deadline;
  return {false, Reason::unsupported};
}

void MemcachedManager::distrust(std::string_view key) noexcept {
  if (!isKey(key)) return;
  pool_.distrust(key);
  if (mirrors_) mirrors_->distrust(key);
}

std::size_t MemcachedManager::maxValueBytes() const noexcept {
  return mirrors_ ? std::min(pool_.maxValue(), mirrors_->maxValue()) : pool_.maxValue();
}

std::vector<Server*> MemcachedManager::all() const {
  std::vector<Server*> all;
  for (const auto& server : pool_.servers()) all.push_back(server.get());
  if (mirrors_) {
    for (const auto& server : mirrors_->servers()) all.push_back(server.get());
  }
  return all;
}

Stats MemcachedManager::stats() const noexcept {
  std::vector<const Server*> servers;
  for (const Server* server : all()) servers.push_back(server);
  return countedOf(servers);
}

Health MemcachedManager::health() const noexcept {
  Health health;
  for (const Server* server : all()) {
    const std::string trouble = server->trouble();
    if (trouble.empty()) continue;
    health.ok = false;
    if (!health.detail.empty()) health.detail += "; ";
    health.detail += trouble;
  }
  return health;
}

std::vector<ServerReport> MemcachedManager::servers(Deadline deadline) noexcept {
  std::vector<ServerReport> reports;
  for (Server* server : all()) {
    ServerReport report;
    report.name = server->name();
    const Millis time = timeFor(deadline);
    if (time > 0) report.own = serverStats(*server, Budget(time));
    report.health = {!server->breakerOpen(), server->trouble()};
    const Server* one = server;
    report.counted = countedOf({&one, 1});
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace larder::memcached
