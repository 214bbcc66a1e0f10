// SPDX-License-Identifier: Apache-2.0
// Which file a path of the program means: one of the system's, or a made-up one.
#pragma once

#include <string>

namespace iwarp::rdma_core::presence {

struct Place {
  /// What to pass to the system instead of the program's directory and path; empty: pass these
  /// unchanged.
  std::string path;
  /// The program's name for it, without links, "." and "..".
  std::string name;
  bool made_up = false;  ///< it is, or would be, in a made-up folder
};

/// Resolves the path as the kernel does, across real and made-up folders. `follow`: also follows a
/// link at the end. Fast for paths that cannot concern this library, those without one of its names
/// that do not start in a made-up folder.
Place resolve(int directory, const char* path, bool follow);

/// Resolves an open descriptor; returns no path to pass on. Fast for descriptors that cannot
/// concern this library.
Place resolve_opened(int descriptor);

/// Translates a path that the system has returned into the program's name for it.
std::string told(const char* real);

}  // namespace iwarp::rdma_core::presence
