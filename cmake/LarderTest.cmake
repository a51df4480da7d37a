# Tests: GoogleTest binaries whose cases ctest discovers when it runs.
find_package(GTest 1.12 REQUIRED)
include(GoogleTest)

# Names of the cases that prove a numbered rule of the design; `ctest -L semantics` runs these.
set(LARDER_RULE_CASES "*Semantics*:*Ledger*:*Fault*")

# larder_add_test(target LABEL label SOURCES files... [LINK targets...] [TIMEOUT seconds])
function(larder_add_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LINK")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  larder_configure_test_binary(${target})
  target_precompile_headers(${target} PRIVATE <gtest/gtest.h>)
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_FILTER "-${LARDER_RULE_CASES}" PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_FILTER "${LARDER_RULE_CASES}" PROPERTIES LABELS "${arg_LABEL}\\;semantics" TIMEOUT ${arg_TIMEOUT})
endfunction()

# Paths that tests need to find the real parts, and the folder where test binaries go.
function(larder_configure_test_binary target)
  larder_configure_target(${target})
  target_compile_definitions(${target} PRIVATE
    LARDER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LARDER_BINARY_DIR="${PROJECT_BINARY_DIR}"
    LARDER_SERVER_BINARY="${LARDER_BIN_DIR}/larder"
    LARDER_PLUGIN_DIR="${LARDER_PLUGIN_DIR}"
    LARDER_APP_DIR="${LARDER_APP_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${LARDER_TEST_BIN_DIR}")
endfunction()

# larder_need_parts(target): the server, plugins and apps that a test starts or loads are built before it.
function(larder_need_parts target)
  foreach(part IN ITEMS larder larder-conformance ramcache memcached tiered httpcache handbook comments)
    if(TARGET ${part})
      add_dependencies(${target} ${part})
    endif()
  endforeach()
endfunction()
