# SPDX-License-Identifier: Apache-2.0
# Defines iwarp::iwarp, which stands for all layers together: an interface target for the static
# libraries or, with IWARP_SHARED, the library libiwarp.so. libiwarp.so exports only the classes and
# functions that iwarp.symbols lists. The command, the tests and the drop-in libraries of this tree
# always use the static layers.
get_property(layers GLOBAL PROPERTY IWARP_LAYERS)
list(TRANSFORM layers PREPEND iwarp:: OUTPUT_VARIABLE layer_targets)

if(NOT IWARP_SHARED)
  add_library(iwarp_iwarp INTERFACE)
  target_link_libraries(iwarp_iwarp INTERFACE ${layer_targets})
else()
  set(list ${CMAKE_CURRENT_LIST_DIR}/iwarp.symbols)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} names REGEX "^[^#]")
  set(patterns "")
  foreach(name IN LISTS names)
    if(name MATCHES "::[*]$")
      string(REPLACE "::*" "" class ${name})
      string(APPEND patterns "${class}::*;\n\"typeinfo for ${class}\";\n"
        "\"typeinfo name for ${class}\";\n\"vtable for ${class}\";\n")
    else()
      # The pattern matches the name and its parameters, with or without an ABI tag in between.
      string(APPEND patterns "${name}[!a-zA-Z0-9_]*;\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/iwarp.map CONTENT
    "{ global: extern \"C++\" {\n${patterns}}; local: *; };\n" @ONLY)

  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/iwarp.cpp CONTENT "// Made by CMake: the layers are all.\n")
  add_library(iwarp_iwarp SHARED ${PROJECT_BINARY_DIR}/iwarp.cpp)
  set(whole "")
  foreach(layer IN LISTS layers)
    list(APPEND whole $<TARGET_FILE:iwarp_${layer}>)
    add_dependencies(iwarp_iwarp iwarp_${layer})
    target_include_directories(iwarp_iwarp
      INTERFACE $<BUILD_INTERFACE:$<TARGET_PROPERTY:iwarp_${layer},INTERFACE_INCLUDE_DIRECTORIES>>)
  endforeach()
  target_include_directories(iwarp_iwarp INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(iwarp_iwarp INTERFACE cxx_std_23)
  target_link_libraries(iwarp_iwarp PRIVATE
    -Wl,--whole-archive ${whole} -Wl,--no-whole-archive
    OpenSSL::SSL OpenSSL::Crypto fmt::fmt Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(iwarp_iwarp PRIVATE -Wl,--version-script,${PROJECT_BINARY_DIR}/iwarp.map)
  set_target_properties(iwarp_iwarp PROPERTIES OUTPUT_NAME iwarp VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # before 1.0, any minor version may change the ABI
    LINK_DEPENDS "${PROJECT_BINARY_DIR}/iwarp.map;${whole}")
endif()
add_library(iwarp::iwarp ALIAS iwarp_iwarp)
set_target_properties(iwarp_iwarp PROPERTIES EXPORT_NAME iwarp)
