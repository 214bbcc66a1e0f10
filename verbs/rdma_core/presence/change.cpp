// SPDX-License-Identifier: Apache-2.0
// Replaces functions of the C library that change the file system. In the simulated folders, the
// replacements fail as the functions do for an ordinary user in sysfs. Elsewhere they call the C
// library's function of the same name, so that a seccomp filter sees the same calls as without this
// library.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "presence/next.hpp"
#include "presence/resolve.hpp"

namespace iwarp::rdma_core::presence {
namespace {

/// Calls `system`, the function of the C library, with the directory and the path of the file in
/// the real file system. If the file is simulated, fails with the errno `refusal`.
template <typename System>
int change(int directory, const char* path, int refusal, System system) {
  const ResolvedPath place = resolve(directory, path, false);
  if (place.synthetic) {
    errno = refusal;
    return -1;
  }
  return redirect(place, directory, path, system);
}

template <typename System>
int change(const char* path, int refusal, System system) {
  return change(AT_FDCWD, path, refusal, [&](int, const char* to) { return system(to); });
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

int mkdir(const char* path, mode_t mode) noexcept {
  static Next<int(const char*, mode_t)> next("mkdir");
  return change(path, EACCES, [=](const char* to) { return next(to, mode); });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  static Next<int(int, const char*, mode_t)> next("mkdirat");
  return change(directory, path, EACCES,
                [=](int at, const char* to) { return next(at, to, mode); });
}

int symlink(const char* text, const char* path) noexcept {
  static Next<int(const char*, const char*)> next("symlink");
  return change(path, EACCES, [=](const char* to) { return next(text, to); });
}
int symlinkat(const char* text, int directory, const char* path) noexcept {
  static Next<int(const char*, int, const char*)> next("symlinkat");
  return change(directory, path, EACCES,
                [=](int at, const char* to) { return next(text, at, to); });
}

int unlink(const char* path) noexcept {
  static Next<int(const char*)> next("unlink");
  return change(path, EACCES, [](const char* to) { return next(to); });
}
int rmdir(const char* path) noexcept {
  static Next<int(const char*)> next("rmdir");
  return change(path, EACCES, [](const char* to) { return next(to); });
}
int remove(const char* path) noexcept {
  static Next<int(const char*)> next("remove");
  return change(path, EACCES, [](const char* to) { return next(to); });
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  static Next<int(int, const char*, int)> next("unlinkat");
  return change(directory, path, EACCES,
                [=](int at, const char* to) { return next(at, to, flags); });
}

int rename(const char* from, const char* to) noexcept {
  static Next<int(const char*, const char*)> next("rename");
  return change(from, EACCES, [=](const char* old_path) {
    return change(to, EACCES, [=](const char* new_path) { return next(old_path, new_path); });
  });
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  static Next<int(int, const char*, int, const char*)> next("renameat");
  return change(from_directory, from, EACCES, [=](int at, const char* old_path) {
    return change(to_directory, to, EACCES, [=](int to_at, const char* new_path) {
      return next(at, old_path, to_at, new_path);
    });
  });
}
int renameat2(int from_directory, const char* from, int to_directory, const char* to,
              unsigned flags) noexcept {
  static Next<int(int, const char*, int, const char*, unsigned)> next("renameat2");
  return change(from_directory, from, EACCES, [=](int at, const char* old_path) {
    return change(to_directory, to, EACCES, [=](int to_at, const char* new_path) {
      return next(at, old_path, to_at, new_path, flags);
    });
  });
}

int chmod(const char* path, mode_t mode) noexcept {
  static Next<int(const char*, mode_t)> next("chmod");
  return change(path, EPERM, [=](const char* to) { return next(to, mode); });
}
int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
  static Next<int(int, const char*, mode_t, int)> next("fchmodat");
  return change(directory, path, EPERM,
                [=](int at, const char* to) { return next(at, to, mode, flags); });
}
int chown(const char* path, uid_t user, gid_t group) noexcept {
  static Next<int(const char*, uid_t, gid_t)> next("chown");
  return change(path, EPERM, [=](const char* to) { return next(to, user, group); });
}
int lchown(const char* path, uid_t user, gid_t group) noexcept {
  static Next<int(const char*, uid_t, gid_t)> next("lchown");
  return change(path, EPERM, [=](const char* to) { return next(to, user, group); });
}
int fchownat(int directory, const char* path, uid_t user, gid_t group, int flags) noexcept {
  static Next<int(int, const char*, uid_t, gid_t, int)> next("fchownat");
  return change(directory, path, EPERM,
                [=](int at, const char* to) { return next(at, to, user, group, flags); });
}

}  // extern "C"
