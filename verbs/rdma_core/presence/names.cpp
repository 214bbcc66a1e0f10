// SPDX-License-Identifier: Apache-2.0
// Replaces functions of the C library that return the name of a file or of the working directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "presence/folder.hpp"
#include "presence/inside.hpp"
#include "presence/resolve.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

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

int chdir(const char* path) noexcept { return redirect<"chdir", int>(path, true); }
char* getcwd(char* out, size_t size) noexcept { return working_folder(out, size); }
char* __getcwd_chk(char* out, size_t size, size_t room) {
  if (size > room) std::abort();
  return working_folder(out, size);
}
char* get_current_dir_name() noexcept { return working_folder(nullptr, 0); }

}  // extern "C"
