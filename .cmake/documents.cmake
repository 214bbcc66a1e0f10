# SPDX-License-Identifier: Apache-2.0
# Makes and installs man pages and completions. The iwarp command, once built, writes these files;
# it runs under an emulator if the build is for another architecture. `cmake -P` of this file with
# -D IWARP=... and -D OUT=... writes the same files to the folder OUT; IWARP is the path of the
# iwarp command, after that of an emulator if it needs one.
if(CMAKE_SCRIPT_MODE_FILE)
  file(REMOVE_RECURSE ${OUT})
  file(MAKE_DIRECTORY ${OUT}/man ${OUT}/completions)
  execute_process(COMMAND ${IWARP} help --manual ${OUT}/man COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages ${OUT}/man/*.1)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  foreach(pair IN ITEMS bash/iwarp zsh/_iwarp fish/iwarp.fish)
    cmake_path(GET pair PARENT_PATH shell)
    file(MAKE_DIRECTORY ${OUT}/completions/${shell})
    execute_process(COMMAND ${IWARP} completion ${shell} COMMAND_ERROR_IS_FATAL ANY
      OUTPUT_FILE ${OUT}/completions/${pair})
  endforeach()
  file(TOUCH ${OUT}/made)
  return()
endif()

set(documents ${PROJECT_BINARY_DIR}/documents)
string(REPLACE ";" "\\;" command "${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:iwarp>")
string(REGEX REPLACE "^\\\\;" "" command "${command}")
add_custom_command(OUTPUT ${documents}/made
  COMMAND ${CMAKE_COMMAND} -DIWARP=${command} -DOUT=${documents} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS iwarp ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
add_custom_target(iwarp_documents ALL DEPENDS ${documents}/made)

install(DIRECTORY ${documents}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
  COMPONENT iwarp OPTIONAL)
foreach(pair IN ITEMS bash:bash-completion/completions zsh:zsh/vendor-completions
                      fish:fish/vendor_completions.d)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 shell)
  list(GET pair 1 folder)
  install(DIRECTORY ${documents}/completions/${shell}/
    DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT iwarp OPTIONAL)
endforeach()
