// The settings of RAMCache. Zope's RAMCacheManager calls two of them by the names given as aliases;
// its other two, request_vars and max_age, are settings of every cache manager.
#pragma once

#include "larder/settings.h"

namespace larder::ram {

inline constexpr SettingSpec kSettings[] = {
    {"max_size", SettingType::size, "256M",
     "Bytes of memory that entries and index may take together."},
    {"max_entries", SettingType::integer, "0", "Entries at most; 0 sets no limit.", "threshold"},
    {"max_entry_size", SettingType::size, "0B",
     "An entry that takes more bytes is not stored; 0 stands for 1/16 of max_size."},
    {"max_share", SettingType::integer, "100",
     "Percent of the cache beyond which one view's entries are the first to go."},
    {"min_share", SettingType::integer, "0",
     "Percent of the cache below which one view's entries are the last to go."},
    {"cleanup_interval", SettingType::duration, "60s",
     "How often expired entries are looked for and freed; 0s leaves them until they are evicted."},
    {"policy", SettingType::text, "s3fifo",
     "What decides which entry goes when there is no room: s3fifo or sieve."},
    {"snapshot", SettingType::text, "off",
     "file keeps the most used entries in the data folder, for the next start; or off."},
    {"snapshot_size", SettingType::size, "64M", "Bytes of entries that the file may hold."},
    {"snapshot_interval", SettingType::duration, "10m",
     "How often the file is written, beside the orderly end."},
    {"shards", SettingType::integer, "0",
     "Parts that are locked apart by writers, a power of two up to 256; 0 chooses by max_size."},
};

}  // namespace larder::ram
