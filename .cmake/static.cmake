# SPDX-License-Identifier: Apache-2.0
# IWARP_STATIC_DEPENDENCIES: links all libraries except the C library statically into the command and
# the drop-in libraries. They then run on every machine with the same or a newer C library. Debian's
# fmt has no static library, only a shared library and headers, so this file builds a static library
# from the headers.
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto SSL)
set(ZLIB_USE_STATIC_LIBS ON)

find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
mark_as_advanced(FMT_INCLUDE_DIR)
# The source file below includes only fmt/format.h, but the static library must also contain
# functions that other headers of fmt use. The calls below make the compiler emit these functions.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/fmt.cpp CONTENT "// Made by CMake.
#include <fmt/format.h>

#include <locale>

std::string iwarp_fmt(const std::locale& locale);
std::string iwarp_fmt(const std::locale& locale) {
  return fmt::format(locale, \"{:L} {:L}\", 1, 1.5);
}
")
add_library(iwarp_fmt STATIC ${PROJECT_BINARY_DIR}/fmt.cpp)
target_include_directories(iwarp_fmt PRIVATE ${FMT_INCLUDE_DIR})
target_compile_definitions(iwarp_fmt PRIVATE FMT_HEADER_ONLY)
target_compile_options(iwarp_fmt PRIVATE
  -w -fno-inline -fno-ipa-sra -fno-ipa-cp -fkeep-inline-functions)
add_library(fmt::fmt ALIAS iwarp_fmt)
# Every target that uses this library must define FMT_SHARED, as every target that uses the shared
# fmt library does.
target_compile_definitions(iwarp_fmt INTERFACE FMT_SHARED)
target_include_directories(iwarp_fmt SYSTEM INTERFACE ${FMT_INCLUDE_DIR})
add_library(iwarp_fmt_header_only INTERFACE)
add_library(fmt::fmt-header-only ALIAS iwarp_fmt_header_only)
target_compile_definitions(iwarp_fmt_header_only INTERFACE FMT_HEADER_ONLY)
target_include_directories(iwarp_fmt_header_only SYSTEM INTERFACE ${FMT_INCLUDE_DIR})

add_link_options(-static-libstdc++ -static-libgcc)
