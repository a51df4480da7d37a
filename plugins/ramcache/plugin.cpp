#include "ram_cache.h"
#include "ram_settings.h"

LARDER_PLUGIN(larder::RAMCache, larder::Cache, "RAMCache", "1.0", LARDER_OBJECT_CACHE,
              LARDER_ENUMERABLE, larder::ram::kSettings)
