// SPDX-License-Identifier: Apache-2.0
// Describes a place in the program as text. If the program has debug information and libdw is
// installed, the text contains the file and the line. Otherwise it contains the module and the
// offset.
#pragma once

#include <string>

#include "careful/site.hpp"

namespace iwarp::rdma_core::careful {

struct Description {
  std::string place;   ///< "FILE:LINE (FUNCTION)", or "MODULE+OFFSET (FUNCTION)"
  std::string caller;  ///< the place of the caller, in the same form; empty if it is not known
};

/// Describes the place. If `site` is null, the description is "an unknown location". Thread-safe.
Description describe(Site site);

/// Returns the file name, without folders, of the program or library that contains the address.
/// Returns an empty string if no file contains it.
std::string module_of(const void* address);

/// Returns whether the address is in an inline function of rdma-core's headers that the compiler
/// has not inlined. In this case, only the callers of that function show where the program made the
/// call. Reads the symbols of the file, which takes milliseconds.
bool is_in_header(const void* return_address);

}  // namespace iwarp::rdma_core::careful
