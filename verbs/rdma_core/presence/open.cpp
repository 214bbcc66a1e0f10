// SPDX-License-Identifier: Apache-2.0
// Replaces open(2), fopen(3) and similar functions. A program can read simulated files. It can also
// open a simulated device, but the device accepts no command: the call opens /dev/null instead, a
// character device that every user may open.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "presence/inside.hpp"
#include "presence/resolve.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr const char* kDevice = "/dev/null";

/// The arguments for open(2) of the C library. If `error` is set, the call fails with this errno
/// instead.
struct Opening {
  ResolvedPath place;
  const char* path;
  int directory;
  int flags;
  int error = 0;
};

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0; }

/// Returns the errno with which an open must fail, or 0. Like read-only files of sysfs, simulated
/// files can be neither created nor changed.
int refusal(const struct stat* about, int flags) {
  // A file that does not exist cannot be created. Without O_CREAT, this function returns 0, because
  // the kernel itself fails with ENOENT.
  if (about == nullptr) return (flags & O_CREAT) != 0 ? EACCES : 0;
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return EEXIST;
  if (S_ISDIR(about->st_mode)) return (flags & O_CREAT) != 0 ? EISDIR : 0;
  return S_ISREG(about->st_mode) && writes(flags) ? EACCES : 0;
}

bool is_device(const ResolvedPath& place) { return place.name.starts_with("/dev/"); }

Opening opening(int directory, const char* path, int flags, std::uint64_t rules = 0) {
  Opening out{.place = resolve(directory, path, (flags & O_NOFOLLOW) == 0, rules),
              .path = path,
              .directory = directory,
              .flags = flags};
  out.error = out.place.error;
  if (out.place.path.empty() || out.error != 0) return out;
  out.path = out.place.path.c_str();
  out.directory = AT_FDCWD;
  if (!out.place.synthetic) return out;
  struct stat about{};
  bool is_there = false;
  {
    const Inside guard;
    is_there = ::stat(out.path, &about) == 0;
  }
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    out.error = EACCES;
    return out;
  }
  const bool is_node = is_there && is_device(out.place) && !S_ISDIR(about.st_mode);
  // Treats the file as a device even if it is a regular file that was made instead of a device
  // node.
  if (is_node) about.st_mode = S_IFCHR | 0666;
  out.error = refusal(is_there ? &about : nullptr, flags);
  out.flags &= ~(O_CREAT | O_EXCL);
  // Opens the simulated node itself if the program can only examine it (O_PATH). Otherwise opens
  // kDevice.
  const bool used = (flags & (O_PATH | O_DIRECTORY)) == 0;
  if (is_node && used) out.path = kDevice;
  return out;
}

int failed(int error) {
  errno = error;
  return -1;
}

int open_at(int directory, const char* path, int flags, mode_t mode) {
  return or_no_memory([=] {
    const Opening how = opening(directory, path, flags);
    if (how.error != 0) return failed(how.error);
    return next_function<"openat", int(int, const char*, int, ...)>()(how.directory, how.path,
                                                                      how.flags, mode);
  });
}

/// Implements openat2(2), for which the C library has no function yet.
int open_at(int directory, const char* path, const open_how* how, size_t size) {
  const auto system = [size](int at, const char* to, const open_how* as) {
    return static_cast<int>(call_next<"syscall", long>(long{SYS_openat2}, at, to, as, size));
  };
  const bool absolute = path != nullptr && *path == '/';
  const bool is_usable =
      how != nullptr && size >= sizeof *how && !(absolute && (how->resolve & RESOLVE_BENEATH) != 0);
  if (!is_usable) return system(directory, path, how);
  const bool in_root = (how->resolve & RESOLVE_IN_ROOT) != 0;
  const char* const within = absolute && in_root ? path + std::strspn(path, "/") : path;
  const Opening opened = opening(directory, within, static_cast<int>(how->flags), how->resolve);
  if (opened.error != 0) return failed(opened.error);
  if (opened.place.path.empty()) return system(directory, path, how);
  open_how resolved{};
  resolved.flags = static_cast<unsigned>(opened.flags);
  resolved.mode = (opened.flags & O_CREAT) != 0 ? how->mode : 0;
  return static_cast<int>(call_next<"syscall", long>(long{SYS_openat2}, opened.directory,
                                                     opened.path, &resolved, sizeof resolved));
}

int flags_of(const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  switch (*mode) {
    case 'w':
      return (both ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
    case 'a':
      return (both ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
    default:
      return both ? O_RDWR : O_RDONLY;
  }
}

/// Opens a stream with the function `kName` of the C library.
template <FunctionName kName, typename... Rest>
FILE* open_stream(const char* path, const char* mode, Rest... rest) {
  return or_no_memory([=]() -> FILE* {
    const Opening how = opening(AT_FDCWD, path, flags_of(mode));
    if (how.error == 0) return call_next<kName, FILE*>(how.path, mode, rest...);
    errno = how.error;
    return nullptr;
  });
}

mode_t mode_in(va_list& list, int flags) {
  const bool has_one = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_one ? va_arg(list, mode_t) : 0;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(list, flags);
  va_end(list);
  return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_in(list, flags);
  va_end(list);
  return open_at(directory, path, flags, mode);
}

// Programs that were compiled with _FORTIFY_SOURCE call these functions to open files without
// O_CREAT.
int __open_2(const char* path, int flags) { return open_at(AT_FDCWD, path, flags, 0); }
int __openat_2(int directory, const char* path, int flags) {
  return open_at(directory, path, flags, 0);
}

int openat2(int directory, const char* path, const open_how* how, size_t size) noexcept {
  return or_no_memory([=] { return open_at(directory, path, how, size); });
}

int creat(const char* path, mode_t mode) {
  return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

FILE* fopen(const char* path, const char* mode) { return open_stream<"fopen">(path, mode); }
FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return open_stream<"freopen">(path, mode, stream);
}

// off_t has 64 bits, so these functions do not differ from the ones above. stat.cpp asserts this.
[[gnu::alias("open")]] int open64(const char* path, int flags, ...);
[[gnu::alias("openat")]] int openat64(int directory, const char* path, int flags, ...);
[[gnu::alias("__open_2")]] int __open64_2(const char* path, int flags);
[[gnu::alias("__openat_2")]] int __openat64_2(int directory, const char* path, int flags);
[[gnu::alias("creat")]] int creat64(const char* path, mode_t mode);
[[gnu::alias("fopen")]] FILE* fopen64(const char* path, const char* mode);
[[gnu::alias("freopen")]] FILE* freopen64(const char* path, const char* mode, FILE* stream);

}  // extern "C"
