# SPDX-License-Identifier: Apache-2.0
# Builds for AArch64 with Debian's cross compiler; what is built runs here under qemu-user. The
# libraries for AArch64 are those of `dpkg --add-architecture arm64`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Boost's headers are the same for all; where CMake looks for their configuration they are not.
file(GLOB Boost_DIR /usr/lib/*/cmake/Boost-1*)
# Or pkg-config tells FindOpenSSL of this machine's libraries.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
