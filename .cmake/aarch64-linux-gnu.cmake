# SPDX-License-Identifier: Apache-2.0
# Toolchain file for AArch64: builds with Debian's cross compiler. The programs run on this machine
# under qemu-user. To install AArch64 libraries, first run `dpkg --add-architecture arm64`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Boost's headers are the same for every architecture. CMake, however, looks for Boost's configuration
# only in the AArch64 folder, which does not have it.
file(GLOB Boost_DIR /usr/lib/*/cmake/Boost-1*)
# Without this setting, pkg-config would give FindOpenSSL the libraries of this machine's
# architecture.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
