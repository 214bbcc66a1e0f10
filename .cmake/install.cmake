# SPDX-License-Identifier: Apache-2.0
# Installs three components: `iwarp` with the command and the drop-in libraries, `debug` with their
# debugging information, and `dev` with the headers and libraries for building programs. find_package(iwarp COMPONENTS net) defines the layers
# as iwarp::bytes, iwarp::mpa, iwarp::net and so on, and all of them together as iwarp::iwarp.
# `pkg-config iwarp` provides all layers.
if(IWARP_BUILD_APPS)
  include(.cmake/documents.cmake)
  include(.cmake/debug.cmake)
endif()
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/.cmake/uninstall.cmake VERBATIM)
endif()
include(.cmake/packages.cmake)
if(IWARP_STATIC_DEPENDENCIES)
  return()  # only the component `iwarp` is installed
endif()

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/iwarp)
get_property(layers GLOBAL PROPERTY IWARP_LAYERS)
if(IWARP_SHARED)
  # Install the single library libiwarp.so. The CMake targets of all layers refer to this library.
  install(TARGETS iwarp_iwarp EXPORT iwarpTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  set(pc_libraries -liwarp)
  set(pc_private "Requires.private: libssl libcrypto fmt")
else()
  set(pc_libraries "")
  foreach(layer IN LISTS layers)
    list(PREPEND pc_libraries -liwarp_${layer})  # a layer must precede the layers that it uses
    install(TARGETS iwarp_${layer} EXPORT iwarpTargets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  endforeach()
  install(TARGETS iwarp_iwarp EXPORT iwarpTargets COMPONENT dev)
  set(pc_private "Requires: libssl libcrypto fmt")
  list(APPEND pc_libraries ${CMAKE_THREAD_LIBS_INIT} ${CMAKE_DL_LIBS})
  list(TRANSFORM pc_libraries REPLACE "^([a-z].*)$" "-l\\1")
endif()
list(JOIN pc_libraries " " pc_libraries)

install(EXPORT iwarpTargets NAMESPACE iwarp:: DESTINATION ${package_dir} COMPONENT dev)
# CMake strips only programs and shared libraries. Also remove the debugging information of archives.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libiwarp_*.a\")
  execute_process(COMMAND ${CMAKE_STRIP} --strip-debug --enable-deterministic-archives \${archives})
endif()" COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/iwarpConfig.cmake.in
  ${PROJECT_BINARY_DIR}/iwarpConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before version 1.0, any minor version may change the interfaces.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/iwarpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/iwarpConfig.cmake ${PROJECT_BINARY_DIR}/iwarpConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/include/iwarp/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/iwarp COMPONENT dev)
# The prefix in iwarp.pc is relative to the folder of iwarp.pc, so the installed tree can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/iwarp.pc.in ${PROJECT_BINARY_DIR}/iwarp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/iwarp.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
