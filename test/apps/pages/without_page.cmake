# SPDX-License-Identifier: Apache-2.0
# cmake -D... -P: checks that a page that cannot be bundled is left out, and the message about it.
include(${CMAKE_CURRENT_LIST_DIR}/../../../.cmake/bundle.cmake)
iwarp_bundle(script "iwarp explain --html" ${CMAKE_CURRENT_LIST_DIR}/../../../apps/explain/page/main.tsx
  ${OUT})
if(NOT script STREQUAL "")
  message(FATAL_ERROR "there is a page")
endif()
