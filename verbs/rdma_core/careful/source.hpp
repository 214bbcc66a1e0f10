// SPDX-License-Identifier: Apache-2.0
// Describes a place in the program as text: as file and line if the program has debug information
// and a tool that reads it is installed (addr2line of binutils, or llvm-symbolizer), otherwise as
// module and offset.
#pragma once

#include <string>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {

struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the place of the caller in the same form; empty: unknown
};

/// Describes the place. Starts a tool and waits for its output for at most ten seconds. Returns "an
/// unknown place" if `site` is null.
Description describe(Site site);

/// Returns the name, without folders, of the program or library that contains the address. Returns
/// an empty string if none does.
std::string module_of(const void* address);

}  // namespace iwarp::rdma_core::careful
