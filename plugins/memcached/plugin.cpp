#include "larder/plugin.h"

#include "memcached_manager.h"
#include "settings.h"

LARDER_PLUGIN(larder::memcached::MemcachedManager, larder::ByteCache, "MemcachedManager", "1.0",
              LARDER_BYTE_CACHE, LARDER_BLOCKS | LARDER_SHARED | LARDER_LEASES,
              larder::memcached::kSettings)
