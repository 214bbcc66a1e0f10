# SPDX-License-Identifier: Apache-2.0
# iwarp_embed(FILE ns::function [NAME VARIABLE]...): writes a C++ source that defines
#   std::string_view ns::function(std::string_view name)
# This function returns the contents of VARIABLE, byte for byte, if `name` is the NAME that precedes
# VARIABLE. For any other name it returns an empty string.
function(iwarp_embed OUT FUNCTION)
  string(REGEX REPLACE "::[^:]*$" "" namespace ${FUNCTION})
  string(REGEX REPLACE "^.*::" "" function ${FUNCTION})
  string(CONCAT text "// Made by CMake.\n#include <string_view>\n\nnamespace ${namespace} {\n\n"
    "std::string_view ${function}(std::string_view name);\n"
    "std::string_view ${function}(std::string_view name) {\n")
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs name variable)
    string(APPEND text "  if (name == \"${name}\") return R\"~~(${${variable}})~~\";\n")
  endwhile()
  string(APPEND text "  return {};\n}\n\n}  // namespace ${namespace}\n")
  file(WRITE ${OUT}.new "${text}")
  file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
endfunction()

# iwarp_read(VARIABLE FILE): reads FILE into VARIABLE. CMake configures again when FILE changes.
function(iwarp_read VARIABLE FILE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FILE})
  file(READ ${FILE} content)
  set(${VARIABLE} "${content}" PARENT_SCOPE)
endfunction()
