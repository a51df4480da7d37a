#include "memcached_manager.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "commands.h"
#include "multi_get.h"

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

ServerOptions readOptions(const Settings& settings) {
  if (settings.boolean("binary")) {
    throw std::runtime_error(
        "binary: not offered. memcached's authors have deprecated that protocol, and a multi-get "
        "over it takes up to 2.5 times as long; leave the setting out");
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
  return options;
}

std::vector<Endpoint> readServers(const Settings& settings) {
  const auto addresses = parseServers(settings.texts("servers"));
  if (!addresses) throw std::runtime_error(addresses.error().message);
  std::vector<Endpoint> endpoints;
  for (const ServerAddress& address : *addresses) {
    auto endpoint = resolve(address);
    if (!endpoint) throw std::runtime_error(endpoint.error().message);
    const auto same = [&](const Endpoint& other) { return other.name == endpoint->name; };
    if (std::any_of(endpoints.begin(), endpoints.end(), same)) {
      throw std::runtime_error("servers: two of them are '" + endpoint->name + "'");
    }
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

/// What no request may smuggle into a command: everything but printable ASCII, and long keys.
bool isKey(std::string_view key) noexcept {
  const auto is_printable = [](char c) { return c > 0x20 && c < 0x7f; };
  return !key.empty() && key.size() <= 250 && std::all_of(key.begin(), key.end(), is_printable);
}

}  // namespace

MemcachedManager::MemcachedManager(Host& host, const Settings& settings)
    : host_(host),
      options_(readOptions(settings)),
      endpoints_(readServers(settings)),
      ring_(endpoints_) {
  for (const Endpoint& endpoint : endpoints_) {
    servers_.push_back(std::make_shared<Server>(host, endpoint, options_));
  }
}

MemcachedManager::~MemcachedManager() {
  for (const auto& server : servers_) server->stop();
}

Millis MemcachedManager::timeFor(Deadline deadline) const noexcept {
  if (deadline == kForever) return options_.timeout;
  return std::clamp<Millis>(deadline - host_.clock().monotonic(), 0, options_.timeout);
}

ByteLookup MemcachedManager::get(std::string_view key, Deadline deadline) noexcept {
  if (!isKey(key)) return {Status::error, {}, Reason::unsupported};
  const Millis time = timeFor(deadline);
  if (time == 0) return {Status::error, {}, Reason::timeout};
  ByteLookup answer;
  Ask ask{&serverOf(key), {&key, 1}, {&answer, 1}};
  multiGet({&ask, 1}, Budget(time));
  return answer;
}

void MemcachedManager::getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
                               Deadline deadline) noexcept {
  const Millis time = timeFor(deadline);
  const Budget budget(time);
  // The keys by server, in their order; those of one server lie together.
  std::vector<std::vector<std::size_t>> places(servers_.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    out[i] = {};
    if (time == 0) out[i] = {Status::error, {}, Reason::timeout};
    if (!isKey(keys[i])) out[i] = {Status::error, {}, Reason::unsupported};
    if (out[i].status != Status::error) places[ring_.serverOf(keys[i])].push_back(i);
  }
  std::vector<std::string_view> sorted;
  sorted.reserve(keys.size());
  for (const auto& of_server : places) {
    for (const auto place : of_server) sorted.push_back(keys[place]);
  }
  std::vector<ByteLookup> answers(sorted.size());

  std::vector<std::size_t> begin(servers_.size());
  for (std::size_t s = 1; s < servers_.size(); ++s) begin[s] = begin[s - 1] + places[s - 1].size();
  // Usually one round: each server is asked for all its keys at once.
  for (std::size_t round = 0;; round += Ask::kMaxKeys) {
    std::vector<Ask> asks;
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      if (places[s].size() <= round) continue;
      const std::size_t count = std::min(places[s].size() - round, Ask::kMaxKeys);
      asks.push_back({servers_[s].get(), std::span(sorted).subspan(begin[s] + round, count),
                      std::span(answers).subspan(begin[s] + round, count)});
    }
    if (asks.empty()) break;
    multiGet(asks, budget);
  }
  std::size_t next = 0;
  for (const auto& of_server : places) {
    for (const auto place : of_server) out[place] = std::move(answers[next++]);
  }
}

Stored MemcachedManager::write(bool add, std::string_view key, std::string_view value, Millis ttl,
                               Deadline deadline) noexcept {
  const Millis time = timeFor(deadline);
  if (!isKey(key) || ttl <= 0) return {false, Reason::unsupported};
  if (time == 0) return {false, Reason::timeout};
  const Budget budget(time);
  Server& server = serverOf(key);
  if (value.size() > server.maxValue()) {
    // Sent all the same, it would be refused after it had travelled, and so would be the next one.
    if (!add) memcached::erase(server, key, budget);
    // That may have made a new connection, and the server may take more than before.
    if (value.size() > server.maxValue()) {
      server.refused(Reason::too_large);
      return {false, Reason::too_large};
    }
  }
  return store(server, add ? Verb::add : Verb::set, key, value,
               expiryFor(ttl, host_.clock().wall()), budget);
}

Stored MemcachedManager::put(std::string_view key, std::string_view value, Millis ttl,
                             Deadline deadline) noexcept {
  return write(false, key, value, ttl, deadline);
}

Stored MemcachedManager::add(std::string_view key, std::string_view value, Millis ttl,
                             Deadline deadline) noexcept {
  return write(true, key, value, ttl, deadline);
}

Stored MemcachedManager::release(std::string_view key, std::string_view expected,
                                 Deadline deadline) noexcept {
  const Millis time = timeFor(deadline);
  if (!isKey(key)) return {false, Reason::unsupported};
  if (time == 0) return {false, Reason::timeout};
  return memcached::release(serverOf(key), key, expected, Budget(time));
}

Stored MemcachedManager::erase(std::string_view key, Deadline deadline) noexcept {
  const Millis time = timeFor(deadline);
  if (!isKey(key)) return {false, Reason::unsupported};
  if (time == 0) return {false, Reason::timeout};
  return memcached::erase(serverOf(key), key, Budget(time));
}

Stored MemcachedManager::clear(Deadline deadline) noexcept {
  (void)deadline;
  return {false, Reason::unsupported};
}

void MemcachedManager::distrust(std::string_view key) noexcept {
  if (isKey(key)) serverOf(key).forgetIdle();
}

std::size_t MemcachedManager::maxValueBytes() const noexcept {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& server : servers_) least = std::min(least, server->maxValue());
  return least;
}

Stats MemcachedManager::stats() const noexcept {
  Stats stats;
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
  const auto addLatency = [&stats](const std::string& prefix, const Latency& latency) {
    stats.emplace_back(prefix + "latency_us_p50", latency.percentile(50));
    stats.emplace_back(prefix + "latency_us_p90", latency.percentile(90));
    stats.emplace_back(prefix + "latency_us_p99", latency.percentile(99));
  };

  Latency all;
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  for (const auto& server : servers_) {
    server->latency().addTo(all);
    connections += server->connections();
    open += server->breakerOpen() ? 1 : 0;
  }
  for (const auto& [name, counter] : kColumns) {
    std::uint64_t sum = 0;
    for (const auto& server : servers_) sum += (server->counts().*counter).load();
    stats.emplace_back(name, sum);
  }
  stats.emplace_back("connections", connections);
  stats.emplace_back("breakers_open", open);
  addLatency("", all);
  for (const auto& server : servers_) {
    const std::string prefix = server->name() + " ";
    for (const auto& [name, counter] : kColumns) {
      stats.emplace_back(prefix + name, (server->counts().*counter).load());
    }
    stats.emplace_back(prefix + "connections", server->connections());
    stats.emplace_back(prefix + "breakers_open", server->breakerOpen() ? 1 : 0);
    addLatency(prefix, server->latency());
  }
  return stats;
}

Health MemcachedManager::health() const noexcept {
  Health health;
  for (const auto& server : servers_) {
    const std::string trouble = server->trouble();
    if (trouble.empty()) continue;
    health.ok = false;
    if (!health.detail.empty()) health.detail += "; ";
    health.detail += trouble;
  }
  return health;
}

std::vector<MemcachedManager::ServerStats> MemcachedManager::serverStats(
    Deadline deadline) noexcept {
  std::vector<ServerStats> all;
  for (const auto& server : servers_) {
    const Millis time = timeFor(deadline);
    all.push_back({server->name(), {}});
    if (time > 0) all.back().stats = memcached::serverStats(*server, Budget(time));
  }
  return all;
}

}  // namespace larder::memcached
