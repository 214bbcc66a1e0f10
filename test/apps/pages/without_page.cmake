# SPDX-License-Identifier: Apache-2.0
# Run with cmake -D... -P. Checks that a page that cannot be bundled is left out, and that a message says so.
include(${CMAKE_CURRENT_LIST_DIR}/../../../.cmake/bundle.cmake)
iwarp_bundle(script "iwarp explain --html" ${CMAKE_CURRENT_LIST_DIR}/../../../apps/explain/page/main.tsx
  ${OUT})
if(NOT script STREQUAL "")
  message(FATAL_ERROR "there is a page")
endif()
