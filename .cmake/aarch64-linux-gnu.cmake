# SPDX-License-Identifier: Apache-2.0
# Toolchain file: builds for AArch64 with Debian's cross compiler. The built programs run on this
# machine under qemu-user. `dpkg --add-architecture arm64` makes the AArch64 libraries installable.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Boost's headers serve every architecture, but CMake looks for their configuration only in the folder
# of AArch64, where they are not.
file(GLOB Boost_DIR /usr/lib/*/cmake/Boost-1*)
# Otherwise pkg-config would report the libraries of this machine's architecture to FindOpenSSL.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
