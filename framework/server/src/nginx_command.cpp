// larder nginx-conf: what the nginx in front of the site is configured with.
#include <iostream>

#include "command_support.h"
#include "larder/server/commands.h"
#include "nginx_site.h"

namespace larder::server {

int nginxConfCommand(const CommandLine& line) {
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  if (config->http.port == 0)
    return cannotStart(config->file + ": nginx needs to know a port; http.port is 0, any free one");
  std::cout << nginxServerBlock(*config) << std::flush;
  return 0;
}

}  // namespace larder::server
