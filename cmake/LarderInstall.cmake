# The package Larder: bin/larder, the conformance kit, headers, libraries, plugins, apps, configuration.
include(CMakePackageConfigHelpers)
set(larder_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Larder)
install(EXPORT LarderTargets NAMESPACE larder:: DESTINATION ${larder_package_dir})
configure_package_config_file(cmake/LarderConfig.cmake.in LarderConfig.cmake
  INSTALL_DESTINATION ${larder_package_dir})
write_basic_package_version_file(LarderConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/LarderConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/LarderConfigVersion.cmake"
  cmake/LarderPlugin.cmake cmake/LarderDependencies.cmake
  DESTINATION ${larder_package_dir})
install(DIRECTORY conf sample-app DESTINATION ${CMAKE_INSTALL_DATADIR}/larder
  OPTIONAL PATTERN "*.cpp" EXCLUDE PATTERN "*.h" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
