// SPDX-License-Identifier: Apache-2.0
// Replaces syscall(2). Some programs use it for calls for which an older C library has no function,
// for example openat2, or statx in libuv (Node.js). The calls that name, examine or list files are
// passed to the functions of this library, and all others to the kernel.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstddef>

#include "process/next.hpp"

using iwarp::rdma_core::call_next;

namespace iwarp::rdma_core::presence {
namespace {

std::size_t as_size(void* argument) { return reinterpret_cast<std::size_t>(argument); }
int as_int(void* argument) { return static_cast<int>(as_size(argument)); }
mode_t as_mode(void* argument) { return static_cast<mode_t>(as_size(argument)); }
const char* as_path(void* argument) { return static_cast<const char*>(argument); }

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

// Defined in open.cpp; the C library of Debian 12 has no declaration.
// NOLINTNEXTLINE(readability-redundant-declaration)
int openat2(int directory, const char* path, const open_how* how, size_t size) noexcept;

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  std::array<void*, 6> given{};
  // Reads six arguments, even if the call has fewer, as the C library does.
  for (void*& argument : given) argument = va_arg(list, void*);
  va_end(list);
  const auto [a, b, c, d, e, f] = given;
  // The kernel accepts null as the path of some calls, and the functions of the C library do not.
  switch (b != nullptr ? number : -1) {
    case SYS_openat:
      return ::openat(as_int(a), as_path(b), as_int(c), as_mode(d));
    case SYS_openat2:
      return ::openat2(as_int(a), as_path(b), static_cast<const open_how*>(c), as_size(d));
    case SYS_statx:
      return ::statx(as_int(a), as_path(b), as_int(c), static_cast<unsigned>(as_size(d)),
                     static_cast<struct statx*>(e));
    case SYS_newfstatat:
      return ::fstatat(as_int(a), as_path(b), static_cast<struct stat*>(c), as_int(d));
    case SYS_faccessat:
      return ::faccessat(as_int(a), as_path(b), as_int(c), 0);
    case SYS_faccessat2:
      return ::faccessat(as_int(a), as_path(b), as_int(c), as_int(d));
    case SYS_readlinkat:
      return ::readlinkat(as_int(a), as_path(b), static_cast<char*>(c), as_size(d));
    case SYS_getdents64:
      return ::getdents64(as_int(a), b, as_size(c));
    default:
      break;
  }
#ifdef SYS_open
  switch (a != nullptr ? number : -1) {
    case SYS_open:
      return ::open(as_path(a), as_int(b), as_mode(c));
    case SYS_stat:
      return ::stat(as_path(a), static_cast<struct stat*>(b));
    case SYS_lstat:
      return ::lstat(as_path(a), static_cast<struct stat*>(b));
    case SYS_access:
      return ::access(as_path(a), as_int(b));
    case SYS_readlink:
      return ::readlink(as_path(a), static_cast<char*>(b), as_size(c));
    default:
      break;
  }
#endif
  return call_next<"syscall", long>(number, a, b, c, d, e, f);
}

}  // extern "C"
