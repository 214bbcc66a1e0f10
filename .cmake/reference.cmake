# SPDX-License-Identifier: Apache-2.0
# Makes the reference of the C++ interface as web pages. doxygen generates it from the installed
# headers:
#   cmake --build build/release --target reference    # then open build/release/reference/index.html
# The target exists only if doxygen is installed. Warnings of doxygen are errors.
find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  return()
endif()
file(GLOB headers LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/*/include ${PROJECT_SOURCE_DIR}/*/*/include)
list(FILTER headers INCLUDE REGEX "^(mpa|ddp|rdmap|verbs)/")
set(DOXYGEN_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(DOXYGEN_HTML_OUTPUT reference)
set(DOXYGEN_STRIP_FROM_INC_PATH ${headers})
# Doxygen does not understand the specialization of a template by its qualified name, so remove the
# lines that contain such a specialization.
set(DOXYGEN_INPUT_FILTER "sed /is_error_code_enum/d")
set(DOXYGEN_HAVE_DOT NO)
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)  # test/architecture/check_docs.py decides what needs a comment
set(DOXYGEN_PROJECT_BRIEF "iWARP in user space: RDMA over ordinary TCP")
doxygen_add_docs(reference ${headers} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Making the reference of the C++ interface")
