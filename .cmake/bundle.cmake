# SPDX-License-Identifier: Apache-2.0
# iwarp_find_bundler(WHY): checks whether everything is present to bundle scripts. Sets WHY to a text
# that says what is missing, or to an empty string if nothing is missing.
function(iwarp_find_bundler WHY)
  find_program(IWARP_ESBUILD esbuild)
  # In a cross build, also take the modules from this machine and not from CMAKE_FIND_ROOT_PATH:
  # scripts do not depend on the processor.
  find_path(IWARP_NODE_MODULES react-dom/package.json PATHS /usr/share/nodejs
    NO_CMAKE_FIND_ROOT_PATH)
  if(NOT IWARP_PAGES)
    set(${WHY} "IWARP_PAGES is off" PARENT_SCOPE)
  elseif(NOT IWARP_ESBUILD)
    set(${WHY} "esbuild is missing" PARENT_SCOPE)
  elseif(NOT IWARP_NODE_MODULES)
    set(${WHY} "node-react-dom is missing" PARENT_SCOPE)
  else()
    set(${WHY} "" PARENT_SCOPE)
  endif()
endfunction()

set(iwarp_bundle_flags --bundle --minify --target=es2020 --charset=ascii --legal-comments=inline
  --log-level=error "--define:process.env.NODE_ENV=\"production\"")

# iwarp_bundle(VARIABLE PAGE MAIN OUT): joins MAIN and all modules that it imports into the single
# script OUT, with esbuild and Debian's libraries for node; node itself is not needed. Sets VARIABLE to
# the script's path. If something is missing, sets VARIABLE to an empty string, and prints what is
# missing and that PAGE is not built.
function(iwarp_bundle VARIABLE PAGE MAIN OUT)
  set(${VARIABLE} "" PARENT_SCOPE)
  iwarp_find_bundler(why)
  if(NOT why)
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${IWARP_NODE_MODULES} ${IWARP_ESBUILD} ${MAIN}
        ${iwarp_bundle_flags} --outfile=${OUT}
      RESULT_VARIABLE result ERROR_VARIABLE said)
    if(NOT result EQUAL 0)
      if(NOT said MATCHES "Could not resolve \"([a-z][^\"]*)\"")
        message(FATAL_ERROR "esbuild cannot bundle ${MAIN}:\n${said}")
      endif()
      set(why "${CMAKE_MATCH_1} for node is missing")
    endif()
  endif()
  if(why)
    message(NOTICE "-- ${why}: the page of ${PAGE} is left out")
    return()
  endif()
  file(READ ${OUT} script)
  if(script MATCHES "</[sS][cC][rR][iI][pP][tT]|<!--")
    message(FATAL_ERROR "${OUT} cannot stand in a script element")
  endif()
  set(${VARIABLE} "${script}" PARENT_SCOPE)
endfunction()
