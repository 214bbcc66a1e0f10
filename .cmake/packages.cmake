# SPDX-License-Identifier: Apache-2.0
# Says what is in a release besides the files that the folders install, and builds it with the target
# all_packaged. `cpack` in a build of the preset `archive` makes an archive that needs no other
# packages, and one with the debugging information. The Debian packages of the preset `package` come
# from .cmake/debian. .ci/package runs both builds in a chroot.
if(IWARP_STATIC_DEPENDENCIES)
  set(CPACK_PACKAGE_NAME iwarp)
  set(CPACK_PACKAGE_VENDOR "the iwarp authors")
  set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
  set(CPACK_PACKAGE_CHECKSUM SHA256)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_GENERATOR TXZ)
  set(CPACK_COMPONENTS_ALL iwarp debug)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_PACKAGE_FILE_NAME iwarp-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_ARCHIVE_IWARP_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
  set(CPACK_ARCHIVE_DEBUG_FILE_NAME ${CPACK_PACKAGE_FILE_NAME}-debug)
  set(CPACK_THREADS 0)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION .
    COMPONENT iwarp)
  include(CPack)
endif()

# Debian packages whose code is compiled into the programs. Their licences must be part of our package.
# Boost is not in the list, because its licence makes no demands on compiled programs.
set(compiled_in libcli11-dev nlohmann-json3-dev libjs-vega node-react node-react-dom node-scheduler)
foreach(part IN ITEMS array collection color format interpolate scale time time-format)
  list(APPEND compiled_in node-d3-${part})
endforeach()
# These packages are compiled into the WebAssembly module in the page of `iwarp lab`.
list(APPEND compiled_in libc++-19-dev-wasm32 wasi-libc)
if(IWARP_STATIC_DEPENDENCIES)
  string(REGEX REPLACE "\\..*" "" gcc ${CMAKE_CXX_COMPILER_VERSION})
  list(APPEND compiled_in libssl-dev libfmt-dev zlib1g-dev libstdc++-${gcc}-dev)
endif()
foreach(package IN LISTS compiled_in)
  install(FILES /usr/share/doc/${package}/copyright COMPONENT iwarp OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/iwarp/licences RENAME ${package})
endforeach()

# Builds everything that the packages contain.
add_custom_target(all_packaged DEPENDS iwarp_documents iwarp_command)
get_property(layers GLOBAL PROPERTY IWARP_LAYERS)
list(TRANSFORM layers PREPEND iwarp_)
add_dependencies(all_packaged ${layers})
