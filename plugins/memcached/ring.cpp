#include "ring.h"

#include <libmemcached/memcached.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <tuple>

namespace larder::memcached {

namespace {

/// The version that the process runs with may be older than the one that it was built with.
void requireVersion() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned micro = 0;
  const char* version = memcached_lib_version();
  if (std::sscanf(version, "%u.%u.%u", &major, &minor, &micro) != 3 ||
      std::tie(major, minor, micro) < std::tuple(1u, 1u, 4u)) {
    throw std::runtime_error(
        std::string("libmemcached 1.1.4 or later is needed, this process has ") + version +
        "; install a later libmemcached11");
  }
}

}  // namespace

void Ring::Free::operator()(memcached_st* handle) const noexcept {
  memcached_free(handle);
}

Ring::Ring(std::span<const Endpoint> servers)
    : servers_(servers.size()), handle_(memcached_create(nullptr)) {
  requireVersion();
  memcached_behavior_set(handle_.get(), MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  for (const Endpoint& server : servers) {
    const auto added = server.isUnix()
                           ? memcached_server_add_unix_socket_with_weight(
                                 handle_.get(), server.host.c_str(), server.weight)
                           : memcached_server_add_with_weight(handle_.get(), server.host.c_str(),
                                                              server.port, server.weight);
    if (memcached_failed(added)) {
      throw std::runtime_error("server '" + server.name + "': libmemcached refuses it: " +
                               memcached_strerror(handle_.get(), added));
    }
  }
}

std::size_t Ring::serverOf(std::string_view key) const noexcept {
  if (servers_ == 1) return 0;
  // Reads the finished ring only: without ejection it never changes.
  return memcached_generate_hash(handle_.get(), key.data(), key.size());
}

}  // namespace larder::memcached
