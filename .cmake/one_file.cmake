# SPDX-License-Identifier: Apache-2.0
# cmake -D PAGE= -D STYLES= -D SCRIPT= -D OUT= [-D CPP= -D FUNCTION=] -P: makes the page OUT from the
# template PAGE, the style sheets STYLES (separated by "+") and the script SCRIPT. With CPP, also
# writes the C++ source CPP, in which FUNCTION returns the page.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
file(READ ${PAGE} page)
file(READ ${SCRIPT} script)
string(REPLACE "+" ";" styles "${STYLES}")
set(style "")
foreach(file IN LISTS styles)
  file(READ ${file} text)
  string(APPEND style "${text}")
endforeach()
if(script MATCHES "</[sS][cC][rR][iI][pP][tT]|<!--")
  message(FATAL_ERROR "${SCRIPT} cannot stand in a script element")
endif()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUT} "${page}")
if(CPP)
  iwarp_embed(${CPP} ${FUNCTION} page page)
endif()
