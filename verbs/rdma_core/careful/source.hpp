// SPDX-License-Identifier: Apache-2.0
// How a place in the program is printed: file and line where there is debug information and a tool
// that reads it (addr2line of binutils, or llvm-symbolizer), else module and offset.
#pragma once

#include <string>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {

struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the same of what called it; empty: not known
};

/// Starts a tool and waits for it, ten seconds at most. Null: "an unknown place".
Description describe(Site site);

/// The file of an address, without its folders; empty: none.
std::string module_of(const void* address);

}  // namespace iwarp::rdma_core::careful
