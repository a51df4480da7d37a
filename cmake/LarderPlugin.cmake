# Plugins and hosted apps; the same functions inside the project and, by find_package(Larder), outside of it.

# larder_add_plugin(name SOURCES files... [LINK targets...])
#
# Builds <name>.so, a cache plugin, and <name>_objects, a static library of the same code for unit tests and
# benchmarks. Only the descriptor's entry is visible from outside; a symbol that nobody defines fails the link.
function(larder_add_plugin name)
  larder_add_module(${name} plugins "${LARDER_PLUGIN_DIR}" ${ARGN})
endfunction()

# larder_add_app(name SOURCES files... [LINK targets...])
#
# The same for <name>.so, the native part of a hosted app.
function(larder_add_app name)
  larder_add_module(${name} apps "${LARDER_APP_DIR}" ${ARGN})
endfunction()

# larder_test_plugin(name [CONFIG file.toml] [TIMEOUT seconds])
#
# Registers a test that runs the conformance kit against the built plugin. CONFIG holds the settings of the
# manager to build; its default is conformance.toml beside the caller.
function(larder_test_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CONFIG;TIMEOUT" "")
  if(NOT arg_CONFIG)
    set(arg_CONFIG "${CMAKE_CURRENT_SOURCE_DIR}/conformance.toml")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME conformance.${name}
    COMMAND larder::conformance --plugin $<TARGET_FILE:${name}> --config ${arg_CONFIG})
  set_tests_properties(conformance.${name} PROPERTIES LABELS conformance TIMEOUT ${arg_TIMEOUT})
endfunction()

function(larder_add_module name kind output_dir)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "SOURCES;LINK")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${name}: list its files after SOURCES")
  endif()
  add_library(${name}_objects STATIC ${arg_SOURCES})
  target_include_directories(${name}_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name}_objects PUBLIC larder::api ${arg_LINK})
  set_target_properties(${name}_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(COMMAND larder_configure_target)
    larder_configure_target(${name}_objects)
  endif()

  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  target_link_libraries(${name} PRIVATE larder::api ${arg_LINK})
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  if(NOT LARDER_SANITIZE)  # a sanitizer's runtime is in the executable
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX)
  if(output_dir)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${output_dir}")
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION lib/larder/${kind})
endfunction()
