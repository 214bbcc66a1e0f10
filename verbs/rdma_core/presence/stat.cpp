// SPDX-License-Identifier: Apache-2.0
// Replaces stat(2), access(2), readlink(2), getcwd(3) and similar functions. For simulated files,
// the replacements report the owner, the size and the device numbers that sysfs and devtmpfs would
// report, and the names that the program uses. They do not change st_dev and st_ino, because
// programs use these fields to compare a path with a file that they have opened.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "presence/resolve.hpp"
#include "presence/tree.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

constexpr unsigned kPage = 4096;

bool is_in_sysfs(const ResolvedPath& place) { return place.name.starts_with("/sys/"); }

void disguise(const ResolvedPath& place, struct stat& about) {
  about.st_uid = about.st_gid = 0;
  about.st_blocks = 0;
  if (is_in_sysfs(place)) {
    about.st_size = S_ISREG(about.st_mode) ? kPage : 0;
    if (S_ISDIR(about.st_mode)) about.st_mode |= S_IWUSR;
  } else if (!S_ISDIR(about.st_mode)) {
    const auto number = device_number(place.name);
    about.st_mode = S_IFCHR | 0666;
    about.st_rdev = makedev(number.major, number.minor);
    about.st_size = 0;
  }
}

void disguise(const ResolvedPath& place, struct statx& about) {
  about.stx_uid = about.stx_gid = 0;
  about.stx_blocks = 0;
  const mode_t mode = about.stx_mode;
  if (is_in_sysfs(place)) {
    about.stx_size = S_ISREG(mode) ? kPage : 0;
    if (S_ISDIR(mode)) about.stx_mode |= S_IWUSR;
  } else if (!S_ISDIR(mode)) {
    const auto number = device_number(place.name);
    about.stx_mode = S_IFCHR | 0666;
    about.stx_rdev_major = number.major;
    about.stx_rdev_minor = number.minor;
    about.stx_size = 0;
  }
}

template <typename Stat, typename System>
int look(int descriptor, Stat* about, System system) {
  const int code = system(descriptor);
  if (code != 0) return code;
  return or_no_memory([&] {
    const ResolvedPath place = resolve_opened(descriptor);
    if (place.synthetic) disguise(place, *about);
    return code;
  });
}

/// Reports the status of a path. If a link leads out of the simulated folders, the file is not
/// simulated, and its status is reported unchanged. `path` may be null: Rust's standard library
/// passes null to statx(2) to find out whether the kernel has it.
template <typename Stat, typename System>
int look(int directory, const char* path, int flags, Stat* about, System system) {
  // The C library declares the callers with the attribute nonnull, from which GCC would conclude
  // that the comparison below is always true. Hide the value from GCC.
  asm("" : "+r"(path));
  if (path != nullptr && *path == '\0' && (flags & AT_EMPTY_PATH) != 0) {
    return look(directory, about, [&](int of) { return system(of, path); });
  }
  return or_no_memory([&] {
    const ResolvedPath place = resolve(directory, path, (flags & AT_SYMLINK_NOFOLLOW) == 0);
    if (place.path.empty()) return system(directory, path);
    const int code = system(AT_FDCWD, place.path.c_str());
    if (code == 0 && place.synthetic) disguise(place, *about);
    return code;
  });
}

int stat_at(int directory, const char* path, struct stat* about, int flags) {
  return look(directory, path, flags, about, [=](int at, const char* to) {
    return call_next<"fstatat", int>(at, to, about, flags);
  });
}

int stat_of(int descriptor, struct stat* about) {
  return look(descriptor, about, [=](int of) { return call_next<"fstat", int>(of, about); });
}

/// Returns whether `version` is a version of struct stat that has the same layout as the kernel's
/// struct stat on all 64-bit machines. Programs that were linked to glibc 2.32 or older call
/// functions with a version instead of stat(2).
bool is_known(int version) {
  constexpr int kOldest = 0;
  constexpr int kNewest = 1;
  if (version == kOldest || version == kNewest) return true;
  errno = EINVAL;
  return false;
}

// Names -------------------------------------------------------------------------------------------

/// Copies as much of the text to `out` as fits, without a terminating zero. Returns the number of
/// bytes that were copied.
ssize_t give(const std::string& text, char* out, size_t size) {
  const size_t count = std::min(text.size(), size);
  std::copy_n(text.data(), count, out);
  return static_cast<ssize_t>(count);
}

/// Implements readlink(2). If the target of a link such as /proc/self/cwd is the real location of a
/// simulated file, returns the name that the program uses for this file.
template <typename System>
ssize_t read_link(int directory, const char* path, char* out, size_t size, System system) {
  return or_no_memory([&] {
    const ResolvedPath place = resolve(directory, path, false);
    const ssize_t count = redirect(place, directory, path, system);
    if (count <= 0 || *out != '/' || Inside::now() || !folder_matters()) return count;
    const std::string real(out, static_cast<size_t>(count));
    const std::string name = synthetic_name(real.c_str());
    return name == real ? count : give(name, out, size);
  });
}

ssize_t read_link(const char* path, char* out, size_t size) {
  return read_link(AT_FDCWD, path, out, size, [=](int, const char* to) {
    return call_next<"readlink", ssize_t>(to, out, size);
  });
}

ssize_t read_link_at(int directory, const char* path, char* out, size_t size) {
  return read_link(directory, path, out, size, [=](int at, const char* to) {
    return call_next<"readlinkat", ssize_t>(at, to, out, size);
  });
}

char* copy_out(const std::string& name, char* out) {
  if (out == nullptr) return ::strdup(name.c_str());
  return std::strcpy(out, name.c_str());
}

char* real_path(const char* path, char* out) {
  const auto next = [out](const char* of) { return call_next<"realpath", char*>(of, out); };
  const ResolvedPath place = resolve(AT_FDCWD, path, true);
  if (place.path.empty()) return next(path);
  if (!place.synthetic) return next(place.path.c_str());
  struct stat about{};
  if (::stat(place.path.c_str(), &about) != 0) return nullptr;
  return copy_out(place.name, out);
}

char* working_folder(char* out, size_t size) {
  const auto next = [](char* to, size_t room) { return call_next<"getcwd", char*>(to, room); };
  if (Inside::now() || !folder_matters()) return next(out, size);
  char real[PATH_MAX];
  if (next(real, sizeof real) == nullptr) return nullptr;
  const std::string name = synthetic_name(real);
  if (name == real) return next(out, size);
  if (out == nullptr) return copy_out(name, nullptr);
  if (size > name.size()) return copy_out(name, out);
  errno = size == 0 ? EINVAL : ERANGE;
  return nullptr;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

int stat(const char* path, struct stat* about) noexcept {
  return stat_at(AT_FDCWD, path, about, 0);
}
int lstat(const char* path, struct stat* about) noexcept {
  return stat_at(AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
int fstat(int descriptor, struct stat* about) noexcept { return stat_of(descriptor, about); }
int fstatat(int directory, const char* path, struct stat* about, int flags) noexcept {
  return stat_at(directory, path, about, flags);
}

// The functions below have the names that the C library used before version 2.33.
int __fxstatat(int version, int directory, const char* path, struct stat* about, int flags) {
  return is_known(version) ? stat_at(directory, path, about, flags) : -1;
}
int __xstat(int version, const char* path, struct stat* about) {
  return __fxstatat(version, AT_FDCWD, path, about, 0);
}
int __lxstat(int version, const char* path, struct stat* about) {
  return __fxstatat(version, AT_FDCWD, path, about, AT_SYMLINK_NOFOLLOW);
}
int __fxstat(int version, int descriptor, struct stat* about) {
  return is_known(version) ? stat_of(descriptor, about) : -1;
}

// The functions for large files do not differ from the ones above, because off_t has 64 bits.
static_assert(sizeof(off_t) == sizeof(off64_t) && sizeof(struct stat) == sizeof(struct stat64));
[[gnu::alias("stat")]] int stat64(const char* path, struct stat64* about) noexcept;
[[gnu::alias("lstat")]] int lstat64(const char* path, struct stat64* about) noexcept;
[[gnu::alias("fstat")]] int fstat64(int descriptor, struct stat64* about) noexcept;
[[gnu::alias("fstatat")]] int fstatat64(int directory, const char* path, struct stat64* about,
                                        int flags) noexcept;
[[gnu::alias("__fxstatat")]] int __fxstatat64(int version, int directory, const char* path,
                                              struct stat64* about, int flags);
[[gnu::alias("__xstat")]] int __xstat64(int version, const char* path, struct stat64* about);
[[gnu::alias("__lxstat")]] int __lxstat64(int version, const char* path, struct stat64* about);
[[gnu::alias("__fxstat")]] int __fxstat64(int version, int descriptor, struct stat64* about);

int statx(int directory, const char* path, int flags, unsigned mask, struct statx* about) noexcept {
  return look(directory, path, flags, about, [=](int at, const char* to) {
    return call_next<"statx", int>(at, to, flags, mask, about);
  });
}

int access(const char* path, int mode) noexcept {
  return redirect<"access", int>(path, true, mode);
}
int euidaccess(const char* path, int mode) noexcept {
  return redirect<"euidaccess", int>(path, true, mode);
}
int eaccess(const char* path, int mode) noexcept {
  return redirect<"eaccess", int>(path, true, mode);
}
int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  const bool follow = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  return redirect_at<"faccessat", int>(directory, path, follow, mode, flags);
}

// Replaces the functions for extended attributes, because ls(1) calls them for each file.
ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  return redirect<"getxattr", ssize_t>(path, true, name, value, size);
}
ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  return redirect<"lgetxattr", ssize_t>(path, false, name, value, size);
}
ssize_t listxattr(const char* path, char* list, size_t size) noexcept {
  return redirect<"listxattr", ssize_t>(path, true, list, size);
}
ssize_t llistxattr(const char* path, char* list, size_t size) noexcept {
  return redirect<"llistxattr", ssize_t>(path, false, list, size);
}

ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  return read_link(path, out, size);
}
ssize_t readlinkat(int directory, const char* path, char* out, size_t size) noexcept {
  return read_link_at(directory, path, out, size);
}
ssize_t __readlink_chk(const char* path, char* out, size_t size, size_t room) {
  if (size > room) std::abort();
  return read_link(path, out, size);
}
ssize_t __readlinkat_chk(int directory, const char* path, char* out, size_t size, size_t room) {
  if (size > room) std::abort();
  return read_link_at(directory, path, out, size);
}

char* realpath(const char* path, char* out) noexcept {
  return or_no_memory([=] { return real_path(path, out); });
}
char* __realpath_chk(const char* path, char* out, size_t room) {
  if (room < PATH_MAX) std::abort();
  return ::realpath(path, out);
}
char* canonicalize_file_name(const char* path) noexcept { return ::realpath(path, nullptr); }

int chdir(const char* path) noexcept { return redirect<"chdir", int>(path, true); }
char* getcwd(char* out, size_t size) noexcept {
  return or_no_memory([=] { return working_folder(out, size); });
}
char* __getcwd_chk(char* out, size_t size, size_t room) {
  if (size > room) std::abort();
  return ::getcwd(out, size);
}
char* get_current_dir_name() noexcept { return ::getcwd(nullptr, 0); }

}  // extern "C"
