// MemcachedManager: entries on one or more memcached servers, shared by all processes.
//
// - Every operation ends within `timeout`, whatever servers do, and within the caller's deadline.
// - hit, miss and error are exact: a miss is the word of a server that is well.
// - A server that fails is left alone by all threads until a probe finds it well (breaker.h).
// - Values stay where the ring puts them; a dead server's keys go to no other one, unless there are
//   mirrors: a second pool, which receives every store and is asked when the first one cannot say.
//   What it holds may be older; that is the ledger's to judge.
// - clear() is Reason::unsupported: validity is the ledger's, and flush_all would take other
//   people's values along. Nothing here ever sends it.
//
// The conversation with the servers is our own code: libmemcached 1.1.4 bounds each wait but not an
// operation, ends the process when a "set" is answered with "END", reads a null pointer at a bare
// "VERSION", writes beyond its buffer at a long key in a VALUE line, and tells SERVER_ERROR as "not
// found". From it comes the ring.
//
// Thread-safe. Not to be used on both sides of a fork().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/cache.h"
#include "larder/host.h"
#include "larder/servers.h"
#include "larder/settings.h"
#include "pool.h"

namespace larder::memcached {

class MemcachedManager final : public ByteCache, public ServerList {
 public:
  /// Throws std::runtime_error with the setting's name in its text. No server needs to be there, or
  /// to have an address: names are resolved again by probes.
  MemcachedManager(Host& host, const Settings& settings);
  ~MemcachedManager() override;

  ByteLookup get(std::string_view key, Deadline deadline) noexcept override;
  void getMany(std::span<const std::string_view> keys, std::span<ByteLookup> out,
               Deadline deadline) noexcept override;
  Stored put(std::string_view key, std::string_view value, Millis ttl,
             Deadline deadline) noexcept override;
  Stored add(std::string_view key, std::string_view value, Millis ttl,
             Deadline deadline) noexcept override;
  Stored release(std::string_view key, std::string_view expected,
                 Deadline deadline) noexcept override;
  Stored erase(std::string_view key, Deadline deadline) noexcept override;
  Stored clear(Deadline deadline) noexcept override;
  /// Nobody knows any more over which connection it came: closes all idle ones of that server.
  void distrust(std::string_view key) noexcept override;
  /// Of the server that takes the least.
  [[nodiscard]] std::size_t maxValueBytes() const noexcept override;
  [[nodiscard]] Stats stats() const noexcept override;
  [[nodiscard]] Health health() const noexcept override;

  std::vector<ServerReport> servers(Deadline deadline) noexcept override;

 private:
  /// What is left of the timeout by the deadline, ms; 0 when that has passed.
  [[nodiscard]] Millis timeFor(Deadline deadline) const noexcept;
  /// Does `work` on the pool and, if that could not be done there, on the mirrors in what is left
  /// of the time; `everywhere`, on both in any case.
  template <class Work>
  Stored change(std::string_view key, Deadline deadline, bool everywhere, Work&& work) noexcept;
  Stored write(Verb verb, std::string_view key, std::string_view value, Millis ttl,
               Deadline deadline) noexcept;
  /// Of both pools.
  [[nodiscard]] std::vector<Server*> all() const;

  Host& host_;
  const ServerOptions options_;
  Pool pool_;
  std::optional<Pool> mirrors_;
};

}  // namespace larder::memcached
