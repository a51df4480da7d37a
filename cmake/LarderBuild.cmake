# How everything is compiled: standard, output folders, warnings, sanitizers, ccache, precompiled headers.
set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "Where libraries go; the server looks for plugins beside its bin/")
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set_property(GLOBAL PROPERTY USE_FOLDERS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")  # assertions stay on

# The build tree has the shape of the installed tree, so the same relative paths find the plugins in both.
set(LARDER_BIN_DIR "${PROJECT_BINARY_DIR}/bin")
set(LARDER_PLUGIN_DIR "${PROJECT_BINARY_DIR}/lib/larder/plugins")
set(LARDER_APP_DIR "${PROJECT_BINARY_DIR}/lib/larder/apps")
set(LARDER_TEST_BIN_DIR "${PROJECT_BINARY_DIR}/tests/bin")

# ccache needs two liberties for precompiled headers; relative paths let clones and build folders share results.
find_program(LARDER_CCACHE ccache)
if(LARDER_CCACHE AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$"))
  set(CMAKE_CXX_COMPILER_LAUNCHER
    /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1 ${LARDER_CCACHE})
endif()

add_library(larder_warnings INTERFACE)
target_compile_options(larder_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${LARDER_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Wrong alarms of GCC 12 inside its own std::string and, with sanitizers, std::optional.
  target_compile_options(larder_warnings INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread
    $<$<BOOL:${LARDER_SANITIZE}>:-Wno-maybe-uninitialized>)
endif()

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
if(LARDER_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  list(JOIN LARDER_SANITIZE "," larder_sanitizers)
  add_compile_options(-fsanitize=${larder_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${larder_sanitizers})
  if("thread" IN_LIST LARDER_SANITIZE)
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()

if(NOT LARDER_PCH)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
set(LARDER_PCH_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <functional> <map> <memory> <mutex>
  <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# larder_configure_target(target): the settings every target of ours shares.
function(larder_configure_target target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:larder_warnings>)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(${target} PRIVATE ${LARDER_PCH_HEADERS})
endfunction()
