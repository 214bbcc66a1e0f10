// SPDX-License-Identifier: Apache-2.0
// Determines whether a path of the program leads to a simulated file or to a file of the system.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "presence/inside.hpp"
#include "process/next.hpp"

namespace iwarp::rdma_core::presence {

struct ResolvedPath {
  /// The path that the caller must pass to the C library instead of the program's directory and
  /// path. If it is empty, the caller must pass the program's directory and path unchanged.
  std::string path;
  /// The name that the program uses for the file, without links, "." and "..".
  std::string name;
  bool synthetic = false;  ///< the file is in a simulated folder, or would be if it existed
  int error = 0;           ///< the errno with which openat2(2) must fail, or 0
};

/// Resolves the path as the kernel does, across real and simulated folders. If `follow` is set,
/// also follows a link at the end of the path. Files of the system's RDMA devices count as
/// simulated files that do not exist. Returns quickly if the path contains no simulated name and
/// does not start in a simulated folder, because it then cannot lead to a simulated file. `rules`
/// are the RESOLVE_* flags of openat2(2).
ResolvedPath resolve(int directory, const char* path, bool follow, std::uint64_t rules = 0);

/// Calls `system`, a function of the C library, with the directory and the path of the file in the
/// real file system.
template <typename System>
auto redirect(const ResolvedPath& place, int directory, const char* path, System system) {
  return place.path.empty() ? system(directory, path) : system(AT_FDCWD, place.path.c_str());
}
/// Calls the function `kName` of the C library, whose first parameter is the path of a file.
template <FunctionName kName, typename Result, typename... Rest>
Result redirect(const char* path, bool follow, Rest... rest) {
  return or_no_memory([=] {
    return redirect(resolve(AT_FDCWD, path, follow), AT_FDCWD, path,
                    [=](int, const char* to) { return call_next<kName, Result>(to, rest...); });
  });
}
/// Calls the function `kName` of the C library, whose first parameters are a directory and a path.
template <FunctionName kName, typename Result, typename... Rest>
Result redirect_at(int directory, const char* path, bool follow, Rest... rest) {
  return or_no_memory([=] {
    return redirect(resolve(directory, path, follow), directory, path, [=](int at, const char* to) {
      return call_next<kName, Result>(at, to, rest...);
    });
  });
}

/// Returns whether listings must omit the file, because it belongs to an RDMA device of the system.
/// A link at the end of the path is not followed.
bool is_hidden(int directory, const char* path);

/// Returns the name of the file to which an open descriptor refers, and whether the file is
/// simulated. ResolvedPath::path is empty. Returns quickly if the descriptor cannot belong to a
/// simulated file.
ResolvedPath resolve_opened(int descriptor);

/// Takes a path that the C library has returned. Returns the name that the program uses for the
/// file at this path.
std::string synthetic_name(const char* real);

}  // namespace iwarp::rdma_core::presence
