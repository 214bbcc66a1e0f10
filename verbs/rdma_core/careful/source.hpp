// SPDX-License-Identifier: Apache-2.0
// How a place in the program is printed: as file and line if there is debug information and a tool
// that reads it (addr2line of binutils, or llvm-symbolizer), otherwise as module and offset.
#pragma once

#include <string>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {

struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the same for its caller; empty: unknown
};

/// Starts a tool and waits for it, for at most ten seconds. Returns "an unknown place" for null.
Description describe(Site site);

/// Returns the file of an address without its folders; empty if there is none.
std::string module_of(const void* address);

}  // namespace iwarp::rdma_core::careful
