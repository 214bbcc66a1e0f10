# SPDX-License-Identifier: Apache-2.0
# Makes WebAssembly modules, with clang and Debian's libraries for wasm32-wasi.
set(iwarp_wasm_flags --target=wasm32-wasi -std=c++23 -Os -DNDEBUG -Wall
  # A module in a page cannot catch exceptions, so it aborts when memory is exhausted.
  -fignore-exceptions -DJSON_NOEXCEPTION -DFMT_HEADER_ONLY)

# iwarp_find_wasm(WHY): checks whether everything is present to make a module. Sets WHY to a text that
# says what is missing, or to an empty string if nothing is missing.
function(iwarp_find_wasm WHY)
  find_program(IWARP_WASM_CXX NAMES clang++-19 clang++-20 clang++-21)
  mark_as_advanced(IWARP_WASM_CXX)
  if(NOT IWARP_WASM_CXX)
    set(${WHY} "clang-19 is missing" PARENT_SCOPE)
    return()
  endif()
  set(try ${CMAKE_CURRENT_BINARY_DIR}/try_wasm)
  file(WRITE ${try}.cpp "#include <string>\nint main(int n, char**) { return std::string(n, 'x') == \"x\"; }\n")
  execute_process(
    COMMAND ${IWARP_WASM_CXX} --target=wasm32-wasi -fignore-exceptions ${try}.cpp -o ${try}.wasm
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    set(${WHY} "" PARENT_SCOPE)
  else()
    set(${WHY} "${IWARP_WASM_CXX} cannot make WebAssembly (lld-19, wasi-libc and the wasm32 packages of \
libc++-19, libc++abi-19 and libclang-rt-19)" PARENT_SCOPE)
  endif()
endfunction()

# iwarp_wasm(OUT.wasm INCLUDES ... EXPORTS ... UNITS ...): makes a module from all UNITS. Each unit is
# the name of a list of sources, which are compiled together.
function(iwarp_wasm OUT)
  cmake_parse_arguments(W "" "" "INCLUDES;EXPORTS;UNITS" ${ARGN})
  list(TRANSFORM W_INCLUDES PREPEND -I)
  list(TRANSFORM W_EXPORTS PREPEND -Wl,--export=)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/wasm)
  set(objects "")
  foreach(unit IN LISTS W_UNITS)
    set(text "// Made by CMake.\n")
    foreach(source IN LISTS ${unit})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    file(GENERATE OUTPUT ${folder}/${unit}.cpp CONTENT "${text}")
    add_custom_command(OUTPUT ${folder}/${unit}.o
      COMMAND ${IWARP_CCACHE} ${IWARP_WASM_CXX} ${iwarp_wasm_flags} ${W_INCLUDES}
        -MD -MF ${folder}/${unit}.d -c ${folder}/${unit}.cpp -o ${folder}/${unit}.o
      DEPENDS ${folder}/${unit}.cpp DEPFILE ${folder}/${unit}.d
      COMMENT "Compiling ${unit} to WebAssembly" VERBATIM)
    list(APPEND objects ${folder}/${unit}.o)
  endforeach()
  add_custom_command(OUTPUT ${OUT}
    COMMAND ${IWARP_WASM_CXX} --target=wasm32-wasi -mexec-model=reactor ${objects} -o ${OUT}
      -Wl,--strip-all,-z,stack-size=262144 ${W_EXPORTS}
    DEPENDS ${objects} COMMENT "Linking ${OUT}" VERBATIM)
endfunction()
