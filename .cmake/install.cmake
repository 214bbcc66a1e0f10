# SPDX-License-Identifier: Apache-2.0
# The installed package: after `cmake --install`, find_package(iwarp) gives the layers as
# iwarp::bytes, iwarp::mpa, iwarp::verbs and so on. Each layer installs itself in iwarp_layer().
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/iwarp)
install(EXPORT iwarpTargets NAMESPACE iwarp:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/iwarpConfig.cmake.in
  ${PROJECT_BINARY_DIR}/iwarpConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 every minor version may change the interfaces.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/iwarpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/iwarpConfig.cmake ${PROJECT_BINARY_DIR}/iwarpConfigVersion.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
