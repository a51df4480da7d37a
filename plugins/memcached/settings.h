// The settings of a manager of type MemcachedManager, beside those of the envelope.
#pragma once

#include "larder/settings.h"

namespace larder::memcached {

inline constexpr SettingSpec kSettings[] = {
    {"servers", SettingType::texts, "[\"127.0.0.1:11211\"]",
     "\"host:port\", \"[IPv6]:port\" or \"/socket\", each with \"?weight\" if it is not 1."},
    {"mirrors", SettingType::texts, "[]",
     "More servers, written alike: they receive every store and are asked when the others fail."},
    {"username", SettingType::text, "", "Of servers that were started with -Y."},
    {"password", SettingType::text, "", "Of that user."},
    {"timeout", SettingType::duration, "50ms", "The longest that a request waits for the servers."},
    {"connect_timeout", SettingType::duration, "50ms",
     "The longest that making a connection may take of it."},
    {"breaker_after", SettingType::integer, "2",
     "Failures in a row, in the whole process, after which a server is not asked."},
    {"first_probe", SettingType::duration, "500ms",
     "When a server that is not asked is probed first; later probes come at doubled intervals."},
    {"max_probe", SettingType::duration, "5s", "The longest interval between probes."},
    {"max_item_size", SettingType::size, "1G",
     "Larger values are not stored even if the servers would take them."},
    {"max_connections", SettingType::integer, "64", "Connections to each server."},
    {"idle_timeout", SettingType::duration, "60s", "Unused connections are closed after it."},
    {"binary", SettingType::boolean, "false", "Must be false: the text protocol is spoken."},
};

}  // namespace larder::memcached
