# SPDX-License-Identifier: Apache-2.0
# In a build of the preset `package`, `cpack` makes the Debian packages iwarp, iwarp-dbgsym and
# libiwarp-dev for the Debian release on which it runs. In a build of the preset `archive`, it makes an
# archive that needs no other packages, and one with the debugging information. .ci/package runs both builds in a chroot. This file makes no packages for other
# systems.
set(CPACK_PACKAGE_NAME iwarp)
set(CPACK_PACKAGE_VENDOR "the iwarp authors")
# A package must name a contact. The project has no public address yet, so this address is in the
# domain .invalid, which is reserved and has no owner.
set(CPACK_PACKAGE_CONTACT "the iwarp authors <authors@iwarp.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(packaging ${CMAKE_CURRENT_LIST_DIR}/packages)

if(IWARP_STATIC_DEPENDENCIES)
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
else()
  set(CPACK_GENERATOR DEB)
  set(CPACK_COMPONENTS_ALL iwarp debug dev)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  # The package version contains the Debian release. An upgrade of Debian then replaces a package that
  # was built for the older release.
  set(release 12)
  if(EXISTS /etc/os-release)
    file(STRINGS /etc/os-release ids REGEX "^VERSION_ID=")
    string(REGEX MATCH "[0-9.]+" release "${ids}")
  endif()
  if(NOT release)
    set(release 99)  # testing and unstable have no release number
  endif()
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1~deb${release})
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

  set(CPACK_DEBIAN_IWARP_PACKAGE_NAME iwarp)
  set(CPACK_DEBIAN_IWARP_PACKAGE_SECTION net)
  set(CPACK_DEBIAN_IWARP_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib/iwarp)
  set(CPACK_DEBIAN_IWARP_PACKAGE_RECOMMENDS "libpcap0.8, libdw1t64 | libdw1")
  set(CPACK_DEBIAN_IWARP_PACKAGE_SUGGESTS "rdmacm-utils, perftest")
  file(READ ${packaging}/iwarp.txt CPACK_DEBIAN_IWARP_DESCRIPTION)

  set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME iwarp-dbgsym)
  set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
  set(CPACK_DEBIAN_DEBUG_PACKAGE_DEPENDS
    "iwarp (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
  file(READ ${packaging}/iwarp-dbgsym.txt CPACK_DEBIAN_DEBUG_DESCRIPTION)

  set(CPACK_DEBIAN_DEV_PACKAGE_NAME libiwarp-dev)
  set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libssl-dev, libfmt-dev")
  # Set this field explicitly, because CMake versions before 3.31 do not write it.
  set(CPACK_DEBIAN_DEV_PACKAGE_MULTIARCH same)
  file(READ ${packaging}/libiwarp-dev.txt CPACK_DEBIAN_DEV_DESCRIPTION)

  string(TIMESTAMP date "%a, %d %b %Y 00:00:00 +0000" UTC)
  set(out ${PROJECT_BINARY_DIR}/debian)
  foreach(pair IN ITEMS iwarp:iwarp debug:iwarp-dbgsym dev:libiwarp-dev)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 package)
    configure_file(${packaging}/changelog.in ${out}/${package}/changelog.Debian)
    configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${out}/${package}/changelog COPYONLY)
    execute_process(COMMAND gzip -9nf changelog.Debian changelog
      WORKING_DIRECTORY ${out}/${package} COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${out}/${package}/changelog.Debian.gz ${out}/${package}/changelog.gz
                  ${packaging}/copyright
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  endforeach()
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
add_custom_target(all_packaged DEPENDS iwarp_documents iwarp)
if(TARGET iwarp_rdma_core_cm)
  add_dependencies(all_packaged iwarp_rdma_core_cm iwarp_presence iwarp_careful)
endif()
get_property(layers GLOBAL PROPERTY IWARP_LAYERS)
list(TRANSFORM layers PREPEND iwarp_)
add_dependencies(all_packaged ${layers})
include(CPack)
