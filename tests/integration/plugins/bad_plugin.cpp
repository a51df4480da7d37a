// One source, many modules: CMakeLists.txt says by definitions what is wrong with each.
#include <new>
#include <stdexcept>

#include "larder/plugin.h"

#ifndef BAD_MAJOR
#define BAD_MAJOR LARDER_ABI_MAJOR
#endif
#ifndef BAD_MINOR
#define BAD_MINOR LARDER_ABI_MINOR
#endif
#ifndef BAD_FINGERPRINT
#define BAD_FINGERPRINT LARDER_FINGERPRINT
#endif
#ifndef BAD_ENTRY
#define BAD_ENTRY larder_plugin_descriptor
#endif
#ifndef BAD_CREATE
#define BAD_CREATE return nullptr
#endif

#ifdef BAD_UNDEFINED
extern "C" void larder_function_that_nobody_defines();
[[gnu::used]] static void callNobody() {
  larder_function_that_nobody_defines();
}
#endif

extern "C" __attribute__((visibility("default"))) const larder_descriptor* BAD_ENTRY() {
  static const larder_descriptor kDescriptor = {
      sizeof(larder_descriptor),
      BAD_MAJOR,
      BAD_MINOR,
      BAD_FINGERPRINT,
      "Bad",
      "1.0",
      LARDER_OBJECT_CACHE,
      0,
      nullptr,
      0,
      [](larder::Host&, const larder::Settings&) -> void* { BAD_CREATE; },
      [](void*) {}};
  return &kDescriptor;
}
