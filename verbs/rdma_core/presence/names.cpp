// SPDX-License-Identifier: Apache-2.0
// Replaces functions of the C library that return the name of a path or the contents of a folder. A
// folder is opened at its real location, so that the kernel itself reads the folder, and resolves
// paths that are relative to its descriptor.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "presence/next.hpp"
#include "presence/resolve.hpp"

namespace iwarp::rdma_core::presence {
namespace {

template <typename Name>
using Select = int (*)(const Name*);
template <typename Name>
using Compare = int (*)(const Name**, const Name**);
using Scan = int(const char*, dirent***, Select<dirent>, Compare<dirent>);
using Scan64 = int(const char*, dirent64***, Select<dirent64>, Compare<dirent64>);
using ScanAt = int(int, const char*, dirent***, Select<dirent>, Compare<dirent>);
using ScanAt64 = int(int, const char*, dirent64***, Select<dirent64>, Compare<dirent64>);

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
  const ResolvedPath place = resolve(directory, path, false);
  const ssize_t count = redirect(place, directory, path, system);
  if (count <= 0 || *out != '/' || Inside::now() || !folder_matters()) return count;
  const std::string real(out, static_cast<size_t>(count));
  const std::string name = synthetic_name(real.c_str());
  return name == real ? count : give(name, out, size);
}

ssize_t read_link(const char* path, char* out, size_t size) {
  static Next<ssize_t(const char*, char*, size_t)> next("readlink");
  return read_link(AT_FDCWD, path, out, size,
                   [=](int, const char* to) { return next(to, out, size); });
}

ssize_t read_link_at(int directory, const char* path, char* out, size_t size) {
  static Next<ssize_t(int, const char*, char*, size_t)> next("readlinkat");
  return read_link(directory, path, out, size,
                   [=](int at, const char* to) { return next(at, to, out, size); });
}

char* copy_out(const std::string& name, char* out) {
  if (out == nullptr) return ::strdup(name.c_str());
  return std::strcpy(out, name.c_str());
}

char* real_path(const char* path, char* out) {
  static Next<char*(const char*, char*)> next("realpath");
  const ResolvedPath place = resolve(AT_FDCWD, path, true);
  if (place.path.empty()) return next(path, out);
  if (!place.synthetic) return next(place.path.c_str(), out);
  struct stat about{};
  if (::stat(place.path.c_str(), &about) != 0) return nullptr;
  return copy_out(place.name, out);
}

char* working_folder(char* out, size_t size) {
  static Next<char*(char*, size_t)> next("getcwd");
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

/// Makes glob(3) read folders with the functions of this library. Call only if the program has not
/// set GLOB_ALTDIRFUNC.
template <typename Glob>
void add_synthetic_matches(Glob& result) {
  result.gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
  result.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
}

/// If a regular file was made instead of a device node, makes readdir(3) report the file as a
/// device, because find(1) and other programs check only the type that readdir(3) reports.
template <typename Entry>
Entry* typed(DIR* folder, Entry* entry) {
  if (entry == nullptr || entry->d_type != DT_REG) return entry;
  const ResolvedPath place = resolve_opened(::dirfd(folder));
  if (place.synthetic && place.name.starts_with("/dev/")) entry->d_type = DT_CHR;
  return entry;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;

extern "C" {

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

char* realpath(const char* path, char* out) noexcept { return real_path(path, out); }
char* __realpath_chk(const char* path, char* out, size_t room) {
  if (room < PATH_MAX) std::abort();
  return real_path(path, out);
}
char* canonicalize_file_name(const char* path) noexcept { return real_path(path, nullptr); }

int chdir(const char* path) noexcept {
  static Next<int(const char*)> next("chdir");
  return redirect(AT_FDCWD, path, true, [](int, const char* to) { return next(to); });
}
char* getcwd(char* out, size_t size) noexcept { return working_folder(out, size); }
char* __getcwd_chk(char* out, size_t size, size_t room) {
  if (size > room) std::abort();
  return working_folder(out, size);
}
char* get_current_dir_name() noexcept { return working_folder(nullptr, 0); }

DIR* opendir(const char* path) {
  static Next<DIR*(const char*)> next("opendir");
  return redirect(AT_FDCWD, path, true, [](int, const char* to) { return next(to); });
}
dirent* readdir(DIR* folder) {
  static Next<dirent*(DIR*)> next("readdir");
  return typed(folder, next(folder));
}
dirent64* readdir64(DIR* folder) {
  static Next<dirent64*(DIR*)> next("readdir64");
  return typed(folder, next(folder));
}
int scandir(const char* path, dirent*** names, Select<dirent> select, Compare<dirent> compare) {
  static Next<Scan> next("scandir");
  return redirect(AT_FDCWD, path, true,
                  [=](int, const char* to) { return next(to, names, select, compare); });
}
int scandir64(const char* path, dirent64*** names, Select<dirent64> select,
              Compare<dirent64> compare) {
  static Next<Scan64> next("scandir64");
  return redirect(AT_FDCWD, path, true,
                  [=](int, const char* to) { return next(to, names, select, compare); });
}
int scandirat(int directory, const char* path, dirent*** names, Select<dirent> select,
              Compare<dirent> compare) {
  static Next<ScanAt> next("scandirat");
  return redirect(directory, path, true,
                  [=](int at, const char* to) { return next(at, to, names, select, compare); });
}
int scandirat64(int directory, const char* path, dirent64*** names, Select<dirent64> select,
                Compare<dirent64> compare) {
  static Next<ScanAt64> next("scandirat64");
  return redirect(directory, path, true,
                  [=](int at, const char* to) { return next(at, to, names, select, compare); });
}

int glob(const char* pattern, int flags, int (*failed)(const char*, int), glob_t* result) noexcept {
  static Next<int(const char*, int, int (*)(const char*, int), glob_t*)> next("glob");
  if ((flags & GLOB_ALTDIRFUNC) != 0) return next(pattern, flags, failed, result);
  add_synthetic_matches(*result);
  result->gl_readdir = [](void* folder) { return ::readdir(static_cast<DIR*>(folder)); };
  result->gl_stat = [](const char* path, struct stat* about) { return ::stat(path, about); };
  result->gl_lstat = [](const char* path, struct stat* about) { return ::lstat(path, about); };
  return next(pattern, flags | GLOB_ALTDIRFUNC, failed, result);
}
int glob64(const char* pattern, int flags, int (*failed)(const char*, int),
           glob64_t* result) noexcept {
  static Next<int(const char*, int, int (*)(const char*, int), glob64_t*)> next("glob64");
  if ((flags & GLOB_ALTDIRFUNC) != 0) return next(pattern, flags, failed, result);
  add_synthetic_matches(*result);
  result->gl_readdir = [](void* folder) { return ::readdir64(static_cast<DIR*>(folder)); };
  result->gl_stat = [](const char* path, struct stat64* about) { return ::stat64(path, about); };
  result->gl_lstat = [](const char* path, struct stat64* about) { return ::lstat64(path, about); };
  return next(pattern, flags | GLOB_ALTDIRFUNC, failed, result);
}

}  // extern "C"
