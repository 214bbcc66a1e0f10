# SPDX-License-Identifier: Apache-2.0
# The target `uninstall`: removes the files that `cmake --install` has listed in
# BUILD/install_manifest*.txt, and the folders of this project that are empty then.
file(GLOB manifests ${BUILD}/install_manifest*.txt)
if(NOT manifests)
  message(FATAL_ERROR "nothing to uninstall: ${BUILD} has no install_manifest.txt (cmake --install writes it)")
endif()
foreach(manifest IN LISTS manifests)
  file(STRINGS ${manifest} files)
  foreach(file IN LISTS files)
    set(path $ENV{DESTDIR}${file})
    file(REMOVE ${path})
    cmake_path(GET path PARENT_PATH path)
    while(path MATCHES "/(iwarp|debug)(/|$)")
      # rmdir refuses to remove a folder that is not empty.
      execute_process(COMMAND rmdir ${path} RESULT_VARIABLE failed ERROR_QUIET)
      if(failed)
        break()
      endif()
      cmake_path(GET path PARENT_PATH path)
    endwhile()
  endforeach()
  file(REMOVE ${manifest})
endforeach()
