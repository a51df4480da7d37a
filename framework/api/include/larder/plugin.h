// What a plugin's source includes; LARDER_PLUGIN exports its descriptor.
//
//   class MyCache final : public larder::Cache { ... MyCache(larder::Host&, const
//   larder::Settings&); }; constexpr larder::SettingSpec kSettings[] = {
//       {"max_size", larder::SettingType::size, "64M", "Bytes that entries may take."}};
//   LARDER_PLUGIN(MyCache, larder::Cache, "MyCache", "1.0", LARDER_OBJECT_CACHE, LARDER_ENUMERABLE,
//   kSettings)
#pragma once

#include <iterator>

#include "larder/abi.h"
#include "larder/cache.h"
#include "larder/host.h"
#include "larder/settings.h"

#define LARDER_PLUGIN(Class, Interface, type_name, version_text, kind_value, capability_bits, \
                      specs)                                                                  \
  extern "C" __attribute__((visibility("default"))) const larder_descriptor*                  \
  larder_plugin_descriptor() {                                                                \
    static const larder_descriptor kDescriptor = {                                            \
        sizeof(larder_descriptor),                                                            \
        LARDER_ABI_MAJOR,                                                                     \
        LARDER_ABI_MINOR,                                                                     \
        LARDER_FINGERPRINT,                                                                   \
        type_name,                                                                            \
        version_text,                                                                         \
        kind_value,                                                                           \
        capability_bits,                                                                      \
        specs,                                                                                \
        std::size(specs),                                                                     \
        [](larder::Host& host, const larder::Settings& settings) -> void* {                   \
          return static_cast<Interface*>(new Class(host, settings));                          \
        },                                                                                    \
        [](void* instance) { delete static_cast<Interface*>(instance); }};                    \
    return &kDescriptor;                                                                      \
  }
