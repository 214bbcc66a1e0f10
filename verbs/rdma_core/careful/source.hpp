// SPDX-License-Identifier: Apache-2.0
// Describes a place in the program as text. If the program has debug information, and a tool that
// reads it is installed (addr2line of binutils, or llvm-symbolizer), the text contains the file and
// the line. Otherwise it contains the module and the offset.
#pragma once

#include <string>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {

struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the place of the caller, in the same form; empty if it is not known
};

/// Describes the place. Starts a tool, and waits at most ten seconds for its output. If `site` is
/// null, the description is "an unknown place".
Description describe(Site site);

/// Returns the file name, without folders, of the program or library that contains the address.
/// Returns an empty string if no file contains it.
std::string module_of(const void* address);

}  // namespace iwarp::rdma_core::careful
