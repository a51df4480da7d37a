#include "pool.h"

#include <algorithm>
#include <limits>

#include "multi_get.h"

namespace larder::memcached {

Pool::Pool(Host& host, const std::vector<Endpoint>& servers, const ServerOptions& options)
    : ring_(servers) {
  for (const Endpoint& endpoint : servers) {
    servers_.push_back(std::make_shared<Server>(host, endpoint, options));
    servers_.back()->start();
  }
}

Pool::~Pool() {
  for (const auto& server : servers_) server->stop();
}

ByteLookup Pool::get(std::string_view key, const Budget& budget) noexcept {
  ByteLookup answer;
  Ask ask{&serverOf(key), {&key, 1}, {&answer, 1}};
  multiGet({&ask, 1}, budget);
  return answer;
}

void Pool::getMany(std::span<const std::string_view> keys, std::span<ByteLookup> answers,
                   const Budget& budget) noexcept {
  // The keys by server, in their order; those of one server lie together.
  std::vector<std::vector<std::size_t>> places(servers_.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (answers[i].status == Status::miss) places[ring_.serverOf(keys[i])].push_back(i);
  }
  std::vector<std::string_view> sorted;
  sorted.reserve(keys.size());
  std::vector<std::size_t> begin;
  for (const auto& of_server : places) {
    begin.push_back(sorted.size());
    for (const auto place : of_server) sorted.push_back(keys[place]);
  }
  std::vector<ByteLookup> found(sorted.size());

  // Usually one round: each server is asked for all its keys at once.
  for (std::size_t round = 0;; round += Ask::kMaxKeys) {
    std::vector<Ask> asks;
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      if (places[s].size() <= round) continue;
      const std::size_t count = std::min(places[s].size() - round, Ask::kMaxKeys);
      asks.push_back({servers_[s].get(), std::span(sorted).subspan(begin[s] + round, count),
                      std::span(found).subspan(begin[s] + round, count)});
    }
    if (asks.empty()) break;
    multiGet(asks, budget);
  }
  std::size_t next = 0;
  for (const auto& of_server : places) {
    for (const auto place : of_server) answers[place] = std::move(found[next++]);
  }
}

Stored Pool::store(Verb verb, std::string_view key, std::string_view value, std::int64_t expiry,
                   const Budget& budget) noexcept {
  Server& server = serverOf(key);
  if (value.size() > server.maxValue()) {
    // Sent all the same, it would be refused after it had travelled, and so would be the next one.
    if (verb == Verb::set) memcached::erase(server, key, budget);
    // That may have made a new connection, and the server may take more than before.
    if (value.size() > server.maxValue()) {
      server.refused(Reason::too_large);
      return {false, Reason::too_large};
    }
  }
  return memcached::store(server, verb, key, value, expiry, budget);
}

Stored Pool::erase(std::string_view key, const Budget& budget) noexcept {
  return memcached::erase(serverOf(key), key, budget);
}

Stored Pool::release(std::string_view key, std::string_view expected,
                     const Budget& budget) noexcept {
  return memcached::release(serverOf(key), key, expected, budget);
}

std::size_t Pool::maxValue() const noexcept {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const auto& server : servers_) least = std::min(least, server->maxValue());
  return least;
}

}  // namespace larder::memcached
