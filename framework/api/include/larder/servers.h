// ServerList: what a plugin whose store consists of servers implements beside Cache or ByteCache,
// so that an operator sees each of them. A capability of its own: a plugin without it stays as it
// is.
//
//   class MyStore final : public ByteCache, public ServerList { ... };
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "larder/cache.h"

namespace larder {

/// One server, as this process sees it and as it describes itself.
struct ServerReport {
  std::string name;  ///< "127.0.0.1:11211"
  Health health;
  Stats counted;  ///< by this process; names that end in _p50, _p90, _p99 are percentiles
  /// What it says of itself, as it says it; empty when it cannot be asked.
  std::vector<std::pair<std::string, std::string>> own;
};

class ServerList {
 public:
  /// Asks the servers, within the deadline. Thread-safe.
  virtual std::vector<ServerReport> servers(Deadline deadline) noexcept = 0;

 protected:
  ~ServerList() = default;
};

}  // namespace larder
