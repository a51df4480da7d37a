#include "larder/plugin.h"

#include "settings.h"
#include "tiered_manager.h"

LARDER_PLUGIN(larder::tiered::TieredManager, larder::Cache, "TieredManager", "1.0",
              LARDER_OBJECT_CACHE, LARDER_ENUMERABLE, larder::tiered::kSettings)
