# SPDX-License-Identifier: Apache-2.0
# Removes the debugging information from the installed programs and drop-in libraries. Installs it as
# the component `debug`, in the files lib/debug/.build-id/XX/REST.debug below the prefix, where XXREST
# is the build ID. Debuggers look for such files below /usr and below their debug-file-directory.

# iwarp_split_debug(TARGET FOLDER): FOLDER is where the target is installed, relative to the prefix.
function(iwarp_split_debug target folder)
  set(file $<TARGET_FILE:${target}>)
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP}
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/$<TARGET_FILE_NAME:${target}>
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT iwarp)
  install(CODE "execute_process(COMMAND ${CMAKE_READELF} -n ${file} OUTPUT_VARIABLE notes
    COMMAND_ERROR_IS_FATAL ANY)
  if(notes MATCHES \"Build ID: (..)([0-9a-f]+)\")
    set(out \${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/\${CMAKE_MATCH_1}/\${CMAKE_MATCH_2}.debug)
    message(STATUS \"Installing: \$ENV{DESTDIR}\${out}\")
    cmake_path(GET out PARENT_PATH folder)
    file(MAKE_DIRECTORY \$ENV{DESTDIR}\${folder})
    execute_process(COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --compress-debug-sections ${file}
      \$ENV{DESTDIR}\${out} COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${out})
  endif()" COMPONENT debug)
endfunction()

iwarp_split_debug(iwarp ${CMAKE_INSTALL_BINDIR})
foreach(target IN ITEMS iwarp_rdma_core iwarp_rdma_core_cm iwarp_presence iwarp_careful iwarp_judge)
  if(TARGET ${target})
    iwarp_split_debug(${target} ${CMAKE_INSTALL_LIBDIR}/iwarp)
  endif()
endforeach()
