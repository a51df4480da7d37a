// The settings of a manager of type TieredManager.
#pragma once

#include "larder/settings.h"

namespace larder::tiered {

inline constexpr SettingSpec kSettings[] = {
    {"l1", SettingType::text, "fast", "Id of the manager that is asked first."},
    {"l2", SettingType::text, "shared", "Id of the manager that is asked for the rest."},
};

}  // namespace larder::tiered
