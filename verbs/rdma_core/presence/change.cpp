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

#include "presence/resolve.hpp"

namespace iwarp::rdma_core::presence {
namespace {

/// Calls `system`, the function of the C library, with the directory and the path of the file in
/// the real file system. If the file is simulated, fails with the errno `refusal`.
template <typename System>
int change(int directory, const char* path, int refusal, System system) {
  return or_no_memory([&] {
    const ResolvedPath place = resolve(directory, path, false);
    if (!place.synthetic) return redirect(place, directory, path, system);
    errno = refusal;
    return -1;
  });
}

/// Calls the function `kName` of the C library, whose first parameter is the path of a file.
template <FunctionName kName, typename... Rest>
int change_path(int refusal, const char* path, Rest... rest) {
  return change(AT_FDCWD, path, refusal,
                [=](int, const char* to) { return call_next<kName, int>(to, rest...); });
}

/// Calls the function `kName` of the C library, whose first parameters are a directory and a path.
template <FunctionName kName, typename... Rest>
int change_at(int refusal, int directory, const char* path, Rest... rest) {
  return change(directory, path, refusal,
                [=](int at, const char* to) { return call_next<kName, int>(at, to, rest...); });
}

/// Calls the function `kName` of the C library, which renames a file. `flags` is empty, or the
/// flags of renameat2(2).
template <FunctionName kName, typename... Flags>
int rename_at(int from_directory, const char* from, int to_directory, const char* to,
              Flags... flags) {
  return change(from_directory, from, EACCES, [=](int at, const char* old_path) {
    return change(to_directory, to, EACCES, [=](int to_at, const char* new_path) {
      return call_next<kName, int>(at, old_path, to_at, new_path, flags...);
    });
  });
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

int mkdir(const char* path, mode_t mode) noexcept {
  return change_path<"mkdir">(EACCES, path, mode);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return change_at<"mkdirat">(EACCES, directory, path, mode);
}

int symlink(const char* text, const char* path) noexcept {
  return change(AT_FDCWD, path, EACCES,
                [=](int, const char* to) { return call_next<"symlink", int>(text, to); });
}
int symlinkat(const char* text, int directory, const char* path) noexcept {
  return change(directory, path, EACCES,
                [=](int at, const char* to) { return call_next<"symlinkat", int>(text, at, to); });
}

int unlink(const char* path) noexcept { return change_path<"unlink">(EACCES, path); }
int rmdir(const char* path) noexcept { return change_path<"rmdir">(EACCES, path); }
int remove(const char* path) noexcept { return change_path<"remove">(EACCES, path); }
int unlinkat(int directory, const char* path, int flags) noexcept {
  return change_at<"unlinkat">(EACCES, directory, path, flags);
}

int rename(const char* from, const char* to) noexcept {
  return change(AT_FDCWD, from, EACCES, [=](int, const char* old_path) {
    return change(AT_FDCWD, to, EACCES, [=](int, const char* new_path) {
      return call_next<"rename", int>(old_path, new_path);
    });
  });
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return rename_at<"renameat">(from_directory, from, to_directory, to);
}
int renameat2(int from_directory, const char* from, int to_directory, const char* to,
              unsigned flags) noexcept {
  return rename_at<"renameat2">(from_directory, from, to_directory, to, flags);
}

int chmod(const char* path, mode_t mode) noexcept {
  return change_path<"chmod">(EPERM, path, mode);
}
int fchmodat(int directory, const char* path, mode_t mode, int flags) noexcept {
  return change_at<"fchmodat">(EPERM, directory, path, mode, flags);
}
int chown(const char* path, uid_t user, gid_t group) noexcept {
  return change_path<"chown">(EPERM, path, user, group);
}
int lchown(const char* path, uid_t user, gid_t group) noexcept {
  return change_path<"lchown">(EPERM, path, user, group);
}
int fchownat(int directory, const char* path, uid_t user, gid_t group, int flags) noexcept {
  return change_at<"fchownat">(EPERM, directory, path, user, group, flags);
}

}  // extern "C"
