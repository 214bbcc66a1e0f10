// SPDX-License-Identifier: Apache-2.0
// Replaces nftw(3), ftw(3) and fts(3). The originals in the C library list folders with functions
// that no library can replace. So a walk that starts in a simulated folder is started at the real
// location of that folder, and all walks skip the files of the system's RDMA devices.
#include <fts.h>
#include <ftw.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "presence/resolve.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {
namespace {

/// The walk of nftw(3) or ftw(3) in this thread. These functions pass no argument to the function
/// that they call for each file.
struct FileWalk {
  __nftw_func_t call;       ///< null in a walk of ftw(3)
  __ftw_func_t call_short;  ///< null in a walk of nftw(3)
  std::string start;        ///< working directory at the start, because FTW_CHDIR changes it
};
thread_local const FileWalk* walk = nullptr;

bool is_skipped(const char* path) {
  return is_hidden(AT_FDCWD, *path == '/' ? path : (walk->start + "/" + path).c_str());
}

/// `level` is null in a walk of ftw(3).
int visit(const char* path, const struct stat* about, int type, FTW* level) {
  if (is_skipped(path)) return 0;
  const std::string name = synthetic_name(path);
  if (walk->call_short != nullptr) return walk->call_short(name.c_str(), about, type);
  FTW named = *level;
  named.base += static_cast<int>(name.size()) - static_cast<int>(std::strlen(path));
  return walk->call(name.c_str(), about, type, &named);
}

int visit_short(const char* path, const struct stat* about, int type) {
  return visit(path, about, type, nullptr);
}

/// Calls `system`, the function of the C library, with the real location at which it must start.
template <typename System>
int walk_files(const char* path, __nftw_func_t call, __ftw_func_t call_short, System system) {
  std::array<char, PATH_MAX> cwd{};
  if (::getcwd(cwd.data(), cwd.size()) == nullptr) cwd[0] = '\0';
  const FileWalk own{call, call_short, cwd.data()};
  const FileWalk* const before = std::exchange(walk, &own);  // a walk may start another one
  const int result = redirect(resolve(AT_FDCWD, path, false), AT_FDCWD, path, system);
  walk = before;
  return result;
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
  std::vector<std::string> places;
  for (; *paths != nullptr; ++paths) {
    const ResolvedPath place = resolve(AT_FDCWD, *paths, false);
    places.push_back(place.path.empty() ? *paths : place.path);
  }
  std::vector<char*> list;
  list.reserve(places.size() + 1);
  for (std::string& place : places) list.push_back(place.data());
  list.push_back(nullptr);
  return call_next<"fts_open", FTS*>(list.data(), options, compare);
}
FTSENT* fts_read(FTS* tree) {
  FTSENT* entry = nullptr;
  do {
    entry = call_next<"fts_read", FTSENT*>(tree);
  } while (entry != nullptr && is_skipped(tree, entry->fts_path));
  return entry;
}
FTSENT* fts_children(FTS* tree, int options) {
  return without_hidden(tree, call_next<"fts_children", FTSENT*>(tree, options));
}

// off_t has 64 bits, so these functions do not differ from the ones above. stat.cpp asserts this.
[[gnu::alias("nftw")]] int nftw64(const char* path, __nftw64_func_t call, int descriptors,
                                  int flags);
[[gnu::alias("ftw")]] int ftw64(const char* path, __ftw64_func_t call, int descriptors);
[[gnu::alias("fts_open")]] FTS64* fts64_open(char* const* paths, int options,
                                             int (*compare)(const FTSENT64**, const FTSENT64**));
[[gnu::alias("fts_read")]] FTSENT64* fts64_read(FTS64* tree);
[[gnu::alias("fts_children")]] FTSENT64* fts64_children(FTS64* tree, int options);

}  // extern "C"
