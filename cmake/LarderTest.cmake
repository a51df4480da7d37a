# Tests: GoogleTest binaries whose cases ctest discovers when it runs.
find_package(GTest 1.12 REQUIRED)
include(GoogleTest)

# larder_add_test(target LABEL label SOURCES files... [LINK targets...] [TIMEOUT seconds])
#
# Cases whose name says that they prove a numbered rule (Semantics.., Ledger.., Fault..) get the label
# `semantics` too: `ctest -L semantics` runs just these.
function(larder_add_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LINK")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} larder_test_support GTest::gtest_main)
  larder_configure_test_binary(${target})
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    TEST_PREFIX ${target}.
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})

  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  file(CONFIGURE OUTPUT "${labels_file}" @ONLY CONTENT [=[
foreach(test IN LISTS @target@_TESTS)
  if(test MATCHES "Semantics|Ledger|Fault")
    set_tests_properties("${test}" PROPERTIES LABELS "@arg_LABEL@;semantics")
  endif()
endforeach()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# larder_configure_test_binary(target): what test, fuzz and benchmark binaries share. They use one precompiled
# header, which has to see the same macros everywhere: so all of them link what defines some.
function(larder_configure_test_binary target)
  target_link_libraries(${target} PRIVATE larder_warnings larder_test_support)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(${target} REUSE_FROM larder_test_support)
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
