// SPDX-License-Identifier: Apache-2.0
// Which file a path of the program means: one of the system's, or one that is made up.
#pragma once

#include <string>

namespace iwarp::rdma_core::presence {

struct Place {
  /// What to hand to the system instead of the program's directory and path; empty: leave both.
  std::string path;
  /// As the program would name it, without links, "." and "..".
  std::string name;
  bool made_up = false;  ///< it is, or would be, in a made-up folder
};

/// Walks the path as the kernel does, through both worlds. `follow`: also the last link.
/// Quick for all that cannot concern us: neither a name of ours in it, nor seen from within.
Place resolve(int directory, const char* path, bool follow);

/// What is open there, without a path to hand on; quick for all that cannot concern us.
Place resolve_opened(int descriptor);

/// What the program is to be told that a path is which the system has told.
std::string told(const char* real);

}  // namespace iwarp::rdma_core::presence
