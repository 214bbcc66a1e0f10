// SPDX-License-Identifier: Apache-2.0
// Replaces functions of the C library that list the contents of folders. A folder is opened at its
// real location, so that the kernel itself reads the folder, and resolves paths that are relative
// to its descriptor. The entries of the system's RDMA devices are omitted.
//
// The originals of nftw(3), ftw(3) and fts(3) list folders with functions that no library can
// replace. So a walk that starts in a simulated folder is started at the real location of that
// folder, and skips the files of the system's RDMA devices.
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "presence/resolve.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

using Select = int (*)(const dirent*);
using Compare = int (*)(const dirent**, const dirent**);

/// If a regular file was made instead of a device node, makes readdir(3) report the file as a
/// device, because find(1) and other programs check only the type that readdir(3) reports.
dirent* typed(DIR* folder, dirent* entry) {
  if (entry == nullptr || entry->d_type != DT_REG) return entry;
  const ResolvedPath place = resolve_opened(::dirfd(folder));
  if (place.synthetic && place.name.starts_with("/dev/")) entry->d_type = DT_CHR;
  return entry;
}

dirent* next_entry(DIR* folder) {
  dirent* entry = nullptr;
  do {
    entry = call_next<"readdir", dirent*>(folder);
  } while (entry != nullptr && is_hidden(::dirfd(folder), entry->d_name));
  return typed(folder, entry);
}

int next_entry(DIR* folder, dirent* entry, dirent** found) {
  int error = 0;
  do {
    error = call_next<"readdir_r", int>(folder, entry, found);
  } while (error == 0 && *found != nullptr && is_hidden(::dirfd(folder), entry->d_name));
  if (error == 0) typed(folder, *found);
  return error;
}

/// Removes the hidden entries from the first `size` bytes of what getdents64(2) has read. Returns
/// the number of bytes that remain.
size_t remove_hidden(int directory, char* entries, size_t size) {
  size_t kept = 0;
  for (size_t at = 0; at < size;) {
    auto* const entry = reinterpret_cast<dirent64*>(entries + at);
    const size_t length = entry->d_reclen;
    if (!is_hidden(directory, entry->d_name)) {
      std::memmove(entries + kept, entry, length);
      kept += length;
    }
    at += length;
  }
  return kept;
}

/// The list that scandir(3) returns, which the caller frees with free(3). Unlike a vector, the list
/// reports a lack of memory without an exception, which must not reach a program in C.
struct Entries {
  dirent** list = nullptr;
  size_t size = 0;

  /// Adds a copy. Returns false if there is no memory.
  bool add(const dirent* entry) {
    auto** const longer =
        static_cast<dirent**>(::reallocarray(static_cast<void*>(list), size + 1, sizeof(dirent*)));
    if (longer == nullptr) return false;
    list = longer;
    void* const copy = std::malloc(entry->d_reclen);
    if (copy == nullptr) return false;
    list[size++] = static_cast<dirent*>(std::memcpy(copy, entry, entry->d_reclen));
    return true;
  }
  void free() {
    for (size_t i = 0; i < size; ++i) std::free(list[i]);
    std::free(static_cast<void*>(list));
  }
};

/// Implements scandir(3), whose original in the C library does not call the readdir() of this file.
/// Closes `folder`, which may be null.
int scan(DIR* folder, dirent*** names, Select select, Compare compare) {
  if (folder == nullptr) return -1;
  const int errno_before = errno;
  Entries found;
  errno = 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (select != nullptr && select(entry) == 0) continue;
    if (!found.add(entry)) break;
    errno = 0;  // `select` may have changed errno
  }
  int error = errno;
  ::closedir(folder);
  // The list of an empty folder is not null.
  if (error == 0 && found.list == nullptr) {
    found.list = static_cast<dirent**>(std::malloc(1));
    if (found.list == nullptr) error = ENOMEM;
  }
  if (error != 0) {
    found.free();
    errno = error;
    return -1;
  }
  using Order = int (*)(const void*, const void*);
  if (compare != nullptr && found.size != 0) {
    std::qsort(static_cast<void*>(found.list), found.size, sizeof(dirent*),
               reinterpret_cast<Order>(compare));
  }
  *names = found.list;
  errno = errno_before;
  return static_cast<int>(found.size);
}

DIR* open_folder(int directory, const char* path) {
  const int fd = ::openat(directory, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  return fd < 0 ? nullptr : ::fdopendir(fd);
}

// Walks -------------------------------------------------------------------------------------------

/// The walk of nftw(3) or ftw(3) in this thread. These functions pass no argument to the function
/// that they call for each file.
struct FileWalk {
  __nftw_func_t call;       ///< null in a walk of ftw(3)
  __ftw_func_t call_short;  ///< null in a walk of nftw(3)
  std::string start;        ///< working directory at the start, because FTW_CHDIR changes it
};
thread_local const FileWalk* file_walk = nullptr;

bool is_skipped(const char* path) {
  return is_hidden(AT_FDCWD, *path == '/' ? path : (file_walk->start + "/" + path).c_str());
}

/// `level` is null in a walk of ftw(3).
int visit(const char* path, const struct stat* about, int type, FTW* level) {
  return or_no_memory([=] {
    if (is_skipped(path)) return 0;
    const std::string name = synthetic_name(path);
    if (file_walk->call_short != nullptr) return file_walk->call_short(name.c_str(), about, type);
    FTW named = *level;
    named.base += static_cast<int>(name.size()) - static_cast<int>(std::strlen(path));
    return file_walk->call(name.c_str(), about, type, &named);
  });
}

int visit_short(const char* path, const struct stat* about, int type) {
  return visit(path, about, type, nullptr);
}

/// Calls `system`, the function of the C library, with the real location at which it must start.
template <typename System>
int walk_files(const char* path, __nftw_func_t call, __ftw_func_t call_short, System system) {
  return or_no_memory([&] {
    std::array<char, PATH_MAX> cwd{};
    if (::getcwd(cwd.data(), cwd.size()) == nullptr) cwd[0] = '\0';
    const FileWalk own{call, call_short, cwd.data()};
    const ResolvedPath start = resolve(AT_FDCWD, path, false);
    const FileWalk* const before = std::exchange(file_walk, &own);  // a walk may start another one
    const int result = redirect(start, AT_FDCWD, path, system);
    file_walk = before;
    return result;
  });
}

bool is_skipped(const FTS* tree, const std::string& path) {
  return is_hidden((tree->fts_options & FTS_NOCHDIR) != 0 ? AT_FDCWD : tree->fts_rfd, path.c_str());
}

/// Removes hidden files from the list of a folder's contents.
FTSENT* without_hidden(const FTS* tree, FTSENT* list) {
  if (tree->fts_cur == nullptr || tree->fts_cur->fts_level < FTS_ROOTLEVEL) return list;
  const std::string folder = std::string(tree->fts_cur->fts_path) + "/";
  for (FTSENT** at = &list; *at != nullptr;) {
    if (is_skipped(tree, folder + (*at)->fts_name)) {
      *at = (*at)->fts_link;
    } else {
      at = &(*at)->fts_link;
    }
  }
  return list;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

DIR* opendir(const char* path) { return redirect<"opendir", DIR*>(path, true); }
dirent* readdir(DIR* folder) {
  return or_no_memory([=] { return next_entry(folder); });
}
int readdir_r(DIR* folder, dirent* entry, dirent** found) {
  const int error = or_no_memory([=] { return next_entry(folder, entry, found); });
  return error < 0 ? errno : error;  // unlike the other functions, returns the errno
}
int scandir(const char* path, dirent*** names, Select select, Compare compare) {
  return scan(::opendir(path), names, select, compare);
}
int scandirat(int directory, const char* path, dirent*** names, Select select, Compare compare) {
  return scan(open_folder(directory, path), names, select, compare);
}
ssize_t getdents64(int directory, void* entries, size_t size) noexcept {
  for (;;) {
    const ssize_t read = call_next<"getdents64", ssize_t>(directory, entries, size);
    if (read <= 0) return read;
    const ssize_t kept = or_no_memory([&] {
      return static_cast<ssize_t>(
          remove_hidden(directory, static_cast<char*>(entries), static_cast<size_t>(read)));
    });
    if (kept != 0) return kept;
  }
}

// Makes glob(3) read folders with the functions of this library.
int glob(const char* pattern, int flags, int (*failed)(const char*, int), glob_t* result) noexcept {
  if ((flags & GLOB_ALTDIRFUNC) == 0) {
    flags |= GLOB_ALTDIRFUNC;
    result->gl_opendir = [](const char* path) -> void* { return ::opendir(path); };
    result->gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
    result->gl_readdir = [](void* folder) { return ::readdir(static_cast<DIR*>(folder)); };
    result->gl_stat = [](const char* path, struct stat* about) { return ::stat(path, about); };
    result->gl_lstat = [](const char* path, struct stat* about) { return ::lstat(path, about); };
  }
  return call_next<"glob", int>(pattern, flags, failed, result);
}

// off_t has 64 bits, so these functions do not differ from the ones above. stat.cpp asserts this.
[[gnu::alias("readdir")]] dirent64* readdir64(DIR* folder);
[[gnu::alias("readdir_r")]] int readdir64_r(DIR* folder, dirent64* entry, dirent64** found);
[[gnu::alias("scandir")]] int scandir64(const char* path, dirent64*** names,
                                        int (*select)(const dirent64*),
                                        int (*compare)(const dirent64**, const dirent64**));
[[gnu::alias("scandirat")]] int scandirat64(int directory, const char* path, dirent64*** names,
                                            int (*select)(const dirent64*),
                                            int (*compare)(const dirent64**, const dirent64**));
[[gnu::alias("glob")]] int glob64(const char* pattern, int flags, int (*failed)(const char*, int),
                                  glob64_t* result) noexcept;

int nftw(const char* path, __nftw_func_t call, int descriptors, int flags) {
  return walk_files(path, call, nullptr, [=](int, const char* from) {
    return call_next<"nftw", int>(from, &visit, descriptors, flags);
  });
}
int ftw(const char* path, __ftw_func_t call, int descriptors) {
  return walk_files(path, nullptr, call, [=](int, const char* from) {
    return call_next<"ftw", int>(from, &visit_short, descriptors);
  });
}

FTS* fts_open(char* const* paths, int options, int (*compare)(const FTSENT**, const FTSENT**)) {
  return or_no_memory([=] {
    std::vector<std::string> places;
    for (auto path = paths; *path != nullptr; ++path) {
      const ResolvedPath place = resolve(AT_FDCWD, *path, false);
      places.push_back(place.path.empty() ? *path : place.path);
    }
    std::vector<char*> list;
    list.reserve(places.size() + 1);
    for (std::string& place : places) list.push_back(place.data());
    list.push_back(nullptr);
    return call_next<"fts_open", FTS*>(list.data(), options, compare);
  });
}
FTSENT* fts_read(FTS* tree) {
  return or_no_memory([=] {
    FTSENT* entry = nullptr;
    do {
      entry = call_next<"fts_read", FTSENT*>(tree);
    } while (entry != nullptr && is_skipped(tree, entry->fts_path));
    return entry;
  });
}
FTSENT* fts_children(FTS* tree, int options) {
  FTSENT* const list = call_next<"fts_children", FTSENT*>(tree, options);
  return or_no_memory([=] { return without_hidden(tree, list); });
}

[[gnu::alias("nftw")]] int nftw64(const char* path, __nftw64_func_t call, int descriptors,
                                  int flags);
[[gnu::alias("ftw")]] int ftw64(const char* path, __ftw64_func_t call, int descriptors);
[[gnu::alias("fts_open")]] FTS64* fts64_open(char* const* paths, int options,
                                             int (*compare)(const FTSENT64**, const FTSENT64**));
[[gnu::alias("fts_read")]] FTSENT64* fts64_read(FTS64* tree);
[[gnu::alias("fts_children")]] FTSENT64* fts64_children(FTS64* tree, int options);

}  // extern "C"
