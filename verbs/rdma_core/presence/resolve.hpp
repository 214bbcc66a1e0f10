// SPDX-License-Identifier: Apache-2.0
// Resolves paths of the program to files of the system or made-up files.
#pragma once

#include <string>

namespace iwarp::rdma_core::presence {

struct Place {
  /// The path to pass to the system instead of the program's directory and path. If it is empty,
  /// these must be passed unchanged.
  std::string path;
  /// The program's name for the file, without links, "." and "..".
  std::string name;
  bool made_up = false;  ///< the file is in a made-up folder, or would be if it existed
};

/// Resolves the path as the kernel does, across real and made-up folders. If `follow` is set, also
/// follows a link at the end. Fast for paths that cannot lead to a made-up file, because they
/// contain none of the made-up names and do not start in a made-up folder.
Place resolve(int directory, const char* path, bool follow);

/// Returns the name of the file behind an open descriptor, and whether it is made up, but no path
/// to pass to the system. Fast for descriptors that cannot belong to a made-up file.
Place resolve_opened(int descriptor);

/// Translates a path that the system has returned into the program's name for it.
std::string told(const char* real);

}  // namespace iwarp::rdma_core::presence
