// The binary interface between the server and a plugin or hosted app: one C symbol that returns a
// descriptor, which the host checks before it makes any C++ call.
//
// Rule: `abi_major` equal, `abi_minor` not newer than the host's, fingerprint equal. A refusal says
// what differs.
//
//   1.0  2026-11-30  first
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LARDER_ABI_MAJOR 1
#define LARDER_ABI_MINOR 0
/// Compiler family and major version, C++ library ABI, pointer size: what must agree for C++ types
/// to cross.
#define LARDER_STRINGIZE_(x) #x
#define LARDER_STRINGIZE(x) LARDER_STRINGIZE_(x)
#if defined(__clang__)
#define LARDER_COMPILER "clang-" LARDER_STRINGIZE(__clang_major__)
#else
#define LARDER_COMPILER "gcc-" LARDER_STRINGIZE(__GNUC__)
#endif
#define LARDER_FINGERPRINT                                                            \
  LARDER_COMPILER ";c++" LARDER_STRINGIZE(__cplusplus) ";cxx11abi=" LARDER_STRINGIZE( \
      _GLIBCXX_USE_CXX11_ABI) ";ptr=" LARDER_STRINGIZE(__SIZEOF_POINTER__)

#define LARDER_PLUGIN_SYMBOL "larder_plugin_descriptor"

namespace larder {
class Host;
class Settings;
struct SettingSpec;
}  // namespace larder

extern "C" {

enum larder_plugin_kind {
  LARDER_OBJECT_CACHE = 1,     /* create() returns larder::Cache* */
  LARDER_BYTE_CACHE = 2,       /* create() returns larder::ByteCache* */
  LARDER_RESPONSE_MANAGER = 3, /* create() returns larder::ResponseManager* */
  LARDER_APP = 4               /* create() returns larder::App* */
};

/* A manager made of others (Host::manager) says only what it does beyond them: that they may wait,
   are shared and give leases is known. Without LARDER_BLOCKS it is asked for what can be had at
   once on any thread. */
enum larder_capability {
  LARDER_BLOCKS = 1u << 0,     /* a look-up may wait: asked on workers only */
  LARDER_SHARED = 1u << 1,     /* other processes see what it holds */
  LARDER_ENUMERABLE = 1u << 2, /* sweep() works */
  LARDER_LEASES = 1u << 3      /* add() and release() work */
};

typedef struct larder_descriptor {
  uint32_t struct_size; /* sizeof(larder_descriptor) of the plugin */
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* fingerprint; /* LARDER_FINGERPRINT */
  const char* type;        /* the name in the configuration: "RAMCache" */
  const char* version;     /* of the plugin */
  uint32_t kind;           /* larder_plugin_kind */
  uint32_t capabilities;   /* larder_capability, or-ed */
  const larder::SettingSpec* settings;
  size_t settings_count;
  /* May throw std::exception, whose text becomes the reason of the refusal. */
  void* (*create)(larder::Host& host, const larder::Settings& settings);
  void (*destroy)(void* instance);
} larder_descriptor;

typedef const larder_descriptor* (*larder_descriptor_function)(void);
}
